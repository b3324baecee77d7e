//! What the planner of a control plane reads: caches alone.

use std::sync::Arc;

use kube::ResourceExt;

use crate::controllers::machine::{Machines, look, runs, turn};
use crate::controllers::ownership::ProviderObject;
use crate::controllers::{paused, unreadable};
use tatara_core::api::names::ANNOTATION_INITIALIZED;
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::Members;
use tatara_core::machine::is_begun;
use tatara_core::planner::{MemberView, Observed, Seat, Wants, has_orphan};

/// The turn, and the control-plane Machines of a Cluster, with the one that made it.
pub(super) fn observe(machines: &Machines, cluster: &Cluster) -> Observed {
    let mut all = machines.control_planes.all(cluster);
    let made = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let made = made.and_then(|by| machines.base.stores().machines.by_uid(by));
    let is_other = |made: &Arc<Machine>| all.iter().all(|one| one.uid() != made.uid());
    let made = made.filter(|made| is_other(made) && made.is_ours(machines.base.stores()));
    all.extend(made);
    let known = machines
        .workloads
        .known
        .get(&cluster.uid().unwrap_or_default());
    let members = known.etcd.and_then(|(read, _)| read.ok());
    let seat = |one: &Arc<Machine>| seat(machines, members.as_deref(), one);
    Observed {
        cluster: (cluster.namespace().unwrap_or_default(), cluster.name_any()),
        uid: cluster.uid().unwrap_or_default(),
        has_orphan: has_orphan(cluster),
        both: turn::known(&machines.workloads, cluster),
        seats: all.iter().map(seat).collect(),
    }
}

fn seat(machines: &Machines, members: Option<&Members>, machine: &Machine) -> Seat {
    let stores = machines.base.stores();
    let is_held =
        paused::paused_by(stores, machine).is_some() || unreadable::is_held(stores, machine);
    let address = machines.providers.server_of(machine).map(|(_, at)| at);
    let addresses: Vec<&str> = address.as_deref().into_iter().collect();
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    let names: Vec<&str> = node.into_iter().collect();
    Seat {
        uid: machine.uid().unwrap_or_default(),
        name: machine.name_any(),
        wants: Wants::of(machine, is_held),
        is_begun: is_begun(machine),
        runs: runs(machines, machine),
        look: look(machines, machine),
        member: MemberView::of(members, &addresses, &names),
    }
}
