//! The most urgent trouble of several Machines, for the conditions of the objects that own them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::api::conditions::{ConditionType, Reason, Severity, find};
use crate::api::readable::unreadable;
use crate::api::{Machine, MachineDeployment};

/// Longest part of a Machine's own words that is repeated, in characters; the rest is on the Machine.
const LONGEST: usize = 640;

/// How the commands begin that messages propose.
const COMMANDS: [&str; 2] = ["kubectl ", "tatara "];

/// Why a Machine is not ready, updated or deleted yet, according to its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Name of the Machine.
    pub machine: String,
    /// Its namespace.
    pub namespace: String,
    /// Its reason; `None` for one that this release does not have.
    pub reason: Option<Reason>,
    /// Its message.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

impl Trouble {
    /// The trouble of a Machine; `None` for one that is well, or has no conditions.
    pub fn of(machine: &Machine) -> Option<Self> {
        // not before it has trouble: whoever asks has thousands of Machines
        let name = || machine.name_any();
        let namespace = || machine.namespace().unwrap_or_default();
        if let Some(why) = unreadable(machine) {
            return Some(Self {
                machine: name(),
                namespace: namespace(),
                reason: Some(Reason::Unreadable),
                message: format!("cannot be read: {why}"),
                since: Timestamp::UNIX_EPOCH,
            });
        }
        let said = said(machine)?;
        Some(Self {
            machine: name(),
            namespace: namespace(),
            reason: Reason::parse(&said.reason),
            message: said.message.clone(),
            since: said.last_transition_time.0,
        })
    }

    /// Whether a Machine has any.
    pub fn is_of(machine: &Machine) -> bool {
        unreadable(machine).is_some() || said(machine).is_some()
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

    /// In its own words where somebody should look at it. How far one is that is on its way changes with each step, and is
    /// said on the Machine alone.
    fn words(&self) -> Option<String> {
        let reason = self.reason?;
        let mut lines = self.message.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty());
        let says = match line.filter(|_| self.is_warning()) {
            Some(line) => shortened(line, "machine", (&self.namespace, &self.machine)),
            None => reason.as_str().to_owned(),
        };
        Some(format!("Machine {}: {says}", self.machine))
    }
}

/// The condition that tells what is wrong with a Machine.
fn said(machine: &Machine) -> Option<&Condition> {
    let conditions = machine.status.as_ref()?.conditions.as_slice();
    // of one in deletion Ready says no more than that
    let leaving = find(conditions, ConditionType::Deleting).filter(|said| said.status == "True");
    let unready = || find(conditions, ConditionType::Ready).filter(|said| said.status != "True");
    // a Node that is being updated is Ready most of the time
    let updating = || find(conditions, ConditionType::Updating);
    let blocked = || {
        let draining = find(conditions, ConditionType::Draining)?;
        (draining.reason == Reason::DrainBlocked && draining.status == "True").then_some(draining)
    };
    // nothing brings it to the versions of its spec
    let left = || {
        let told = find(conditions, ConditionType::UpToDate)?;
        (told.reason == Reason::KubeletVersionDiffers && told.status == "False").then_some(told)
    };
    leaving
        .or_else(unready)
        .or_else(blocked)
        .or_else(updating)
        .or_else(left)
}

/// A line of this object, cut where it is too long, and then with the command that shows the whole.
fn shortened(line: &str, kind: &str, (namespace, name): (&str, &str)) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let whole = format!("…; tatara describe {kind} {name} -n {namespace} shows all");
    let room = LONGEST.saturating_sub(whole.chars().count());
    let end = line
        .char_indices()
        .nth(room)
        .map_or(line.len(), |(at, _)| at);
    format!("{}{whole}", whole_clauses(&line[..end]))
}

/// The beginning of a text that was cut anywhere, up to the end of a clause or the command that was cut: part of one does
/// something else, or nothing.
fn whole_clauses(text: &str) -> &str {
    let clause = text.rfind("; ").max(text.rfind(". "));
    let commands = COMMANDS.iter().filter_map(|start| text.rfind(start));
    let end = commands.max().max(clause).or_else(|| text.rfind(' '));
    text[..end.unwrap_or(text.len())].trim_end_matches([' ', ':', ',', ';', '.'])
}

/// The most urgent trouble, and how many more there are: "Machine cp66: port 6443 is in use by sshd; stop it. 2 more". Most
/// urgent is one that needs a person to continue, then a warning, then the oldest.
pub fn worst<'a>(troubles: impl IntoIterator<Item = &'a Trouble>) -> Option<String> {
    let troubles: Vec<&Trouble> = troubles
        .into_iter()
        .filter(|t| t.reason.is_some())
        .collect();
    let worst = troubles.iter().min_by_key(|trouble| trouble.rank())?;
    let words = worst.words()?;
    Some(match troubles.len() - 1 {
        0 => words,
        more => format!("{}. {more} more", words.trim_end_matches('.')),
    })
}

/// What a MachineDeployment says whose template cannot be used: it has no Machine that could say it.
pub fn of_pool(deployment: &MachineDeployment) -> Option<String> {
    let status = deployment.status.as_ref()?;
    let said = find(&status.conditions, ConditionType::Ready)?;
    let is_unusable = matches!(
        Reason::parse(&said.reason)?,
        Reason::InvalidConfiguration | Reason::UnsupportedVersion | Reason::MachineClassMissing
    );
    (said.status == "False" && is_unusable).then(|| {
        let line = said.message.lines().next().unwrap_or_default();
        let name = deployment.name_any();
        let namespace = deployment.namespace().unwrap_or_default();
        let said = shortened(line, "machinedeployment", (&namespace, &name));
        format!("MachineDeployment {name}: {said}")
    })
}

/// A summary of counts, followed by the most urgent trouble.
pub fn beside(counts: impl Into<String>, worst: Option<String>) -> String {
    let counts = counts.into();
    match worst {
        Some(worst) => format!("{counts}. {worst}"),
        None => counts,
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
