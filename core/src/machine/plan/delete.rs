//! Deletion: hooks → drain → volumes → hooks → virtual IP → etcd member → release the host → delete the Node → remove the finalizer.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::kind::PlaceKind;
use super::super::observed::{Infrastructure, Lookup, Observed, Placement, Stuck, VirtualMachine};
use super::drain::{self, silent_api, waiting_for_api};
use super::leaving::{self, Leaving};
use super::{Action, Plan, Release, address, hooks, hypervisor, known_node, release, update};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::proof::{Ended, Over, Proof, TurnIsOver};

/// How soon an API that does not answer is checked again; a timeout may have passed by then.
pub(super) const API_AGAIN: Duration = Duration::from_secs(10);
/// How soon it is checked again whether workers, or a profile, are left.
const WORKERS_AGAIN: Duration = Duration::from_secs(30);
/// How soon a gateway that did not end a virtual machine is asked again.
const RELEASE_AGAIN: Duration = Duration::from_secs(10);

/// The next step of a Machine that is being deleted.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if !observed.is_adopted() {
        return Plan::default();
    }
    if let Some(plan) = unclear(observed) {
        return plan;
    }
    // init was recorded on the CA Secret alone when the manager was stopped
    if let Some(plan) = release::unrecorded(observed) {
        return plan;
    }
    if let Some(finding) = must_wait(observed) {
        // a worker whose label was edited away wakes nobody when it is gone
        let stays = finding.reason() == Reason::LastControlPlane;
        let is_unread = finding.reason() == Reason::EtcdUnreachable;
        let mut plan = Plan {
            next: Next::After(WORKERS_AGAIN),
            ..Plan::waiting(finding)
        };
        // meanwhile it is as any other
        if let Placement::Held(held) = &observed.placement
            && !held.releasing
        {
            address::keep(observed, held, &mut plan, now);
            if stays || is_unread {
                update::keep(observed, held, &mut plan, now);
            }
        }
        let is_updated = |finding: &Finding| finding.condition == ConditionType::Updating;
        if stays && !plan.findings.iter().any(is_updated) {
            drain::undo(observed, &mut plan);
            // another control plane could not join, after which this one leaves
            let over = update::end_of_turn(observed).or_else(|| leaving::unused_turn(observed));
            plan.actions.extend(over.map(Action::ReturnTurn));
        } else if !stays {
            // who is in its way could not leave before it
            plan.actions
                .extend(leaving::unused_turn(observed).map(Action::ReturnTurn));
        }
        return plan;
    }
    match &observed.placement {
        Placement::Held(held) if held.releasing => {
            let plan = drain::ended(observed, release::plan(observed, held, now));
            leaving::first(observed, plan, true, now)
        }
        Placement::Held(held) => {
            let plan = hooks::hold(observed, || let_go(observed, held, now));
            leaving::first(observed, plan, false, now)
        }
        Placement::None(_) => {
            if let Some(host) = &observed.claiming {
                let message = format!(
                    "claimed Host {host}; releasing it as soon as the watch shows the claim"
                );
                return Plan::waiting(deleting(Reason::WaitingForHost, message));
            }
            let plan = hooks::hold(observed, || unheld(observed, now));
            leaving::first(observed, plan, !hooks::holds_release(observed), now)
        }
    }
}

/// Which Cluster it is of, or whether it has a Node, is not known yet, as after a restart of ours: so nothing is
/// done that needs this.
fn unclear(observed: &Observed) -> Option<Plan> {
    let finding = match (&observed.whose, &observed.node) {
        (Some(why), _) => deleting(Reason::ClusterInDoubt, why.clone()),
        (None, Lookup::NotYet(why)) => deleting(Reason::WaitingForApi, why.clone()),
        _ => return None,
    };
    Some(Plan {
        next: Next::After(API_AGAIN),
        ..Plan::waiting(finding)
    })
}

