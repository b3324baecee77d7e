//! A Machine whose `spec.versions` differ from what its node runs, or whose node has other settings
//! than its Cluster, is updated in place: import of image archives, `kubeadm upgrade`, drain,
//! kubelet, uncordon. A control plane takes the turn after that import, and has it to the end; etcd
//! must do without its member for a while.
//!
//! What was done is read from the host: a job that has succeeded is not run again. Condition
//! `Updating` exists from the first step to the last, and a manager that finds it asks the host.

mod ends;
mod follow;
mod grant;
mod kubelet;
mod obstacle;
mod on_host;
mod quorum;
mod steps;
mod trouble;
mod versions;

use k8s_openapi::jiff::Timestamp;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Contact, Infrastructure, Lookup, Observed};
use super::super::reported;
use super::turn::has_turn;
use super::{Acquire, Action, Plan, job};
use crate::api::MachineProviderSpec;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason, Status, find};
use crate::api::machine_stage::ChangeStep;
use crate::node::JobKind;
use crate::proof::TurnIsOver;
use crate::{Next, NodeView, pace, settings};

pub use ends::{ended, ends, unwell};
pub use follow::{phases, waits_for, waits_for_person};
pub use kubelet::drained_after;
use obstacle::obstacle;
pub use on_host::may_have_stopped;
pub use quorum::may_restart;
pub(super) use trouble::if_lost;
use versions::runs_other;
pub(super) use versions::{differences, is_other_control_plane, runs_of_control_plane};

/// Whether the host has to be asked because of an update.
pub fn is_due(observed: &Observed) -> bool {
    can_update(observed)
        && (is_begun(observed)
            || (is_wanted(observed)
                && obstacle(observed).is_none()
                && follow::obstacle(observed, false).is_none()))
}

/// Whether something else runs than is wanted, because that was edited: what somebody replaced on
/// the host, or edited under an earlier release that updated nothing, stays as it is until the spec
/// is edited.
fn is_wanted(observed: &Observed) -> bool {
    let runs_other = runs_other(observed);
    (runs_other == Some(true) && !reported::is_settled(&observed.machine))
        || (runs_other == Some(false) && follow::due(observed).is_some())
}

/// Adds an update to the plan of a Machine that has, or had, a Node.
pub(super) fn keep(observed: &Observed, held: &Infrastructure, plan: &mut Plan, now: Timestamp) {
    if !can_update(observed) {
        return postpone(observed, plan);
    }
    let is_begun = is_begun(observed);
    if !is_begun && !is_wanted(observed) {
        return;
    }
    let differs = differs(observed) == Some(true);
    let runs_other = runs_other(observed) != Some(false);
    if let Some(refused) = obstacle(observed).filter(|_| differs && runs_other) {
        if is_begun {
            put_down(observed, held, plan);
        }
        return wait(plan, refused, is_begun);
    }
    if let Some(refused) = follow::obstacle(observed, is_begun) {
        return wait(plan, refused, is_begun);
    }
    match next_step(observed, held, differs, plan, now) {
        Step::Waits(refused, over) => {
            if is_begun && refused.reason() == Reason::InvalidConfiguration {
                put_down(observed, held, plan);
            }
            plan.actions.extend(over.map(Action::ReturnTurn));
            wait(plan, refused, is_begun);
        }
        Step::Goes(step) => report(observed, plan, *step),
        Step::Over => {}
    }
}

/// What it does next, by what its host says, and in the plan which step of the update that is.
fn next_step(
    observed: &Observed,
    held: &Infrastructure,
    differs: bool,
    plan: &mut Plan,
    now: Timestamp,
) -> Step {
    match &held.contact {
        Contact::SelfRegistering(_) if differs => {
            plan.change = Some(ChangeStep::Kubelet);
            Step::goes(simulated())
        }
        Contact::SelfRegistering(_) => Step::Over,
        Contact::NotAsked => {
            plan.change = followed_step(observed);
            Step::goes(followed(observed))
        }
        Contact::Unreachable { reason, message } => Step::goes(waiting(
            *reason,
            trouble::out_of_reach(observed, *reason, message),
        )),
        Contact::Seen(seen) => {
            let decided = steps::next(observed, seen, now);
            let is_over = matches!(decided.step, Step::Over);
            plan.change = decided.at.filter(|_| !is_over);
            plan.asks = decided.asks;
            decided.step
        }
    }
}

