//! What a control-plane Machine knows of its etcd, and of the other machines of the control plane.

use std::sync::Arc;

use kube::ResourceExt;

use super::super::Machines;
use crate::controllers::unreadable;
use crate::controllers::workloads::Workloads;
use tatara_core::api::Cluster;
use tatara_core::control_plane::Members;
use tatara_core::control_plane::component::Components;
use tatara_core::machine::{
    Contact, ControlPlaneMachine, Infrastructure, LastLook, Lookup, Observed, Placement, is_begun,
};
use tatara_core::node::JobKind;

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

/// The control-plane Machines of a Cluster for which kubeadm was started: as they record it, or as
/// their host shows, of which a management cluster that was restored from a backup may know
/// nothing.
fn with_kubeadm(controller: &Machines, cluster: &Cluster) -> Vec<Arc<tatara_core::api::Machine>> {
    let shows = |machine: &tatara_core::api::Machine| {
        let look = controller.looks.get(&machine.uid().unwrap_or_default());
        look.unwrap_or_default().job().is_some()
    };
    let mut machines = controller.control_planes.all(cluster);
    machines.retain(|machine| is_begun(machine) || shows(machine));
    machines
}

/// The other control-plane Machines of a Cluster for which kubeadm was started.
pub(super) fn others(
    controller: &Machines,
    cluster: &Cluster,
    uid: &str,
) -> Vec<ControlPlaneMachine> {
    let mut machines = with_kubeadm(controller, cluster);
    machines.retain(|machine| machine.uid().as_deref() != Some(uid));
    let other = |machine: &Arc<tatara_core::api::Machine>| ControlPlaneMachine {
        runs: runs(controller, machine),
        look: look(controller, machine),
        leaves: machine.metadata.deletion_timestamp.is_some(),
        name: machine.name_any(),
        address: controller.providers.server_of(machine).map(|(_, at)| at),
        applied: controller.addresses.get(&machine.uid().unwrap_or_default()),
    };
    machines.iter().map(other).collect()
}

/// The job that changes the member of a Machine and runs on its host, as far as this process knows.
pub fn runs(controller: &Machines, machine: &tatara_core::api::Machine) -> Option<JobKind> {
    let uid = machine.uid()?;
    // the commands of the user after a join change no member
    let status = machine.status.as_ref();
    let has_node = status.is_some_and(|status| status.node_ref.is_some());
    let follow = controller.follows.current(&uid);
    let followed = follow.map(|follow| follow.job.kind);
    let changes =
        |kind: &JobKind| JobKind::OF_MEMBER.contains(kind) && !(*kind == JobKind::Join && has_node);
    let seen = || controller.looks.get(&uid).unwrap_or_default().job();
    followed.filter(changes).or_else(seen)
}

/// What the host of a Machine showed when this process asked it last. One that is held is not
/// asked.
pub fn look(controller: &Machines, machine: &tatara_core::api::Machine) -> LastLook {
    let uid = machine.uid().unwrap_or_default();
    if unreadable::is_held(controller.base.stores(), machine) {
        LastLook::Idle
    } else {
        controller.looks.get(&uid).unwrap_or_default()
    }
}

/// Remembers what the host of a control plane shows of jobs that change a member.
pub(super) fn note_look(controller: &Machines, observed: &mut Observed) {
    let before = observed.last_look;
    observed.learn_look();
    if !observed.acts_as_control_plane() || observed.last_look == before {
        return;
    }
    let (uid, look) = (observed.uid().to_owned(), observed.last_look);
    controller.looks.insert(uid, look);
    wake_others(controller, observed);
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    controller.base.wakers.planners.wake(namespace, name);
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
    let applied = job.filter(|job| job.has_succeeded());
    observed.applied_address = applied.map(|job| job.identity.clone());
    let before = match &observed.applied_address {
        Some(identity) => controller
            .addresses
            .insert(observed.uid().to_owned(), identity.clone()),
        None => controller.addresses.remove(observed.uid()),
    };
    // a newcomer waits for the others to know of it
    if before != observed.applied_address {
        wake_others(controller, observed);
    }
}

/// Wakes the other control planes of its Cluster.
fn wake_others(controller: &Machines, observed: &Observed) {
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let Some(cluster) = controller.base.stores().clusters.get(namespace, name) else {
        return;
    };
    for machine in controller.control_planes.machines(&cluster) {
        if machine.uid().as_deref() != Some(observed.uid()) {
            controller.base.wakers.machines.wake_object(&machine);
        }
    }
}
