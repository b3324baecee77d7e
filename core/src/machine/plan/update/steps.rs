//! The steps of an update, by what the host shows of those that were done.

use k8s_openapi::jiff::Timestamp;

use super::super::super::cluster::ObservedCluster;
use super::super::super::observed::{Contact, Observed, Placement};
use super::super::super::units;
use super::super::doubt::ClusterName;
use super::super::pace::DRAIN_AGAIN;
use super::super::turn::in_the_way;
use super::super::{Action, Plan, drain, job, known_node};
use super::quorum::{may_restart, members, waits_for_quorum};
use super::{
    Step, control_plane, differs, end_of_turn, ends::finish, ends::is_unwell, follow,
    has_turn_to_upgrade, is_other, not, of_job, runs_other, updating, waiting,
};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::api::machine_provider_spec::SoftwareSource;
use crate::kubeadm::KubernetesVersion;
use crate::node::{JobKind, Observation, PlannedUnit, UPGRADE_STEP, UnitState, UnitStatus, Wanted};
use crate::{Next, NodeView};

/// The next step, by what its host shows.
pub(super) fn next(observed: &Observed, seen: &Observation, now: Timestamp) -> Step {
    if seen.owner.of(&observed.marker).is_none() {
        let message = "its host does not show the marker of this Machine, so nothing is updated. Find out what happened to /var/lib/tatara/owner.json there";
        return Step::Waits(not(Reason::MarkerMissing, message.to_owned()), None);
    }
    let units = || {
        let (archives, upgrade) = (units::archives(observed)?, units::upgrade(observed)?);
        Ok((archives, upgrade, units::kubelet(observed)?))
    };
    let (archives, upgrade, kubelet) = match units() {
        Ok(units) => units,
        Err(problem) => return Step::Waits(not(Reason::InvalidConfiguration, problem), None),
    };
    let host = OnHost { observed, seen };
    if let Some(unit) = [&upgrade, &kubelet]
        .into_iter()
        .find(|unit| host.runs(unit.kind))
    {
        return Step::goes(host.runs_on(unit, start(&host, unit, now)));
    }
    // also one that is not wanted any more: the next job would wait for its end, with the turn
    if host.runs(JobKind::Images) {
        let images = job::of_kind(observed, JobKind::Images);
        return Step::goes(attempt(&host, &images, now));
    }
    // what was begun is ended, also where the Node shows what is wanted meanwhile
    let upgrades = differs(observed) != Some(false) || host.broke_off(JobKind::Upgrade);
    let follows = follow::due(observed).is_some_and(|behind| behind.concerns_kubelet());
    let replaces = super::kubelet(observed).as_ref().is_none_or(is_other)
        || follows
        || host.broke_off(JobKind::Kubelet)
        || !host.has_kubelet();
    let is_whole = || units::whole_upgrade(observed).is_ok_and(|whole| host.is_done(&whole));
    let upgrades_now = upgrades && !host.is_done(&upgrade) && !is_whole();
    let replaces_now = replaces && !(host.is_done(&kubelet) && host.has_kubelet());
    if !upgrades_now && !replaces_now && runs_other(observed) == Some(false) {
        return finish(observed);
    }
    // it may take long: before the turn, and before etcd is asked
    let is_down = host.is_half_upgraded() && is_unwell(observed);
    let comes_first = is_down || (replaces_now && host.needs_kubelet_first());
    let archives = archives.as_ref().filter(|unit| !host.is_done(unit));
    if let Some(archives) = archives.filter(|_| upgrades_now && !comes_first) {
        let mut plan = start(&host, archives, now);
        // of an edit in mid-update
        let over = end_of_turn(observed).filter(|_| !host.may_have_stopped());
        plan.actions.splice(0..0, over.map(Action::ReturnTurn));
        return Step::goes(plan);
    }
    if let Some(cluster) = &observed.cluster
        && observed.acts_as_control_plane()
        && !has_turn_to_upgrade(observed)
    {
        let first = [(upgrades_now, &upgrade), (replaces_now, &kubelet)];
        let due = first.into_iter().find(|(due, _)| *due);
        let waits = due.map(|(_, unit)| start(&host, unit, now));
        // without the turn, which others may need meanwhile
        if let Some(waits) = waits.filter(|plan| plan.actions.is_empty()) {
            return Step::goes(waits);
        }
        return match take_turn(observed, cluster) {
            Ok(mut taking) => {
                // in the same pass, as it asks etcd and the holder of the turn just before; whether new settings may be
                // followed is decided with the turn
                if upgrades_now && follow::begin(observed).is_none() {
                    taking.actions.push(Action::RunJob(JobKind::Upgrade));
                }
                Step::goes(taking)
            }
            Err(refused) => Step::Waits(refused, None),
        };
    }
    if replaces_now && host.needs_kubelet_first() {
        let begins = || Step::goes(start(&host, &kubelet, now));
        return waits_for_quorum(&host).unwrap_or_else(begins);
    }
    if upgrades_now {
        return run_upgrade(&host, &upgrade, now);
    }
    if control_plane(observed).as_ref().is_some_and(is_other) {
        let message = "kubeadm upgrade has succeeded; waiting until kube-apiserver of this machine reports the version";
        return Step::goes(waiting(Reason::WaitingForControlPlane, message));
    }
    let Some(node) = known_node(observed) else {
        return Step::goes(waiting(Reason::WaitingForNode, "its Node cannot be read"));
    };
    if !replaces_now {
        let message = format!("waiting until Node {} reports the new kubelet", node.name);
        return Step::goes(waiting(Reason::WaitingForNode, message));
    }
    // a kubelet of another version starts etcd anew
    waits_for_quorum(&host)
        .unwrap_or_else(|| Step::goes(replace_kubelet(&host, node, &kubelet, now)))
}