/// Ends what an update that cannot go on has begun on its host, where that answers.
fn put_down(observed: &Observed, held: &Infrastructure, plan: &mut Plan) {
    if let Contact::Seen(seen) = &held.contact {
        let is_under_way = on_host::is_under_way(observed, seen);
        plan.actions.extend(ends::put_down(observed, is_under_way));
    }
}

/// Adds a step that is under way, and its worst finding as the reason why the versions differ.
fn report(observed: &Observed, plan: &mut Plan, step: Plan) {
    plan.actions.extend(step.actions);
    plan.next = plan.next.sooner(step.next);
    let mut found = step.findings;
    let of_versions = |finding: &Finding| finding.condition == ConditionType::UpToDate;
    let said = if let Some(failure) = trouble::of(&mut found) {
        // what is told again while it is tried again says that already
        let left = trouble::cordoned(observed);
        if !failure.message().ends_with(&left) {
            failure.reword(format!("{}{left}", failure.message()));
        }
        trouble::also_of_node(plan, failure);
        failure.why.finding(ConditionType::UpToDate)
    } else if let Some(at) = found.iter().position(of_versions) {
        found.remove(at)
    } else {
        not(Reason::Updating, difference(observed))
    };
    instead(plan, said);
    // what was told of it stands while the turn is taken once more
    if !found
        .iter()
        .any(|one| one.condition == ConditionType::Updating)
    {
        found.extend(told(observed));
    }
    plan.findings.extend(found);
}

/// What was edited is carried out later: else it would be taken for what somebody replaced on the
/// host.
fn postpone(observed: &Observed, plan: &mut Plan) {
    let is_ours = observed.spec.as_ref().is_ok_and(is_updated_by_us);
    if is_ours && !observed.is_deleting() && is_wanted(observed) {
        instead(plan, not(Reason::Updating, difference(observed)));
    }
}

/// Adds that an update was begun to the plan of a Machine whose settings cannot be used.
pub(super) fn beside(observed: &Observed, plan: &mut Plan, problem: &Finding) {
    if can_begin(observed) && is_begun(observed) {
        let message = format!("{}{}", problem.message(), trouble::cordoned(observed));
        plan.findings.push(updating(problem.reason(), message));
    }
}

/// What an update does next.
enum Step {
    /// It cannot begin, or go on. A turn that it has ends by this meanwhile.
    Waits(Finding, Option<TurnIsOver>),
    /// It is under way.
    Goes(Box<Plan>),
    /// Nothing is left to do.
    Over,
}

impl Step {
    fn goes(plan: Plan) -> Self {
        Self::Goes(Box::new(plan))
    }
}

/// Says something else of the versions than a Node that runs others would.
fn instead(plan: &mut Plan, finding: Finding) {
    plan.findings
        .retain(|old| old.condition != ConditionType::UpToDate);
    plan.findings.push(finding);
}

/// Whether its versions can be changed in place: it is prepared over SSH, or simulated, and has, or
/// had, a Node.
fn can_update(observed: &Observed) -> bool {
    observed.spec.as_ref().is_ok_and(is_updated_by_us) && can_begin(observed)
}

fn is_updated_by_us(spec: &MachineProviderSpec) -> bool {
    spec.node().is_some() || matches!(spec, MachineProviderSpec::Simulated(_))
}

/// The same, apart from its settings.
fn can_begin(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    let is_made = |cluster: &ObservedCluster| cluster.initialized_by.is_some() || cluster.external;
    cluster.is_some_and(|cluster| !cluster.deleting && is_made(cluster))
        && observed.had_node()
        && !observed.awaits_commands()
        && (!observed.is_deleting() || is_left_half_way(observed))
}

