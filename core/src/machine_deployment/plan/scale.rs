//! Scaling that is no roll: while rolling is paused, or the template cannot be used, or not yet,
//! and the share that old sets have in a scale-up after the new template has proven broken.
//!
//! Kubernetes' Deployments spread every scale-up in mid-roll over all sets. Here that would install
//! machines of the old template, which takes minutes, only to give them up. A scale-down in
//! mid-roll is a step of the roll, which takes from old sets, and never what must stay available.

use super::roll::{Roll, Target, Targets};
use super::{in_place, on_delete};
use crate::api::machine_deployment::StrategyType;

/// Whether `spec.replicas` changed since the sets were last written.
pub fn was_scaled(roll: &Roll) -> bool {
    let active = roll.sets().filter(|set| set.counts.wanted > 0);
    active
        .filter_map(crate::machine_deployment::ObservedSet::desired_replicas)
        .any(|desired| desired != roll.replicas())
}

/// Grows old sets by their share of a scale-up, by what is available in them: what does not work is
/// not multiplied. Whether any grew.
pub fn grow_old(roll: &Roll, targets: &mut Targets) -> bool {
    let mut room = roll.max_total() - targets.most() - roll.in_deletion();
    let mut grew = false;
    for (set, target) in roll.old.iter().zip(&mut targets.old) {
        let Some(before) = set.desired_replicas().filter(|before| *before > 0) else {
            continue;
        };
        let added = roll.replicas() - before;
        if added <= 0 || target.changes() {
            continue;
        }
        let share = i64::from(target.available()) * i64::from(added) / i64::from(before);
        let step = i32::try_from(share).unwrap_or(i32::MAX).min(room);
        if step > 0 {
            room -= step;
            grew = true;
            let text = format!(
                "its share of the scale-up from {before} to {}",
                roll.replicas()
            );
            target.set(target.to + step, text);
        }
    }
    grew
}

/// Scales without rolling: one set takes it all, several share it by their size, after the marked
/// Machines.
pub fn targets(roll: &Roll) -> Targets {
    let mut targets = Targets::unchanged(roll);
    targets
        .waiting
        .push(match (&roll.observed.provider_spec, roll.gate) {
            (Err(problem), _) => problem.message(),
            (Ok(_), Some(gate)) if !roll.observed.paused => {
                format!("nothing rolls yet: {}", gate.message)
            }
            (Ok(_), _) => "spec.paused is true: nothing rolls".into(),
        });
    if roll.observed.strategy.type_ == StrategyType::InPlace {
        in_place::take_back(roll, &mut targets);
        if targets.changes() {
            return targets;
        }
    }
    let goal = goal(roll, &targets);
    let nothing = targets.all().all(|target| target.to == 0);
    let sum: i32 = targets.all().map(|target| target.to).sum();
    on_delete::take_marked(&mut targets, sum - goal);
    let newest = (0..roll.old.len())
        .filter(|_| nothing && roll.current.is_none())
        .max_by_key(|at| roll.old[*at].revision());
    let old = targets.old.iter_mut().enumerate();
    let mut sharing: Vec<&mut Target> = old
        .filter(|(at, target)| target.to > 0 || newest == Some(*at))
        .map(|(_, target)| target)
        .collect();
    if roll.current.is_some() && (targets.current.to > 0 || nothing) {
        sharing.push(&mut targets.current);
    }
    share(&mut sharing, goal, roll);
    targets
}

/// How many Machines all sets together shall have: as many as are asked for, or what an interrupted
/// roll had beyond that, within its limits.
fn goal(roll: &Roll, targets: &Targets) -> i32 {
    let replicas = roll.replicas();
    let sum: i32 = targets.all().map(|target| target.to).sum();
    let active = targets.all().filter(|target| target.to > 0).count();
    let goal = if active < 2 || was_scaled(roll) {
        replicas
    } else {
        sum.clamp(replicas, roll.max_total())
    };
    let room = roll.max_total() - targets.most() - roll.in_deletion();
    goal.min(sum + room.max(0))
}

fn share(sharing: &mut [&mut Target], goal: i32, roll: &Roll) {
    let sizes: Vec<i32> = sharing.iter().map(|target| target.to).collect();
    let mut parts = proportional(&sizes, goal);
    let available: Vec<i32> = sharing
        .iter()
        .map(|target| target.counts.available)
        .collect();
    keep_available(&mut parts, &sizes, &available, roll.min_available());
    let text = format!(
        "scaled to {} spec.replicas without rolling",
        roll.replicas()
    );
    for (target, part) in sharing.iter_mut().zip(parts) {
        target.set(part, text.clone());
    }
}

/// Parts of a whole in the proportion of these sizes; what rounding leaves goes to the largest
/// remainders, and among equals to the later ones, which are of newer sets.
fn proportional(sizes: &[i32], goal: i32) -> Vec<i32> {
    let sum: i64 = sizes.iter().map(|size| i64::from(*size)).sum();
    let goal = i64::from(goal.max(0));
    if sum == 0 {
        let last = sizes.len().saturating_sub(1);
        let all = i32::try_from(goal).unwrap_or(i32::MAX);
        return (0..sizes.len())
            .map(|at| if at == last { all } else { 0 })
            .collect();
    }
    let exact: Vec<i64> = sizes.iter().map(|size| i64::from(*size) * goal).collect();
    let mut parts: Vec<i64> = exact.iter().map(|part| part / sum).collect();
    let left = goal - parts.iter().sum::<i64>();
    let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
    order.sort_by_key(|at| std::cmp::Reverse(exact[*at] % sum));
    for at in order
        .into_iter()
        .take(usize::try_from(left).unwrap_or_default())
    {
        parts[at] += 1;
    }
    parts
        .into_iter()
        .map(|part| i32::try_from(part).unwrap_or(i32::MAX))
        .collect()
}

/// Moves replicas to sets whose Machines are available from sets whose are not, until no more
/// available ones go than may.
fn keep_available(parts: &mut [i32], sizes: &[i32], available: &[i32], minimum: i32) {
    let all = 0..parts.len();
    let before: i32 = all.clone().map(|at| available[at].min(sizes[at])).sum();
    let mut kept: i32 = all.clone().map(|at| available[at].min(parts[at])).sum();
    while kept < minimum.min(before) {
        let from = all.clone().find(|at| parts[*at] > available[*at]);
        let to = all
            .clone()
            .find(|at| parts[*at] < available[*at].min(sizes[*at]));
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        parts[from] -= 1;
        parts[to] += 1;
        kept += 1;
    }
}
