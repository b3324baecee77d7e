//! What a control-plane Machine knows of its etcd, and of the other machines of the control plane.

use std::sync::Arc;

use kube::ResourceExt;

use super::super::Machines;
use crate::api::Cluster;
use crate::controllers::workloads::Workloads;
use crate::core::control_plane::Members;
use crate::core::control_plane::component::Components;
use crate::core::machine::{
    Contact, ControlPlaneMachine, Infrastructure, Lookup, Observed, Placement,
};
use crate::core::node::{JobKind, UnitState};

/// What was last read of the etcd of a Cluster.
pub(super) fn last(workloads: &Workloads, cluster: &Cluster) -> Lookup<Arc<Members>> {
    match workloads.known.get(&cluster.uid().unwrap_or_default()).etcd {
        Some((Ok(members), _)) => Lookup::Known(members),
        Some((Err(why), _)) => Lookup::Unknown(why),
        None => Lookup::NotYet(format!(
            "the etcd of Cluster {} has not been asked yet",
            cluster.name_any()
        )),
    }
}

/// What was last answered of the components on the server of a Machine.
pub(super) fn components(
    workloads: &Workloads,
    cluster: &Cluster,
    machine: &str,
) -> Option<Arc<Components>> {
    let known = workloads.known.get(&cluster.uid().unwrap_or_default());
    known.components.get(machine).cloned()
}

/// The other control-plane Machines of a Cluster for which kubeadm was started.
pub(super) fn others(
    controller: &Machines,
    cluster: &Cluster,
    uid: &str,
) -> Vec<ControlPlaneMachine> {
    let mut machines = controller.control_planes.machines(cluster);
    machines.retain(|machine| machine.uid().as_deref() != Some(uid));
    // the commands of the user after a join change no member
    let has_node = |machine: &crate::api::Machine| {
        let status = machine.status.as_ref();
        status.is_some_and(|status| status.node_ref.is_some())
    };
    let runs = |machine: &crate::api::Machine| {
        let follow = controller.follows.current(&machine.uid()?)?;
        let kind = follow.job.kind;
        let changes = JobKind::OF_MEMBER.contains(&kind);
        (changes && !(kind == JobKind::Join && has_node(machine))).then_some(kind)
    };
    let other = |machine: &Arc<crate::api::Machine>| ControlPlaneMachine {
        runs: runs(machine),
        leaves: machine.metadata.deletion_timestamp.is_some(),
        name: machine.name_any(),
        address: controller.providers.server_of(machine).map(|(_, at)| at),
        applied: controller.addresses.get(&machine.uid().unwrap_or_default()),
    };
    machines.iter().map(other).collect()
}

/// Remembers what its host shows of the job Address.
pub(super) fn note_address(controller: &Machines, observed: &mut Observed) {
    let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &observed.placement
    else {
        return;
    };
    let job = seen.job(&observed.marker.job(JobKind::Address));
    let applied = job.filter(|job| job.state == UnitState::Succeeded);
    observed.applied_address = applied.map(|job| job.identity.clone());
    let before = match &observed.applied_address {
        Some(identity) => controller
            .addresses
            .insert(observed.uid().to_owned(), identity.clone()),
        None => controller.addresses.remove(observed.uid()),
    };
    // a newcomer waits for the others to know of it
    if before != observed.applied_address
        && let Some(cluster) = controller
            .base
            .stores()
            .clusters
            .get(&observed.marker.namespace, &observed.marker.cluster)
    {
        for machine in controller.control_planes.machines(&cluster) {
            if machine.uid().as_deref() != Some(observed.uid()) {
                controller.base.wakers.machines.wake_object(&machine);
            }
        }
    }
}