/// The Machine, and what its host shows.
pub(super) struct OnHost<'a> {
    pub(super) observed: &'a Observed,
    seen: &'a Observation,
}

impl OnHost<'_> {
    fn job(&self, kind: JobKind) -> Option<&UnitStatus> {
        self.seen.job(&self.observed.marker.job(kind))
    }

    fn runs(&self, kind: JobKind) -> bool {
        self.seen.runs(&self.observed.marker.job(kind))
    }

    /// A job that runs comes to its end, also where something else is wanted by now.
    fn runs_on(&self, unit: &PlannedUnit, mut plan: Plan) -> Plan {
        let job = self.job(unit.kind);
        if job.is_some_and(|job| job.identity != unit.identity) {
            for finding in &mut plan.findings {
                finding.reword(format!(
                    "{}; what was edited since follows when this attempt has ended",
                    finding.message()
                ));
            }
        }
        plan
    }

    /// It was begun, and did not succeed.
    pub(super) fn broke_off(&self, kind: JobKind) -> bool {
        let job = self.job(kind);
        job.is_some_and(|job| !job.has_succeeded())
    }

    /// It has succeeded, with these steps.
    fn is_done(&self, unit: &PlannedUnit) -> bool {
        job::of_unit(self.observed, unit).is_done(self.job(unit.kind))
    }

    /// The kubelet that is installed is the one that is wanted.
    fn has_kubelet(&self) -> bool {
        let installed = self.seen.versions.kubelet.as_deref();
        let wanted = self.observed.machine.versions();
        let wanted = wanted.map(|versions| versions.kubelet.as_str());
        let parse = |version: Option<&str>| version?.parse::<KubernetesVersion>().ok();
        parse(installed) == parse(wanted)
    }

    /// Nothing else brings back the API that kubeadm and a drain need: the kubelet was being replaced, and no Node is read.
    fn needs_kubelet_first(&self) -> bool {
        let is_behind = control_plane(self.observed).as_ref().is_some_and(is_other);
        self.broke_off(JobKind::Kubelet) && known_node(self.observed).is_none() && !is_behind
    }

    /// A job that did not succeed may have stopped its member.
    pub(super) fn may_have_stopped(&self) -> bool {
        self.is_half_upgraded() || self.broke_off(JobKind::Kubelet)
    }

    /// kubeadm has not changed its static pods, or its settings alone, with which they serve.
    pub(super) fn is_whole(&self) -> bool {
        let serves = || runs_other(self.observed) == Some(false) && !is_unwell(self.observed);
        !self.is_half_upgraded() || serves()
    }

    /// kubeadm may have changed the static pods, and has not succeeded.
    fn is_half_upgraded(&self) -> bool {
        let step = self.job(JobKind::Upgrade).and_then(|job| match &job.state {
            UnitState::Running(at) | UnitState::Interrupted(at) => Some(&at.step),
            UnitState::Failed(failure) => Some(&failure.at.step),
            UnitState::Succeeded => None,
        });
        step.is_some_and(|step| step == UPGRADE_STEP)
    }
}

/// kubeadm upgrade; a control plane returns its turn while it waits to try again, unless kubeadm may have changed its static pods,
/// and not for settings alone, of the same version, with which they serve.
fn run_upgrade(host: &OnHost<'_>, unit: &PlannedUnit, now: Timestamp) -> Step {
    let observed = host.observed;
    if let Some(waits) = waits_for_quorum(host) {
        return waits;
    }
    let mut plan = start(host, unit, now);
    if plan.actions.is_empty() {
        // it waits before it tries again
        let over = end_of_turn(observed).filter(|_| host.is_whole());
        plan.actions.extend(over.map(Action::ReturnTurn));
    } else {
        plan.actions.splice(0..0, follow::begin(observed));
    }
    Step::goes(plan)
}

