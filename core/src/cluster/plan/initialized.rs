//! `ControlPlaneInitialized`: whether a control plane was created, and what that waits for.

use kube::ResourceExt;

use super::Observed;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::LABEL_CLUSTER;
use crate::machine::plan::doubt::{self, ClusterName};
use crate::trouble;

/// The condition, and beside it the worst of its control planes while there is none.
pub(super) fn found(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::ControlPlaneInitialized;
    if observed.external {
        return Finding::yes(
            NAME,
            Reason::ExternalControlPlane,
            "the kubeconfig Secret was supplied; the control plane is not Tatara's",
        );
    }
    // also of one that runs: two records of init name two hosts, and one of these may be reset or
    // joined by mistake
    if let Some(doubt) = &observed.doubt {
        return doubt.finding(NAME, ClusterName::of_cluster(&observed.cluster));
    }
    if observed.initialized_by.is_some() {
        return Finding::yes(NAME, Reason::Initialized, "");
    }
    // a Node, or a turn that comes after init, shows that there is one
    let has_one = observed.machines.iter().any(|m| m.control_plane && m.ready);
    match &observed.turn {
        Some(turn) if turn.is_later() => lost_record(observed),
        None if has_one => lost_record(observed),
        Some(turn) if observed.is_holder_gone => {
            let cluster = ClusterName::of_cluster(&observed.cluster);
            let message = format!(
                "Machine {} (uid {}) had the turn to run kubeadm init, but does not exist; kubeadm init may still run on its host. To return the turn, {}",
                turn.name,
                turn.machine,
                doubt::of_nobody(cluster, &turn.machine)
            );
            Finding::no(NAME, Reason::TurnHolderGone, message)
        }
        Some(turn) => Finding::no(
            NAME,
            Reason::Initializing,
            trouble::beside(
                format!("Machine {} has the turn to run kubeadm init", turn.name),
                worst_control_plane(observed),
            ),
        ),
        None if observed
            .machines
            .iter()
            .any(|machine| machine.control_plane) =>
        {
            Finding::no(
                NAME,
                Reason::WaitingForMachine,
                trouble::beside(
                    "a control-plane Machine is being prepared",
                    worst_control_plane(observed),
                ),
            )
        }
        None => no_machine(observed),
    }
}

/// None of its Machines is a control plane.
fn no_machine(observed: &Observed) -> Finding {
    const NAME: ConditionType = ConditionType::ControlPlaneInitialized;
    let label = format!("{LABEL_CLUSTER}: {}", observed.cluster.name_any());
    let sets = "sets spec.versions.controlPlane";
    if observed.new_for.is_some() {
        let message = format!("waiting for a Machine with the label {label} that {sets}");
        return Finding::no(NAME, Reason::WaitingForMachine, message);
    }
    let message = format!("no Machine of the Cluster {sets}; create one with the label {label}");
    Finding::no(NAME, Reason::NoControlPlaneMachine, message)
}

fn lost_record(observed: &Observed) -> Finding {
    doubt::without_record(ClusterName::of_cluster(&observed.cluster))
        .finding(ConditionType::ControlPlaneInitialized)
}

/// The most urgent trouble of the control-plane Machines.
fn worst_control_plane(observed: &Observed) -> Option<String> {
    let of = observed
        .machines
        .iter()
        .filter(|machine| machine.control_plane);
    trouble::worst(of.filter_map(|machine| machine.trouble.as_ref()))
}
