//! The steps of an update, by what the host shows of those that were done. Which one it is at is
//! derived in each pass, in their order; then the step says what is done.

use k8s_openapi::jiff::Timestamp;

use super::super::super::observed::Observed;
use super::super::super::units;
use super::super::{Action, Plan, Request, job, turn_end};
use super::on_host::OnHost;
use super::quorum::waits_for_quorum;
use super::versions::{self, control_plane, is_other, runs_other};
use super::{
    Step, differs, ends, ends::is_unwell, follow, grant, has_turn_to_upgrade, kubelet, not, of_job,
    waiting,
};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::api::machine_stage::ChangeStep;
use crate::node::{JobKind, Observation, PlannedUnit, Wanted};

/// The units of steps of an update, for what is wanted now.
struct Units {
    archives: Option<PlannedUnit>,
    upgrade: PlannedUnit,
    kubelet: PlannedUnit,
}

impl Units {
    fn of(observed: &Observed) -> Result<Self, String> {
        Ok(Self {
            archives: units::archives(observed)?,
            upgrade: units::upgrade(observed)?,
            kubelet: units::kubelet(observed)?,
        })
    }
}

/// Where an update is.
enum At<'u> {
    /// A job runs that may stop its control plane, also one that is not wanted any more: the next
    /// one waits for its end.
    Runs(&'u PlannedUnit),
    /// Images are imported for something that may not be wanted any more.
    OldImages,
    /// Images are imported. It may take long: before the turn, and before etcd is asked.
    Images(&'u PlannedUnit),
    /// A control plane needs the turn for this job.
    AwaitGrant(&'u PlannedUnit),
    /// The kubelet first: nothing else brings back the API that kubeadm and a drain need.
    KubeletFirst,
    /// kubeadm upgrade.
    Upgrade,
    /// Its API server does not report the version yet that kubeadm has brought.
    Serving,
    /// Its Node is drained, and its kubelet starts anew.
    Kubelet,
    /// Its Node does not report the new kubelet yet, or cannot be read.
    Reporting,
    /// What was begun is ended.
    Ending,
}

impl At<'_> {
    /// As it is reported.
    fn name(&self) -> ChangeStep {
        match self {
            At::Runs(unit) if unit.kind == JobKind::Kubelet => ChangeStep::Kubelet,
            At::OldImages | At::Images(_) => ChangeStep::Images,
            At::AwaitGrant(_) => ChangeStep::AwaitGrant,
            At::Runs(_) | At::Upgrade | At::Serving => ChangeStep::Upgrade,
            At::KubeletFirst | At::Kubelet => ChangeStep::Kubelet,
            At::Reporting | At::Ending => ChangeStep::Proving,
        }
    }
}

/// What is left to be done.
struct Left {
    upgrades: bool,
    replaces: bool,
}

impl Left {
    fn of(host: &OnHost<'_>, units: &Units) -> Self {
        let observed = host.observed;
        // what was begun is ended, also where the Node shows what is wanted meanwhile
        let upgrades = differs(observed) != Some(false) || host.broke_off(JobKind::Upgrade);
        let follows = follow::due(observed).is_some_and(|behind| behind.concerns_kubelet());
        let replaces = versions::kubelet(observed).as_ref().is_none_or(is_other)
            || follows
            || host.broke_off(JobKind::Kubelet)
            || !host.has_kubelet();
        let is_whole = || units::whole_upgrade(observed).is_ok_and(|whole| host.is_done(&whole));
        Self {
            upgrades: upgrades && !host.is_done(&units.upgrade) && !is_whole(),
            replaces: replaces && !(host.is_done(&units.kubelet) && host.has_kubelet()),
        }
    }
}

/// What an update does next.
pub(super) struct Decided {
    /// Where it is; `None` where nothing can be done there.
    pub(super) at: Option<ChangeStep>,
    /// What it asks for the turn for.
    pub(super) asks: Option<Request>,
    /// What is done.
    pub(super) step: Step,
}

impl Decided {
    fn refused(finding: Finding) -> Self {
        Self {
            at: None,
            asks: None,
            step: Step::Waits(finding, None),
        }
    }
}

/// The next step, by what its host shows.
pub(super) fn next(observed: &Observed, seen: &Observation, now: Timestamp) -> Decided {
    if seen.owner.of(&observed.marker).is_none() {
        let message = "its host does not show the marker of this Machine, so nothing is updated. Find out what happened to /var/lib/tatara/owner.json there";
        return Decided::refused(not(Reason::MarkerMissing, message.to_owned()));
    }
    let units = match Units::of(observed) {
        Ok(units) => units,
        Err(problem) => {
            return Decided::refused(not(Reason::InvalidConfiguration, problem));
        }
    };
    let host = OnHost { observed, seen };
    let left = Left::of(&host, &units);
    let at = at(&host, &units, &left);
    let (step, asks) = plan(&host, &units, &left, &at, now);
    let is_drain = |step: &Step| {
        let is = |action: &Action| matches!(action, Action::Drain { .. });
        matches!(step, Step::Goes(plan) if plan.actions.iter().any(is))
    };
    let name = if is_drain(&step) {
        ChangeStep::Drain
    } else {
        at.name()
    };
    let request = Request {
        action: TurnAction::Upgrade,
        half_done: host.is_half_done(),
    };
    Decided {
        at: Some(name),
        asks: asks.then_some(request),
        step,
    }
}

fn at<'u>(host: &OnHost<'_>, units: &'u Units, left: &Left) -> At<'u> {
    let observed = host.observed;
    let jobs = [&units.upgrade, &units.kubelet];
    if let Some(unit) = jobs.into_iter().find(|unit| host.runs(unit.kind)) {
        return At::Runs(unit);
    }
    if host.runs(JobKind::Images) {
        return At::OldImages;
    }
    if !left.upgrades && !left.replaces && runs_other(observed) == Some(false) {
        return At::Ending;
    }
    let kubelet_first = left.replaces && host.needs_kubelet_first();
    let is_down = host.is_half_upgraded() && is_unwell(observed);
    let archives = units.archives.as_ref().filter(|unit| !host.is_done(unit));
    if let Some(archives) = archives
        && left.upgrades
        && !is_down
        && !kubelet_first
    {
        return At::Images(archives);
    }
    if observed.cluster.is_some()
        && observed.acts_as_control_plane()
        && !has_turn_to_upgrade(observed)
    {
        let [upgrade, kubelet] = jobs;
        return At::AwaitGrant(if left.upgrades { upgrade } else { kubelet });
    }
    if kubelet_first {
        At::KubeletFirst
    } else if left.upgrades {
        At::Upgrade
    } else if control_plane(observed).as_ref().is_some_and(is_other) {
        At::Serving
    } else if left.replaces && observed.known_node().is_some() {
        At::Kubelet
    } else {
        At::Reporting
    }
}

/// What is done there, and whether it asks for the turn.
fn plan(
    host: &OnHost<'_>,
    units: &Units,
    left: &Left,
    at: &At<'_>,
    now: Timestamp,
) -> (Step, bool) {
    let observed = host.observed;
    let step = match at {
        At::Runs(unit) => Step::goes(host.runs_on(unit, start(host, unit, now))),
        At::OldImages => {
            let images = job::of_kind(observed, JobKind::Images);
            Step::goes(attempt(host, &images, now))
        }
        At::Images(archives) => {
            let mut plan = start(host, archives, now);
            // of an edit in mid-update
            let over = turn_end::updated(observed).filter(|_| !host.may_have_stopped());
            plan.actions.splice(0..0, over.map(Action::ReturnTurn));
            Step::goes(plan)
        }
        At::AwaitGrant(unit) => {
            let is_due = left.upgrades || left.replaces;
            let (step, asks) = grant::plan(observed, || is_due.then(|| start(host, unit, now)));
            return (step, asks);
        }
        At::KubeletFirst => {
            let begins = || Step::goes(start(host, &units.kubelet, now));
            waits_for_quorum(host).unwrap_or_else(begins)
        }
        At::Upgrade => run_upgrade(host, &units.upgrade, now),
        At::Serving => {
            let message = "kubeadm upgrade has succeeded; waiting until kube-apiserver of this machine reports the version";
            Step::goes(waiting(Reason::WaitingForControlPlane, message))
        }
        // a kubelet of another version starts etcd anew
        At::Kubelet => waits_for_quorum(host)
            .unwrap_or_else(|| Step::goes(kubelet::replace(host, &units.kubelet, now))),
        At::Reporting => Step::goes(reporting(observed)),
        At::Ending => ends::finish(observed),
    };
    let is_start = |action: &Action| matches!(action, Action::RunJob(_));
    let starts = matches!(at, At::KubeletFirst | At::Upgrade | At::Kubelet)
        && matches!(&step, Step::Goes(plan) if plan.actions.iter().any(is_start));
    let waits = starts.then(|| grant::beside(host)).flatten();
    (waits.unwrap_or(step), false)
}

fn reporting(observed: &Observed) -> Plan {
    let message = match observed.known_node() {
        None => "its Node cannot be read".to_owned(),
        Some(node) => format!("waiting until Node {} reports the new kubelet", node.name),
    };
    waiting(Reason::WaitingForNode, message)
}

/// kubeadm upgrade; a control plane returns its turn while it waits to try again, unless kubeadm
/// may have changed its static pods, and not for settings alone, of the same version, with which
/// they serve.
fn run_upgrade(host: &OnHost<'_>, unit: &PlannedUnit, now: Timestamp) -> Step {
    let observed = host.observed;
    if let Some(waits) = waits_for_quorum(host) {
        return waits;
    }
    let mut plan = start(host, unit, now);
    if plan.actions.is_empty() {
        // it waits before it tries again
        let over = turn_end::updated(observed).filter(|_| host.is_whole());
        plan.actions.extend(over.map(Action::ReturnTurn));
    } else {
        plan.actions.splice(0..0, follow::begin(observed));
    }
    Step::goes(plan)
}

/// Starts a job, attaches to it, or waits before it is tried again. One that succeeded is run anew:
/// with other steps, or since what it installed was replaced.
pub(super) fn start(host: &OnHost<'_>, unit: &PlannedUnit, now: Timestamp) -> Plan {
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
