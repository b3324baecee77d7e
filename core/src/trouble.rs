//! The most urgent trouble of several Machines, for the conditions of the objects that own them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::Why;
use crate::api::conditions::{ConditionType, Finding, Reason, Severity, find};
use crate::api::machine::MachineStatus;
use crate::api::machine_deployment::MachineDeploymentStatus;
use crate::api::readable::unreadable;
use crate::api::whys::ReportedWhy;
use crate::api::{Machine, MachineDeployment};
use crate::whys::Child;

/// Why a Machine is not ready, updated or deleted yet, according to its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Name of the Machine.
    pub machine: String,
    /// Its reason; `None` for one that this release does not have.
    pub reason: Option<Reason>,
    /// In its own words, where a person should check it; empty for one that is on its way.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

impl Trouble {
    /// The trouble of a Machine; `None` for one that is well, or has no conditions.
    pub fn of(machine: &Machine) -> Option<Self> {
        // not before it has trouble: whoever asks has thousands of Machines
        let name = || machine.name_any();
        if let Some(why) = unreadable(machine) {
            let (namespace, name) = (machine.namespace(), name());
            let child = Child::machine(namespace.as_deref(), &name);
            let why = Why::new(Reason::Unreadable, format!("cannot be read: {why}"));
            return Some(Self {
                message: child.brief(&why),
                machine: name,
                reason: Some(why.reason),
                since: Timestamp::UNIX_EPOCH,
            });
        }
        let status = machine.status.as_ref()?;
        let said = *keeps(&status.conditions).first()?;
        let reason = Reason::parse(&said.reason);
        let asks = reason.filter(|reason| reason.severity() == Severity::Warning);
        let words = asks.map(|reason| {
            let (namespace, name) = (machine.namespace(), machine.name_any());
            let child = Child::machine(namespace.as_deref(), &name);
            child.kept_or_cut(said, reason, &status.whys).message()
        });
        Some(Self {
            machine: name(),
            reason,
            message: words.unwrap_or_default(),
            since: said.last_transition_time.0,
        })
    }

    /// Whether a Machine has any.
    pub fn is_of(machine: &Machine) -> bool {
        let status = machine.status.as_ref();
        let is_kept = |status: &MachineStatus| !keeps(&status.conditions).is_empty();
        unreadable(machine).is_some() || status.is_some_and(is_kept)
    }

    /// Whether a person should check it.
    pub fn is_warning(&self) -> bool {
        let severity = self.reason.map(Reason::severity);
        severity == Some(Severity::Warning)
    }

    /// Whether it runs other versions than its spec wants, and nothing brings it to them.
    pub fn has_other_versions(&self) -> bool {
        self.reason == Some(Reason::KubeletVersionDiffers)
    }

    /// Whether it finds no Host.
    pub fn lacks_host(&self) -> bool {
        self.reason == Some(Reason::NoHostAvailable)
    }

    /// The worst first. One that finds no place may wait for what another one does not give back.
    fn rank(&self) -> impl Ord + use<'_> {
        let waits = [Reason::NoHostAvailable, Reason::NoHypervisorAvailable];
        let is_stalled = self.reason.is_some_and(Reason::is_stalled);
        (
            !is_stalled,
            !self.is_warning(),
            self.reason.is_some_and(|reason| waits.contains(&reason)),
            self.since,
            &self.machine,
        )
    }

    /// In its own words where somebody should look at it. How far one is that is on its way changes
    /// with each step, and is said on the Machine alone.
    fn words(&self) -> Option<String> {
        let says = match self.message.as_str() {
            "" => self.reason?.as_str(),
            message => message,
        };
        Some(format!("Machine {}: {says}", self.machine))
    }
}

/// The conditions of a Machine that tell what is wrong with it, the dearest first.
fn keeps(conditions: &[Condition]) -> Vec<&Condition> {
    let of = |name, is_told: fn(&Condition) -> bool| find(conditions, name).filter(|c| is_told(c));
    [
        // of one in deletion Ready says no more than that
        of(ConditionType::Deleting, |c| c.status == "True"),
        of(ConditionType::Ready, |c| c.status != "True"),
        // a Node that is being updated is Ready most of the time
        of(ConditionType::Draining, |c| {
            c.reason == Reason::DrainBlocked && c.status == "True"
        }),
        of(ConditionType::Updating, |_| true),
        // nothing brings it to the versions of its spec
        of(ConditionType::UpToDate, |c| {
            c.reason == Reason::KubeletVersionDiffers && c.status == "False"
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The whys of a Machine whose conditions are these.
pub fn of_machine(
    machine: &Machine,
    status: &MachineStatus,
    findings: &[Finding],
) -> Vec<ReportedWhy> {
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let child = Child::machine(namespace.as_deref(), &name);
    child.whys(&keeps(&status.conditions), findings, &status.whys)
}

/// The whys of a MachineDeployment whose conditions are these.
pub fn of_deployment(
    deployment: &MachineDeployment,
    status: &MachineDeploymentStatus,
    findings: &[Finding],
) -> Vec<ReportedWhy> {
    let (namespace, name) = (deployment.namespace(), deployment.name_any());
    let child = Child::deployment(namespace.as_deref(), &name);
    let ready = find(&status.conditions, ConditionType::Ready);
    let unready: Vec<&Condition> = ready.filter(|c| c.status == "False").into_iter().collect();
    child.whys(&unready, findings, &status.whys)
}

/// The most urgent trouble, and how many more there are: "Machine cp66: port 6443 is in use by
/// sshd; stop it (and 2 more Machines)". Most urgent is one that needs a person to continue, then a
/// warning, then the oldest.
pub fn worst<'a>(troubles: impl IntoIterator<Item = &'a Trouble>) -> Option<String> {
    let troubles: Vec<&Trouble> = troubles
        .into_iter()
        .filter(|t| t.reason.is_some())
        .collect();
    let worst = troubles.iter().min_by_key(|trouble| trouble.rank())?;
    let words = worst.words()?;
    Some(match troubles.len() - 1 {
        0 => words,
        1 => format!("{words} (1 more Machine)"),
        more => format!("{words} (and {more} more Machines)"),
    })
}

/// What a MachineDeployment says whose template cannot be used: it has no Machine that could say
/// it.
pub fn of_pool(deployment: &MachineDeployment) -> Option<String> {
    let status = deployment.status.as_ref()?;
    let said = find(&status.conditions, ConditionType::Ready)?;
    let reason = Reason::parse(&said.reason)?;
    let is_unusable = matches!(
        reason,
        Reason::InvalidConfiguration | Reason::UnsupportedVersion | Reason::MachineClassMissing
    );
    (said.status == "False" && is_unusable).then(|| {
        let (namespace, name) = (deployment.namespace(), deployment.name_any());
        let child = Child::deployment(namespace.as_deref(), &name);
        let why = child.kept_or_cut(said, reason, &status.whys);
        format!("MachineDeployment {name}: {}", why.message())
    })
}

/// A summary of counts, followed by the most urgent trouble.
pub fn beside(counts: impl Into<String>, worst: Option<String>) -> String {
    let counts = counts.into();
    match worst {
        Some(worst) if counts.is_empty() => worst,
        Some(worst) => format!("{counts}. {worst}"),
        None => counts,
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
pub(crate) mod tests;
