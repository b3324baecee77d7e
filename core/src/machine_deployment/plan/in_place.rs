//! The next step of an in-place rollout: old sets hand Machines over to the current one
//! (`hand_over.rs`), as many at a time as may be unavailable. A Machine that moved is not available
//! before it runs its new versions.
//!
//! A Machine that an old set lost is made up from the current template; a scale-down takes marked
//! Machines, then from old sets.

use super::roll::{Roll, Target, Targets};
use super::{hand_over, on_delete, rolling_update};
use crate::Why;
use crate::api::conditions::Reason;
use crate::machine_deployment::ObservedSet;
use crate::words::counted;

const SCALE_DOWN: &str = "scale down to spec.replicas of the MachineDeployment";

/// The next step of an in-place rollout.
pub fn targets(roll: &Roll) -> Targets {
    let mut targets = Targets::unchanged(roll);
    let replicas = roll.replicas();
    let Some(current) = roll.current else {
        // without Machines at first: old sets name it when theirs move
        let old: i32 = targets.old.iter().map(|target| target.to).sum();
        if old < replicas {
            grow(roll, &mut targets, replicas - old);
        }
        return targets;
    };
    // what has moved to it is here before it has counted that, and what it counted may not be
    // available any more
    let counts = &mut targets.current.counts;
    counts.current = counts.current.max(current.owned.unwrap_or_default());
    counts.available = counts
        .available
        .min(current.owned_ready.unwrap_or(i32::MAX));
    let waits = behind(roll, current).or_else(|| hand_over::under_way(roll, &mut targets));
    if let Some(reason) = waits {
        targets.waiting.push(reason);
        return targets;
    }
    let lost = "lost Machines are made up from the current template";
    let mut given_up = 0;
    for target in &mut targets.old {
        given_up += target.to - target.staying();
        target.set(target.staying(), lost);
    }
    ask_for_lost(roll, &mut targets, given_up);
    take_back(roll, &mut targets);
    let sum: i32 = targets.all().map(|target| target.to).sum();
    if targets.current.changes() {
        return targets;
    }
    if sum > replicas {
        if targets.current.to > replicas {
            targets.current.set(replicas, SCALE_DOWN);
        }
        on_delete::scale_down(&mut targets, replicas);
        return targets;
    }
    if sum < replicas {
        grow(roll, &mut targets, replicas - sum);
    }
    let asked_for = targets.current.missing();
    if targets.changes() {
        // a step is the next one
    } else if let Some(refused) = refused(roll, current) {
        targets.refused = Some(Why::new(Reason::NeedsReplacement, refused));
    } else if asked_for > 0 {
        targets.waiting.push(format!(
            "waiting for MachineSet {} to create {}",
            current.name,
            counted(asked_for, "Machine")
        ));
    } else {
        step(roll, &mut targets);
    }
    targets
}

/// Sets whose Machines are others than they have counted: what moved away from one of them would be
/// taken for one that stays, and for one that is available.
fn behind(roll: &Roll, current: &ObservedSet) -> Option<String> {
    let has_arrived = |set: &ObservedSet| {
        set.uid == current.uid && set.owned.is_some_and(|owned| owned > set.counts.current)
    };
    let set = roll
        .sets()
        .find(|set| set.is_behind() && !has_arrived(set))?;
    Some(format!(
        "waiting for MachineSet {} to count its Machines",
        set.name
    ))
}

/// The current set is asked at once for what old sets lost, and creates it when they have answered:
/// what one of these made meanwhile, by what it was asked for before, moves here, and would be one
/// too many.
fn ask_for_lost(roll: &Roll, targets: &mut Targets, given_up: i32) {
    let sum = |count: fn(&Target) -> i32| targets.all().map(count).sum::<i32>();
    // what is in deletion is made up when its host is back
    let there = sum(|target| target.to.max(target.counts.current)) + roll.in_deletion();
    let room = (roll.replicas() - sum(|target| target.to)).min(roll.max_total() - there);
    let step = given_up.min(room);
    if step > 0 {
        let text = format!("{} of old MachineSets", counted(step, "lost Machine"));
        targets.current.set(targets.current.to + step, text);
    }
}

/// More Machines are asked for than there shall be: after a scale-down, or since the manager ended
/// before an old set gave up what was to move.
pub fn take_back(roll: &Roll, targets: &mut Targets) {
    let sum: i32 = targets.all().map(|target| target.to).sum();
    let step = targets.current.missing().min(sum - roll.replicas());
    if step > 0 {
        let text = "more Machines than spec.replicas of the MachineDeployment are asked for";
        targets.current.set(targets.current.to - step, text);
    }
}

/// What is missing is created as hosts come back: Machines in deletion count.
fn grow(roll: &Roll, targets: &mut Targets, missing: i32) {
    let total = targets.most() + roll.in_deletion();
    let room = (roll.max_total() - total).max(0);
    let replicas = roll.replicas();
    match room.min(missing) {
        0 => targets.waiting.push(format!(
            "{}, those in deletion included, ≥ {replicas} spec.replicas",
            counted(total, "Machine")
        )),
        step => {
            let text = format!("{} < {replicas} spec.replicas", counted(total, "Machine"));
            targets.current.set(targets.current.to + step, text);
        }
    }
}

/// What differs cannot be changed on a Machine that runs.
fn refused(roll: &Roll, current: &ObservedSet) -> Option<String> {
    let wanted = roll.wanted.as_ref()?;
    let mut sets = roll.old.iter().filter(|set| set.counts.current > 0);
    let (set, differs) = sets.find_map(|set| {
        let differs = super::revision::revision_of(set).needs_replacement(wanted);
        (!differs.is_empty()).then_some((set, differs))
    })?;
    Some(format!(
        "from MachineSet {} to {}, {} changes, and strategy InPlace changes versions and node.software alone. Set spec.strategy.type to RollingUpdate, which replaces the Machines, or set the template back",
        set.name,
        current.name,
        differs.join(", ")
    ))
}

/// As many Machines move as may be unavailable, those first that are so already.
fn step(roll: &Roll, targets: &mut Targets) {
    let minimum = roll.min_available();
    let mut moved = 0;
    for (at, step, why) in rolling_update::spare(roll, targets) {
        moved += step;
        let target = &mut targets.old[at];
        let to = target.staying() - step;
        target.set(to, format!("{step} to move to the current set: {why}"));
    }
    if moved > 0 {
        targets.moves = true;
        let to = targets.current.to + moved;
        targets
            .current
            .set(to, format!("{} to move to it", counted(moved, "Machine")));
    } else if targets.old.iter().any(|target| target.staying() > 0) {
        let available = targets.available();
        let uncounted = roll.current.filter(|set| set.is_behind());
        let uncounted = uncounted
            .map(|set| format!("; MachineSet {} has not counted what moved to it", set.name));
        targets.waiting.push(format!(
            "{}, {minimum} must stay available{}",
            counted(available, "available replica"),
            uncounted.unwrap_or_default()
        ));
    }
}