/// The last control plane stays, although it is being deleted: its update is brought to its end. So
/// is one that has stopped its member where etcd has no quorum now: nothing leaves before that
/// member serves again.
fn is_left_half_way(observed: &Observed) -> bool {
    let stays = |cluster: &ObservedCluster| {
        let is_unread = matches!(cluster.etcd, Lookup::Unknown(_));
        cluster.other_control_planes.is_empty() || (is_unread && may_have_stopped(observed))
    };
    // its Node may be cordoned by its deletion
    (reported::update_is_begun(&observed.machine) || has_turn_to_upgrade(observed))
        && observed.cluster.as_ref().is_some_and(stays)
}

/// Whether an update was begun and has not ended, by what is recorded of it.
pub(super) fn is_begun(observed: &Observed) -> bool {
    reported::update_is_begun(&observed.machine)
        || has_turn_to_upgrade(observed)
        || observed.last_look.job().is_some_and(JobKind::updates)
        || settings::is_unfinished(&observed.machine)
        || observed
            .known_node()
            .is_some_and(NodeView::is_cordoned_by_us)
}

/// What was told of an update that was begun.
fn told(observed: &Observed) -> Option<Finding> {
    let status = observed.machine.status.as_ref()?;
    let condition = find(&status.conditions, ConditionType::Updating)?;
    let reason = Reason::parse(&condition.reason).filter(|_| condition.status == Status::True)?;
    Some(updating(reason, condition.message.clone()))
}

fn has_turn_to_upgrade(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Upgrade))
}

/// Whether its node has other versions or settings than are wanted; `None` while the Node cannot be
/// read.
fn differs(observed: &Observed) -> Option<bool> {
    Some(runs_other(observed)? || follow::due(observed).is_some())
}

fn difference(observed: &Observed) -> String {
    let settings = follow::due(observed).map(|behind| behind.sentences());
    let mut parts = differences(observed);
    parts.extend(settings.into_iter().flatten());
    if parts.is_empty() {
        return "the last steps of the update are under way".to_owned();
    }
    parts.join("; ")
}

fn updating(reason: Reason, message: impl Into<String>) -> Finding {
    Finding::yes(ConditionType::Updating, reason, message)
}

fn not(reason: Reason, message: String) -> Finding {
    Finding::no(ConditionType::UpToDate, reason, message)
}

/// An update waits for its host, for the control plane there, or for another Machine. The reasons
/// are those of Machines that are not updated as well, and these are told by events.
const AGAIN: Next = Next::After(pace::NEIGHBOUR);

fn waiting(reason: Reason, message: impl Into<String>) -> Plan {
    Plan {
        next: AGAIN,
        ..Plan::waiting(updating(reason, message))
    }
}

/// Reports what it waits for instead of the difference.
fn wait(plan: &mut Plan, refused: Finding, is_begun: bool) {
    if is_begun {
        plan.findings
            .push(updating(refused.reason(), refused.message()));
    }
    instead(plan, refused);
    plan.next = plan.next.sooner(AGAIN);
}

/// A job runs whose end wakes us, or nothing can be asked for now.
fn followed(observed: &Observed) -> Plan {
    let follow = observed.follow.as_ref();
    match follow.filter(|follow| follow.job.kind.updates()) {
        Some(follow) => of_job(job::followed(observed, follow)),
        None => waiting(Reason::Updating, "waiting for another job on its host"),
    }
}

/// The step whose job runs.
fn followed_step(observed: &Observed) -> Option<ChangeStep> {
    match observed.follow.as_ref()?.job.kind {
        JobKind::Images => Some(ChangeStep::Images),
        JobKind::Upgrade => Some(ChangeStep::Upgrade),
        JobKind::Kubelet => Some(ChangeStep::Kubelet),
        _ => None,
    }
}

/// A simulated machine has no host, and no kubelet.
fn simulated() -> Plan {
    let message = "a simulated machine takes its time";
    Plan::act(
        Action::Acquire(Acquire::Update),
        updating(Reason::KubeletUpdate, message),
    )
}

/// A plan for a job, as findings of an update.
fn of_job(mut plan: Plan) -> Plan {
    for finding in &mut plan.findings {
        finding.condition = ConditionType::Updating;
        finding.status = Status::True;
    }
    plan
}
