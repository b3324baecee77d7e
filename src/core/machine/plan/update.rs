//! A Machine whose `spec.versions` differ from what its node runs is updated in place: `kubeadm upgrade`, drain, kubelet,
//! uncordon. A control plane has the turn from its beginning to its end, and etcd must do without its member for a while.
//!
//! What was done is read from the host: a job that has succeeded is not run again. Condition `Updating` exists from the first
//! step to the last, and a manager that finds it asks the host.

mod obstacle;
mod steps;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, Infrastructure, Lookup, Observed};
use super::bootstrap::{ASK_AGAIN, followed_job};
use super::joining::has_turn;
use super::{Action, Plan, known_node, leaving};
use crate::api::MachineProviderSpec;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason, Severity, Status, is_true};
use crate::api::names::ANNOTATION_CORDONED;
use crate::core::kubeadm::KubernetesVersion;
use crate::core::proof::{MemberState, TurnIsOver};
use crate::core::{Next, NodeView};

use obstacle::obstacle;
pub use steps::{may_restart, was_started};

/// Whether the host has to be asked because of an update.
pub fn is_due(observed: &Observed) -> bool {
    can_update(observed)
        && (is_begun(observed) || (differs(observed) == Some(true) && obstacle(observed).is_none()))
}

/// Adds an update to the plan of a Machine that has, or had, a Node.
pub(super) fn keep(observed: &Observed, held: &Infrastructure, plan: &mut Plan, now: Timestamp) {
    if !can_update(observed) {
        return;
    }
    let is_begun = is_begun(observed);
    let differs = differs(observed);
    if !is_begun && differs != Some(true) {
        return;
    }
    if let Some(refused) = obstacle(observed).filter(|_| differs == Some(true)) {
        return wait(plan, refused, is_begun);
    }
    let step = match &held.contact {
        Contact::SelfRegistering(_) => return,
        Contact::NotAsked => followed(observed),
        Contact::Unreachable { reason, message } => waiting(*reason, message.clone()),
        Contact::Seen(seen) => match steps::next(observed, seen, differs, now) {
            Step::Waits(refused) => return wait(plan, refused, is_begun),
            Step::Goes(step) => *step,
            Step::Over => return,
        },
    };
    plan.actions.extend(step.actions);
    plan.next = plan.next.sooner(step.next);
    let is_told = |finding: &Finding| finding.condition == ConditionType::UpToDate;
    plan.findings.retain(|finding| !is_told(finding));
    if !step.findings.iter().any(is_told) {
        let trouble = |finding: &&Finding| finding.reason.severity() == Severity::Warning;
        let (reason, message) = match step.findings.iter().find(trouble) {
            Some(trouble) => (trouble.reason, trouble.message.clone()),
            None => (Reason::Updating, difference(observed)),
        };
        plan.findings.push(not(reason, message));
    }
    plan.findings.extend(step.findings);
}

/// What an update does next.
enum Step {
    /// It cannot begin, or go on.
    Waits(Finding),
    /// It is under way.
    Goes(Box<Plan>),
    /// Nothing is left to do.
    Over,
}

/// Whether its versions can be changed in place: it is prepared over SSH, and has, or had, a Node.
fn can_update(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    let settings = observed.spec.as_ref().ok();
    settings.and_then(MachineProviderSpec::node).is_some()
        && cluster.is_some_and(|cluster| !cluster.deleting && cluster.initialized_by.is_some())
        && observed.had_node()
        && !observed.is_deleting()
        && !observed.awaits_commands()
}

/// Whether an update was begun and has not ended, by what is recorded of it.
fn is_begun(observed: &Observed) -> bool {
    let status = observed.machine.status.as_ref();
    status.is_some_and(|status| is_true(&status.conditions, ConditionType::Updating))
        || has_turn_to_upgrade(observed)
        || known_node(observed).is_some_and(is_cordoned_by_us)
}

fn has_turn_to_upgrade(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Upgrade))
}

fn is_cordoned_by_us(node: &NodeView) -> bool {
    node.annotations.contains_key(ANNOTATION_CORDONED)
}

/// A version that runs, and the one that is wanted.
type Versions = (KubernetesVersion, KubernetesVersion);

fn kubelet(observed: &Observed) -> Option<Versions> {
    let runs = known_node(observed)?.kubelet_version.parse().ok()?;
    Some((runs, observed.machine.versions()?.kubelet.parse().ok()?))
}

