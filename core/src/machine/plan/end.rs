//! The end of a Machine, by a proof that nothing of it runs any more: its Node, its turn, and its
//! finalizer.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Infrastructure, Observed, Stuck, VirtualMachine};
use super::deletion::{cluster_goes, deleted_at, deleting, given_up_at, of_user};
use super::drain::{silent_api, waiting_for_api};
use super::{Action, Plan, Release};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::proof::{Ended, Over, Proof, TurnIsOver};

/// A virtual machine whose hypervisor is unreachable, or refuses, cannot be deleted: the time
/// limit, or the annotation `tatara.dev/host-is-gone`, authorises abandoning it.
pub(super) fn given_up(
    observed: &Observed,
    held: Option<&Infrastructure>,
    now: Timestamp,
) -> Option<Proof> {
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
    let end = given_up_at(observed, since, now);
    let has_passed = end.is_some_and(|end| end <= now);
    of_user(observed).or_else(|| Proof::of_time_limit(observed.uid(), has_passed))
}

/// Its virtual machine may still run, or start with its hypervisor: that is written down there
/// first, so that it is ended.
pub(super) fn give_up(observed: &Observed, proof: &Proof) -> Plan {
    let mut plan = gone(observed, proof);
    plan.actions.insert(0, Action::Release(Release::Later));
    plan
}

/// Nothing of it runs any more, by this proof: once its Node can be looked at, the Node and the
/// Machine may go.
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
    if let (Some(node), true) = (observed.known_node(), external || !cluster_goes(observed)) {
        plan.actions.push(Action::DeleteNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
            over: over.clone(),
        });
    }
    // A host that was not reset may have run, or may yet run, `kubeadm init`: the turn stays until
    // it is.
    if let Some(ended) = Ended::from(proof).filter(|_| observed.has_turn()) {
        let turn = TurnIsOver::Proven(ended);
        plan.actions.push(Action::ReturnTurn(turn));
    }
    plan.actions.push(Action::RemoveFinalizer(over));
    plan
}

/// Node and Machine go, while the host is not reset.
pub(super) fn unreset(
    observed: &Observed,
    proof: &Proof,
    state: &str,
    why: Finding,
    now: Timestamp,
) -> Plan {
    if let Some(silent) = silent_api(observed, now) {
        return waiting_for_api(
            observed,
            &format!("{state}, and the Node cannot be deleted: {silent}"),
            "",
        );
    }
    Plan {
        findings: vec![why],
        ..gone(observed, proof)
    }
}