/// The turn, once etcd can do without the member of this machine for a while.
///
/// # Errors
/// What it waits for, in condition `UpToDate`.
fn take_turn(observed: &Observed, cluster: &ObservedCluster) -> Result<Plan, Finding> {
    if let Some(doubt) = &cluster.in_doubt {
        let named = ClusterName::of(&observed.marker);
        return Err(not(doubt.reason(), doubt.message(named)));
    }
    if let Some(message) = in_the_way(observed, cluster) {
        return Err(not(Reason::WaitingForTurn, message));
    }
    may_restart(observed, members(cluster))?;
    let message = "taking the turn to run kubeadm upgrade".to_owned();
    Ok(Plan::act(
        Action::TakeTurn(TurnAction::Upgrade),
        not(Reason::TakingTurn, message),
    ))
}

/// Whether a job of an update runs, or has broken off where it may have stopped the member of its machine.
pub(super) fn is_under_way(observed: &Observed, seen: &Observation) -> bool {
    let host = OnHost { observed, seen };
    host.runs(JobKind::Upgrade) || host.may_have_stopped()
}

/// Whether a job on its host broke off that may have stopped its member.
pub fn may_have_stopped(observed: &Observed) -> bool {
    on_host(observed).is_some_and(|host| host.may_have_stopped())
}

pub(super) fn on_host(observed: &Observed) -> Option<OnHost<'_>> {
    let Placement::Held(held) = &observed.placement else {
        return None;
    };
    match &held.contact {
        Contact::Seen(seen) => Some(OnHost { observed, seen }),
        _ => None,
    }
}

/// Starts a job, attaches to it, or waits before it is tried again. One that succeeded is run anew: with other steps, or since
/// what it installed was replaced.
fn start(host: &OnHost<'_>, unit: &PlannedUnit, now: Timestamp) -> Plan {
    attempt(host, &job::of_unit(host.observed, unit), now)
}

fn attempt(host: &OnHost<'_>, unit: &Wanted<'_>, now: Timestamp) -> Plan {
    let (observed, kind) = (host.observed, unit.job.kind);
    let starts = || match host.job(kind) {
        None => job::starts(observed, kind),
        // what failed with other steps, as those of another version, is no failure of these
        Some(_) => job::begins(kind),
    };
    let attempt = job::afresh(observed, host.seen, unit, now);
    of_job(job::plan(kind, &attempt, starts).unwrap_or_default())
}

/// Drains the Node before the first attempt to replace its kubelet.
fn replace_kubelet(host: &OnHost<'_>, node: &NodeView, unit: &PlannedUnit, now: Timestamp) -> Plan {
    let observed = host.observed;
    let mut plan = start(host, unit, now);
    let job = host.job(JobKind::Kubelet);
    if host.broke_off(JobKind::Kubelet) && job.is_some_and(|job| job.identity == unit.identity) {
        return plan;
    }
    let is_cordoned = node.is_cordoned_by_us();
    if let Some(machine) = ahead(observed).filter(|_| !is_cordoned) {
        let found = drained_after(observed, machine);
        return waiting(found.reason(), found.message());
    }
    if !host.has_kubelet()
        && let Some(version) = preinstalled(observed)
    {
        let message = format!(
            "software.source is preinstalled, and the kubelet on {} is {}. Install kubelet {version} there; it is drained and the kubelet started anew then",
            host.seen.facts.hostname,
            host.seen.versions.kubelet.as_deref().unwrap_or("missing")
        );
        return waiting(Reason::UpdateFailed, message);
    }
    let (action, finding) = drain::before_update(observed, node, now);
    if let Some(action) = action {
        plan.actions.insert(0, action);
        let message = format!(
            "evicting the pods of Node {} before its kubelet starts anew",
            node.name
        );
        plan.findings = vec![updating(Reason::Draining, message)];
        plan.next = plan.next.sooner(Next::After(DRAIN_AGAIN));
    }
    plan.findings.extend(finding);
    plan
}

/// It waits to be drained until another Machine is updated.
pub fn drained_after(observed: &Observed, machine: &str) -> Finding {
    let rule = if observed.machine.is_owned() {
        "while one Node of a MachineDeployment follows new settings, no other of it is drained"
    } else {
        "Machines without a MachineSet are drained one at a time"
    };
    let message = format!(
        "waiting until Machine {machine} is updated: {rule}. If that does not proceed: tatara describe machine {machine} -n {}; if it is paused, remove the annotation that its condition Paused names; if its machine is off, power it on; only if it is lost for good, delete that Machine",
        observed.marker.namespace
    );
    updating(Reason::WaitingForTurn, message)
}

/// Another worker that is drained before this one. Control planes have a turn, and a MachineDeployment counts its own.
fn ahead(observed: &Observed) -> Option<&String> {
    let cluster = observed.cluster.as_ref()?;
    cluster.neighbours.ahead.as_ref()
}

/// The version of the kubelet that a person has to install.
fn preinstalled(observed: &Observed) -> Option<&str> {
    let node = observed.spec.as_ref().ok()?.node()?;
    let versions = observed.machine.versions()?;
    (node.software.source == SoftwareSource::Preinstalled).then_some(&*versions.kubelet)
}