/// Of the control plane on its own server, as that last said.
fn control_plane(observed: &Observed) -> Option<Versions> {
    if !leaving::is_asked(observed) {
        return None;
    }
    let wanted = observed.machine.versions()?.control_plane.as_deref()?;
    let components = observed.cluster.as_ref()?.components.as_ref();
    let said = components.and_then(|components| components.version.as_deref());
    let status = observed.machine.status.as_ref();
    let told = status.and_then(|status| status.versions.as_ref()?.control_plane.as_deref());
    Some((said.or(told)?.parse().ok()?, wanted.parse().ok()?))
}

fn is_other((runs, wanted): &Versions) -> bool {
    runs != wanted
}

/// Whether something else runs than is wanted; `None` while the Node cannot be read.
fn differs(observed: &Observed) -> Option<bool> {
    let kubelet = kubelet(observed)?;
    Some(is_other(&kubelet) || control_plane(observed).as_ref().is_some_and(is_other))
}

fn difference(observed: &Observed) -> String {
    let parts = [
        ("control plane", control_plane(observed)),
        ("kubelet", kubelet(observed)),
    ];
    let parts = parts.into_iter().filter_map(|(what, versions)| {
        let versions = versions.filter(is_other)?;
        Some(format!("{what} {}, wanted {}", versions.0, versions.1))
    });
    let parts: Vec<_> = parts.collect();
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

fn waiting(reason: Reason, message: impl Into<String>) -> Plan {
    Plan {
        next: Next::After(ASK_AGAIN),
        ..Plan::waiting(updating(reason, message))
    }
}

/// Reports what it waits for instead of the difference.
fn wait(plan: &mut Plan, refused: Finding, is_begun: bool) {
    let repeated = |finding: &Finding| finding.condition == ConditionType::UpToDate;
    plan.findings.retain(|finding| !repeated(finding));
    if is_begun {
        plan.findings
            .push(updating(refused.reason, refused.message.clone()));
    }
    plan.findings.push(refused);
    plan.next = plan.next.sooner(Next::After(ASK_AGAIN));
}

/// A job runs whose end wakes us, or nothing can be asked for now.
fn followed(observed: &Observed) -> Plan {
    let follow = observed.follow.as_ref();
    match follow.filter(|follow| follow.job.kind.updates()) {
        Some(follow) => of_job(followed_job(observed, follow)),
        None => waiting(Reason::Updating, "waiting for another job on its host"),
    }
}

/// A plan for a job, as findings of an update.
fn of_job(mut plan: Plan) -> Plan {
    for finding in &mut plan.findings {
        finding.condition = ConditionType::Updating;
        finding.status = Status::True;
    }
    plan
}

/// What was begun is ended: the Node takes pods again, and others have the turn.
fn finish(observed: &Observed) -> Step {
    let goes = |plan: Plan| Step::Goes(Box::new(plan));
    let Some(node) = known_node(observed) else {
        return goes(waiting(Reason::WaitingForNode, "its Node cannot be read"));
    };
    if node.ready != Some(true) {
        let message = format!(
            "waiting until Node {} is Ready: {}",
            node.name, node.ready_message
        );
        return goes(waiting(Reason::WaitingForNode, message));
    }
    if let Some(why) = unwell(observed) {
        let message = format!("waiting until the control plane on its machine serves: {why}");
        return goes(waiting(Reason::WaitingForControlPlane, message));
    }
    let mut actions = Vec::new();
    if is_cordoned_by_us(node) {
        actions.push(Action::UncordonNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    if has_turn_to_upgrade(observed) {
        let Some(over) = end_of_turn(observed) else {
            let message = "waiting until its etcd member is listed as one that votes";
            return goes(waiting(Reason::MemberChanging, message));
        };
        actions.push(Action::ReturnTurn(over));
    }
    if actions.is_empty() {
        return Step::Over;
    }
    goes(Plan {
        actions,
        ..Plan::waiting(updating(Reason::Updating, "ending the update"))
    })
}

/// Its member votes: the turn of an upgrade has ended, if the rest is well.
pub(super) fn end_of_turn(observed: &Observed) -> Option<TurnIsOver> {
    let cluster = observed
        .cluster
        .as_ref()
        .filter(|_| has_turn_to_upgrade(observed))?;
    let Lookup::Known(members) = &cluster.etcd else {
        return None;
    };
    let proof = observed.member_proof(members)?;
    (proof.state() == MemberState::Votes).then_some(TurnIsOver::Member(proof))
}

/// What of its control plane does not serve, if that is known.
fn unwell(observed: &Observed) -> Option<String> {
    let components = observed.cluster.as_ref()?.components.as_ref()?;
    let finding = components
        .findings(&observed.marker.machine)
        .find(|finding| finding.status != Status::True)?;
    Some(finding.message)
}