/// It has no place. That proves nothing: the place that it may have had must prove that it no longer runs, or the user
/// must confirm it.
fn unheld(observed: &Observed, now: Timestamp) -> Plan {
    if observed.virtual_machine.is_some() {
        return no_machine_left(observed, now);
    }
    let proof = if was_simulated(observed) {
        Proof::of_simulation(observed.uid(), false).ok_or_else(String::new)
    } else {
        super::unheld::proof(observed)
    };
    let why = match proof {
        Ok(proof) => return finish(observed, &proof, now),
        Err(why) => why,
    };
    if let Some(proof) = of_user(observed) {
        return finish(observed, &proof, now);
    }
    let kept = release::kept(observed);
    let message = format!(
        "nothing proves that this Machine no longer runs: {why}{kept}. {}",
        super::unheld::remedy(observed)
    );
    Plan {
        next: Next::After(super::unheld::ASK_AGAIN),
        ..Plan::waiting(deleting(Reason::NotReset, message))
    }
}

/// Whether nothing of it is anywhere but in the manager's memory. A spec that says so can be edited; its provider ID came
/// with the simulation, and before that nothing was begun.
fn was_simulated(observed: &Observed) -> bool {
    let is_begun = observed.is_begun() && PlaceKind::of_id(&observed.machine).is_none();
    observed.is_in_memory() && !is_begun && observed.claims.is_empty() && observed.chosen.is_none()
}

/// The user's confirmation, by annotation, that nothing of the Machine runs any more.
pub(super) fn of_user(observed: &Observed) -> Option<Proof> {
    Proof::of_user(observed.uid(), observed.user_says_gone()?)
}

pub(super) fn deleting(reason: Reason, message: impl Into<String>) -> Finding {
    Finding::yes(ConditionType::Deleting, reason, message)
}

/// The ClusterProfile of a Cluster is deleted before any of its Machines, so that no consumer uses it any more.
/// With their Cluster, control-plane Machines are deleted last; without it, only as far as their etcd can do without them.
fn must_wait(observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    if cluster.deleting && cluster.published {
        return Some(deleting(
            Reason::WaitingForClusterProfile,
            format!(
                "the ClusterProfile of Cluster {} is removed first",
                cluster.name
            ),
        ));
    }
    if !observed.acts_as_control_plane() {
        return None;
    }
    if cluster.deleting {
        return (cluster.workers_left > 0).then(|| {
            deleting(
                Reason::WaitingForWorkers,
                format!(
                    "{} worker Machines of Cluster {} are removed first",
                    cluster.workers_left, cluster.name
                ),
            )
        });
    }
    match leaving::of(observed) {
        Leaving::Waits(finding) => Some(finding),
        Leaving::Nothing | Leaving::Removed(_) | Leaving::Member(_) => None,
    }
}

/// Whether the whole cluster is deleted: then no pods need to be moved to other nodes.
pub(super) fn cluster_goes(observed: &Observed) -> bool {
    observed
        .cluster
        .as_ref()
        .is_none_or(|cluster| cluster.deleting)
}

fn let_go(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    if observed.virtual_machine.is_some()
        && let Some(proof) = given_up(observed, Some(held), now)
    {
        return give_up(observed, &proof);
    }
    let mut release = Plan::act(
        Action::Release(Release::Now),
        deleting(Reason::Releasing, format!("releasing {}", held.name)),
    );
    hypervisor::record(observed, &mut release);
    if observed.virtual_machine.is_none() && of_user(observed).is_some() {
        return drain::skipped(observed, release);
    }
    drain::first(observed, release, now)
}

