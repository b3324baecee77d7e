//! The next step of a RollingUpdate.
//!
//! Two bounds hold at every step, whatever the sets have not followed yet: there are never more
//! Machines than `maxTotal`, those in deletion included, and no available Machine is given up below
//! `minAvailable`. Within them, in this order:
//!
//! 1. When the template changes, Machines of the old ones that have no Node yet are given up, as far
//!    as there are enough without them should the new ones never work.
//! 2. The current set grows, by a scale-up too: an old set grows only where the new template has proven
//!    broken.
//! 3. Unhealthy Machines of old sets go.
//! 4. Old sets shrink, the oldest first. A Machine that disappeared from an old set is made again by
//!    that set before this goes on: a roll is no reason to have fewer Machines than were asked for.

use super::roll::{Roll, Target, Targets};
use super::{breaker, scale};
use crate::words::counted;

/// The next step of a RollingUpdate.
pub fn targets(roll: &Roll) -> Targets {
    let mut targets = Targets::unchanged(roll);
    if roll.superseding {
        give_up_starting(roll, &mut targets);
    }
    let scaled = roll.is_broken() && scale::grow_old(roll, &mut targets);
    let waits = unsettled(roll, &targets).filter(|_| !roll.stalled);
    let lost = targets.old.iter().any(|target| target.missing() > 0);
    let may_grow = !lost || roll.stalled || scale::was_scaled(roll);
    grow_current(roll, &mut targets, may_grow);
    remove_unhealthy(roll, &mut targets);
    if let Some(reason) = waits.or_else(|| lost_of_current(roll)) {
        targets.waiting.push(reason);
    } else if !scaled {
        shrink_old(roll, &mut targets);
    }
    breaker::step(roll, &mut targets);
    targets
}

/// Nobody wants Machines of a template that was replaced before they had a Node. That is the set
/// that was the current one until this pass: what older sets make replaces a Machine that they
/// lost. What it makes itself may be that as well, so as many as must be available are kept.
fn give_up_starting(roll: &Roll, targets: &mut Targets) {
    let old: i32 = targets.old.iter().map(|target| target.to).sum();
    let spare = (old + targets.current.available() - roll.min_available()).max(0);
    let replaced = (0..roll.old.len()).max_by_key(|at| roll.old[*at].revision());
    let Some(target) = replaced.and_then(|at| targets.old.get_mut(at)) else {
        return;
    };
    let have_node = (target.counts.current - target.counts.starting).max(0);
    let text = "its template was replaced before these Machines had a Node";
    let step = (target.to - have_node).clamp(0, spare);
    target.set(target.to - step, text);
}

/// What an old set must bring back first.
fn unsettled(roll: &Roll, targets: &Targets) -> Option<String> {
    let mut sets = roll.old.iter().zip(&targets.old);
    sets.find_map(|(set, target)| {
        let (missing, unsettled) = (target.missing(), target.unsettled());
        let what = match (missing, unsettled) {
            (0, 0) => return None,
            (0, count) => format!(
                "{} of old MachineSet {} to become available",
                counted(count, "Machine"),
                set.name
            ),
            (count, _) => format!(
                "old MachineSet {} to create {} again",
                set.name,
                counted(count, "lost Machine")
            ),
        };
        Some(format!("waiting for {what}"))
    })
}

/// A lost Machine of the current set is brought back first, too. So is one that it was only just
/// asked for: as long as it may make none, old ones are not given up for it.
pub(super) fn lost_of_current(roll: &Roll) -> Option<String> {
    let set = roll.current.filter(|_| !roll.stalled)?;
    let missing = set.counts.wanted - set.counts.current;
    (missing > 0).then(|| {
        format!(
            "waiting for MachineSet {} to create {}",
            set.name,
            counted(missing, "Machine")
        )
    })
}

pub(super) fn grow_current(roll: &Roll, targets: &mut Targets, may_grow: bool) {
    let replicas = roll.replicas();
    let wanted = targets.current.to;
    if wanted > replicas {
        targets.current.set(
            replicas,
            "scale down to spec.replicas of the MachineDeployment",
        );
        return;
    }
    if wanted == replicas {
        return;
    }
    let total = targets.most() + roll.in_deletion();
    let room = (roll.max_total() - total).max(0);
    let deleting = match roll.in_deletion() {
        0 => String::new(),
        count => format!(" ({count} in deletion)"),
    };
    let (sign, step) = if room == 0 {
        ("≥", 0)
    } else {
        ("<", room.min(replicas - wanted))
    };
    let text = format!(
        "{}{deleting} {sign} {replicas} spec.replicas + {} maxSurge",
        counted(total, "current Machine"),
        roll.limits.surge
    );
    match step {
        0 => targets.waiting.push(text),
        _ if may_grow => targets.current.set(wanted + step, text),
        _ => {}
    }
}

/// How many Machines old sets may give up, counting an old one that is not available like one that
/// is: when nothing seems available, as when a cluster cannot be reached, it need not be so.
fn budget(roll: &Roll, targets: &Targets) -> i32 {
    let staying: i32 = targets.old.iter().map(Target::staying).sum();
    (staying + targets.current.available() - roll.min_available()).max(0)
}

pub(super) fn remove_unhealthy(roll: &Roll, targets: &mut Targets) {
    let mut budget = budget(roll, targets);
    for target in &mut targets.old {
        let unhealthy = target.unhealthy();
        if target.missing() > 0 || unhealthy == 0 || budget == 0 {
            continue;
        }
        let step = unhealthy.min(budget);
        budget -= step;
        let to = target.to.min(target.counts.current) - step;
        target.set(to, format!("unhealthy Machines go first: {unhealthy}"));
    }
}

/// What old sets can give up now, oldest first: the set's place among them, how many, and why.
/// Those that are not available go first.
pub(super) fn spare(roll: &Roll, targets: &Targets) -> Vec<(usize, i32, String)> {
    let minimum = roll.min_available();
    let mut budget = budget(roll, targets);
    let mut available = targets.available();
    let mut steps = Vec::new();
    for (at, target) in targets.old.iter().enumerate() {
        let have = target.staying();
        let free = have - target.available();
        let spare = (available - minimum).max(0);
        let step = have.min(budget).min(free + spare);
        if step == 0 {
            continue;
        }
        let text = if step <= free {
            format!("{free} of its Machines are not available")
        } else {
            format!(
                "{} > {minimum} minimum available replicas",
                counted(available, "available replica")
            )
        };
        budget -= step;
        available -= (step - free).max(0);
        steps.push((at, step, text));
    }
    steps
}

pub(super) fn shrink_old(roll: &Roll, targets: &mut Targets) {
    for (at, step, why) in spare(roll, targets) {
        let target = &mut targets.old[at];
        target.set(target.staying() - step, why);
    }
    if !targets.changes() && targets.old.iter().any(|target| target.staying() > 0) {
        let (available, minimum) = (targets.available(), roll.min_available());
        targets.waiting.push(format!(
            "{}, {minimum} must stay available",
            counted(available, "available replica")
        ));
    }
}
