//! A reset that a manager began which no longer leads, or which had just started and did not know of the join.

use tatara_core::node::{
    DECIDED_STEP, Event, Marker, Unit, UnitState, start_and_follow, start_decided,
};

use crate::host::cluster::Cluster;
use crate::host::faults::{failure, until_step};
use crate::host::fleet::{EPOCH, now};

/// How a worker joins.
pub type Join = fn(&Cluster<'_>, &Marker, &Unit);

/// Nothing happens meanwhile.
pub fn no_reset(cluster: &Cluster<'_>, worker: &Marker, join: &Unit) {
    cluster.succeed("w", worker, join);
}

/// The reset is decided on before the join begins, and waits on the host until it has ended.
pub fn a_reset_waits_and_undoes_nothing(cluster: &Cluster<'_>, worker: &Marker, join: &Unit) {
    let fleet = cluster.fleet;
    let seen = fleet.observe("w");
    let reset = start_decided(worker, &cluster.reset(), &seen, EPOCH, now()).unwrap();
    let mut joins = fleet.attach("w", &start_and_follow(worker, join, EPOCH, now()).unwrap());
    until_step(&mut joins, "join");
    let waits = fleet.attach("w", &reset);
    let joined = joins.rest();
    assert!(
        matches!(joined.last(), Some(Event::Ended(status)) if status.state == UnitState::Succeeded),
        "{joined:?}"
    );
    let refused = waits.rest();
    let failed = failure(&refused);
    assert_eq!(failed.at.step, DECIDED_STEP);
    let message = failed.message();
    assert!(
        message.contains("kubeadm ran on w after its reset was decided on"),
        "{message}"
    );
    let observed = fleet.observe("w");
    assert!(observed.kubelet_active);
    assert!(observed.owner.of(worker).unwrap().joined);
}