/// What its gateway does not show may still be in the making, or have left its disks: the gateway is asked to end it
/// all the same, and answers once nothing of it is left.
fn no_machine_left(observed: &Observed, now: Timestamp) -> Plan {
    if let Some(proof) = given_up(observed, None, now) {
        return give_up(observed, &proof);
    }
    if let Some(why) = hypervisor::doubt(observed) {
        return match of_user(observed) {
            Some(proof) => give_up(observed, &proof),
            None => Plan {
                next: Next::After(RELEASE_AGAIN),
                ..Plan::waiting(deleting(Reason::NotReset, why))
            },
        };
    }
    let told = observed.virtual_machine.as_ref().map(|vm| &vm.told);
    let is_gone = told.is_some_and(|told| told.as_ref().is_ok_and(|told| told.is_gone));
    let answer = if is_gone { Ok(()) } else { Err(()) };
    let release = || {
        let message = "its gateway deletes what is left of the virtual machine";
        Plan::act(
            Action::Release(Release::Now),
            deleting(Reason::Finishing, message),
        )
    };
    let mut plan = match Proof::of_gateway(observed.uid(), &answer) {
        Some(proof) => finish(observed, &proof, now),
        None => release(),
    };
    if plan
        .actions
        .first()
        .is_some_and(|first| *first != Action::Release(Release::Now))
    {
        plan.actions.insert(0, Action::Release(Release::Now));
    }
    plan.next = plan.next.sooner(Next::After(RELEASE_AGAIN));
    plan
}

/// A virtual machine whose hypervisor is unreachable, or refuses, cannot be deleted: the time limit, or the annotation
/// `tatara.dev/host-is-gone`, authorises abandoning it.
fn given_up(observed: &Observed, held: Option<&Infrastructure>, now: Timestamp) -> Option<Proof> {
    let refused = |machine: &VirtualMachine| {
        let refused = machine.tried.refused.as_ref();
        refused.is_some_and(|finding| finding.condition == ConditionType::Deleting)
    };
    let since = match held.and_then(|held| held.stuck) {
        Some(Stuck::Silent(since)) => Some(since),
        _ if observed.virtual_machine.as_ref().is_some_and(refused) => deleted_at(observed),
        _ => None,
    };
    let since = since?;
    let end = release::end(observed, since, now);
    let has_passed = end.is_some_and(|end| end <= now);
    of_user(observed).or_else(|| Proof::of_time_limit(observed.uid(), has_passed))
}

/// Its virtual machine may still run, or start with its hypervisor: that is written down there first, so that it is ended.
fn give_up(observed: &Observed, proof: &Proof) -> Plan {
    let mut plan = gone(observed, proof);
    plan.actions.insert(0, Action::Release(Release::Later));
    plan
}

/// Nothing of it runs any more, by this proof: once its Node can be looked at, the Node and the Machine may go.
pub(super) fn finish(observed: &Observed, proof: &Proof, now: Timestamp) -> Plan {
    match silent_api(observed, now) {
        Some(why) => waiting_for_api(
            observed,
            &format!("nothing of this Machine runs any more; the Node cannot be deleted: {why}"),
            "",
        ),
        None => gone(observed, proof),
    }
}

/// The Node and the Machine may go.
pub(super) fn gone(observed: &Observed, proof: &Proof) -> Plan {
    let Some(over) = Over::from(proof) else {
        let message = format!(
            "{:?} does not prove that this Machine no longer runs",
            proof.evidence()
        );
        return Plan::waiting(deleting(Reason::NotReset, message));
    };
    let mut plan = Plan {
        findings: vec![deleting(Reason::Finishing, "nothing of it runs any more")],
        ..Plan::default()
    };
    // somebody else's control plane outlives its Cluster, and with it what we leave there
    let external = observed.cluster.as_ref().is_some_and(|c| c.external);
    if let (Some(node), true) = (known_node(observed), external || !cluster_goes(observed)) {
        plan.actions.push(Action::DeleteNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
            over: over.clone(),
        });
    }
    // A host that was not reset may have run, or may yet run, `kubeadm init`: the turn stays until it is.
    if let Some(ended) = Ended::from(proof).filter(|_| observed.has_turn()) {
        let turn = TurnIsOver::Proven(ended);
        plan.actions.push(Action::ReturnTurn(turn));
    }
    plan.actions.push(Action::RemoveFinalizer(over));
    plan
}

pub(super) fn deleted_at(observed: &Observed) -> Option<Timestamp> {
    let deleted = observed.machine.metadata.deletion_timestamp.as_ref();
    deleted.map(|time| time.0)
}
