//! The next step under OnDelete: a Machine is replaced when a user deletes it.
//!
//! Old sets make no Machines (`sets` marks them), so what a user deleted stays missing there until
//! the set is shrunk to what is left; then the current set grows. A deleted Machine is replaced at
//! once, not when its deletion has ended: a deletion that hangs must not delay its replacement.

use super::roll::{Roll, Target, Targets};
use crate::api::names::ANNOTATION_DELETE_MACHINE;
use crate::words::counted;

const ALIGN: &str = "scale down to align to existing Machines";
const SCALE_DOWN: &str = "scale down to spec.replicas of the MachineDeployment";

/// The next step under OnDelete.
pub fn targets(roll: &Roll) -> Targets {
    let mut targets = Targets::unchanged(roll);
    let replicas = roll.replicas();
    let total = targets.most();
    let wanted = targets.current.to;
    if wanted > replicas {
        targets.current.set(replicas, SCALE_DOWN);
    } else if wanted < replicas && total < replicas {
        let text = format!(
            "{} < {replicas} spec.replicas",
            counted(total, "current Machine")
        );
        targets.current.set(wanted + (replicas - total), text);
    }
    for target in &mut targets.old {
        target.set(target.staying(), ALIGN);
    }
    scale_down(&mut targets, replicas);
    let left: i32 = targets.old.iter().map(|target| target.to).sum();
    if left > 0 {
        targets.waiting.push(format!(
            "{left} old Machines are replaced when they are deleted"
        ));
    }
    targets
}

/// Takes what is too many: marked Machines, then from old sets first, but what is not available
/// before what is.
pub(super) fn scale_down(targets: &mut Targets, replicas: i32) {
    let sum: i32 = targets.all().map(|target| target.to).sum();
    let mut excess = take_marked(targets, (sum - replicas).max(0));
    let Targets { current, old, .. } = targets;
    for target in &mut *old {
        let unavailable = target.to - target.available();
        take(target, unavailable, &mut excess, SCALE_DOWN);
    }
    let unavailable = current.to - current.available();
    let available_old: i32 = old.iter().map(Target::available).sum();
    take(
        current,
        unavailable.min(available_old),
        &mut excess,
        SCALE_DOWN,
    );
    for target in old {
        take(target, target.to, &mut excess, SCALE_DOWN);
    }
}

/// Takes from the sets that have Machines which a user marked, as many as these: each set deletes
/// its own first. How much is left to take. It may be an available Machine in place of one that is
/// not: who marked it has made room for what it runs.
pub(super) fn take_marked(targets: &mut Targets, mut excess: i32) -> i32 {
    let text = format!("scale down; Machines marked {ANNOTATION_DELETE_MACHINE} go first");
    let Targets { current, old, .. } = targets;
    for target in old.iter_mut().chain([current]) {
        take(target, target.marked_left(), &mut excess, &text);
    }
    excess
}

fn take(target: &mut Target, at_most: i32, excess: &mut i32, why: &str) {
    let step = at_most.min(*excess);
    if step > 0 {
        *excess -= step;
        target.set(target.to - step, why);
    }
}
