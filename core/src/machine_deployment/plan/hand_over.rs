//! A hand-over: a Machine of one MachineSet becomes one of another of the same MachineDeployment.
//! It keeps name, UID and host. This file decides who hands over to whom; what a set writes on the
//! Machine is in `machine_set/plan/hand_over.rs`. History and undo of in-place rollouts rest on it:
//! a set stands for a revision, whether its Machines were created for it or came to it.
//!
//! ```text
//!     MachineDeployment                    old MachineSet, 3 of 3         current MachineSet, 0 of 0
//!  1  asks the current set for one more,                                  replicas: 1, disable-create:
//!     which creates none                                                  it waits, 0 of 1
//!  2  asks the old set for one less,       replicas: 2, moves-to: UID
//!     and names the destination            of the current set
//!  3                                       3 > 2: moves one instead  ──▶  labels and owner are its own
//!                                          of deleting it, in one patch   now, and the wanted versions
//!  4                                       counts 2 of 2                  counts 1 of 1
//!  5  nothing is under way any more; once that Machine is available again, the next one moves
//! ```
//!
//! The order of 1 and 2 makes an end of the manager between them harmless: what an old set has too
//! many without a destination is deleted, and so is what comes to a set that did not ask for it. A
//! set without a destination takes its Machines back.

use super::roll::{Roll, Target, Targets};
use crate::api::machine_deployment::StrategyType;
use crate::api::names::ANNOTATION_MOVES_TO;
use crate::machine_deployment::ObservedSet;
use crate::words::counted;

/// Why nothing else is decided: Machines are on their way from a set to another. One whose
/// destination does not exist takes them back.
pub fn under_way(roll: &Roll, targets: &mut Targets) -> Option<String> {
    let exists = |uid: &String| roll.sets().any(|set| set.uid == *uid);
    let mut count = 0;
    for (set, target) in roll.old.iter().zip(&mut targets.old) {
        let Some(to) = set.annotations.get(ANNOTATION_MOVES_TO) else {
            continue;
        };
        if target.surplus() > 0 && !exists(to) {
            let text = "the MachineSet to which its Machines were to move does not exist";
            target.set(target.counts.current, text);
        }
        count += target.surplus();
    }
    (count > 0).then(|| {
        format!(
            "{} to move to another MachineSet",
            counted(count, "Machine")
        )
    })
}

/// Whether the current set is written before the others: what comes to it before it is asked for
/// would be deleted.
pub fn current_first(roll: &Roll, targets: &Targets) -> bool {
    let is_in_place = roll.observed.strategy.type_ == StrategyType::InPlace;
    is_in_place && (targets.moves || targets.old.iter().any(Target::gives_up))
}

/// Whether Machines move, or are about to, or may: meanwhile the current set creates none, for it
/// was asked for what moves to it.
pub fn moves(targets: &Targets) -> bool {
    let may_move = |target: &Target| target.surplus() > 0 || target.gives_up();
    targets.moves || targets.old.iter().any(may_move)
}

/// What a set has beyond its number moves: because of this step, or of an earlier one that has not
/// ended. What a set gives up as lost may be on its way to it, and be seen later: that moves as
/// well, for a set without a destination would delete it.
pub fn destination(
    roll: &Roll,
    targets: &Targets,
    (set, target): (&ObservedSet, &Target),
    is_current: bool,
) -> Option<String> {
    if is_current || roll.observed.strategy.type_ != StrategyType::InPlace {
        return None;
    }
    if (targets.moves && target.to < target.counts.current) || target.gives_up() {
        return roll.current.map(|current| current.uid.clone());
    }
    let before = set.annotations.get(ANNOTATION_MOVES_TO);
    before.filter(|_| !target.changes()).cloned()
}

/// What was to move, and moves no more because the deployment was edited, stays: a set without a
/// destination would delete it.
pub fn keep_surplus(roll: &Roll, targets: &mut Targets) {
    let before = targets.clone();
    let keep = |set: &ObservedSet, target: &mut Target, is_current| {
        let was_moving = set.annotations.contains_key(ANNOTATION_MOVES_TO) && target.surplus() > 0;
        if was_moving && destination(roll, &before, (set, target), is_current).is_none() {
            let to = (target.to + target.surplus()).min(target.counts.current);
            target.set(to.max(target.to), "its Machines do not move any more");
        }
    };
    for (set, target) in roll.old.iter().zip(&mut targets.old) {
        keep(set, target, false);
    }
    if let Some(set) = roll.current {
        keep(set, &mut targets.current, true);
    }
}

/// Whether Machines are on their way to this set.
pub fn receives(roll: &Roll, set: &ObservedSet) -> bool {
    roll.sets().any(|from| {
        let to = from.annotations.get(ANNOTATION_MOVES_TO);
        to == Some(&set.uid) && from.counts.current > from.counts.wanted
    })
}
