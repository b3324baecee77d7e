//! The step that ends a deadlock of a rollout.
//!
//! A rollout can stop although something could be deleted without loss: old Machines that are not
//! available hold hosts, or the room that `maxSurge` leaves, while the new ones wait for these. One
//! such Machine is deleted at a time.

use super::roll::{Roll, Target, Targets};

/// Gives up one Machine, or what was lost, when no other step was found.
pub fn step(roll: &Roll, targets: &mut Targets) {
    let is_moving = targets.all().any(|t| t.counts.wanted != t.counts.current);
    let is_held = targets.changes() || targets.old.iter().all(|target| target.to == 0);
    if is_held || (!roll.stalled && (is_moving || roll.in_deletion() > 0)) {
        return;
    }
    if give_up_missing(roll, targets) {
        return;
    }
    let new = &targets.current.counts;
    let new_is_well = new.available == new.current && new.current == new.wanted;
    if !new_is_well && !roll.stalled {
        return;
    }
    let unavailable = |target: &Target| {
        let uncertain = if roll.stalled { target.unsettled() } else { 0 };
        target.unhealthy() + uncertain
    };
    let nothing_available = targets.available() == 0;
    let Some(target) = targets
        .old
        .iter_mut()
        .find(|target| unavailable(target) > 0)
    else {
        return;
    };
    if nothing_available {
        let text = "no Machine is available, perhaps because the API of their cluster is away, so none is deleted: see condition ControlPlaneHealthy of the Cluster; if that is True, the conditions of the Machines";
        targets.waiting.push(text.into());
        return;
    }
    let to = target.staying() - 1;
    target.set(
        to,
        format!(
            "the rollout cannot continue otherwise, and {} of its Machines are not available",
            unavailable(target)
        ),
    );
}

/// What an old set could not make again in time is not waited for any longer. Before the deadline
/// something that is missing is on its way, and this is not reached.
fn give_up_missing(roll: &Roll, targets: &mut Targets) -> bool {
    let limit = roll.observed.progress_deadline_seconds;
    for target in &mut targets.old {
        if target.missing() > 0 {
            let text = format!("lost Machines could not be created again within {limit} s");
            target.set(target.counts.current, text);
        }
    }
    targets.changes()
}
