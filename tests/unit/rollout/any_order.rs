//! Rolls whose passes come in any order.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;

use crate::rollout::simulation::{Dice, World, on_delete, rolling};

/// Replicas; maxSurge and maxUnavailable, or none for `OnDelete`; and how many a user has missing then.
type Roll = (i32, Option<(i32, i32)>, usize);

const ROLLS: [Roll; 8] = [
    (3, Some((1, 0)), 0),
    (3, Some((0, 1)), 0),
    (6, Some((3, 1)), 0),
    (6, Some((1, 3)), 0),
    (6, Some((10, 0)), 0),
    (6, Some((0, 10)), 0),
    (3, None, 1),
    (6, None, 2),
];

fn start((replicas, limits, _): Roll) -> World {
    let strategy = limits.map_or_else(on_delete, |(surge, missing)| {
        rolling(Int(surge), Int(missing))
    });
    let mut world = World::running(replicas, strategy);
    world.set_version("v1.36.3");
    world
}

#[test]
fn in_any_order_of_passes_the_same_limits_hold_and_the_same_end_is_reached() {
    for roll in ROLLS {
        let (replicas, limits, user_unavailable) = roll;
        for seed in 0..40 {
            let mut world = start(roll);
            let mut dice = Dice::new(seed);
            let (minimum, maximum) = match limits {
                Some((surge, missing)) => (replicas - missing, replicas + surge),
                None => (0, replicas),
            };
            let minimum = usize::try_from(minimum).unwrap_or_default();
            let maximum = usize::try_from(maximum).unwrap_or_default();
            for step in 0.. {
                let told = || format!("{roll:?}, seed {seed}:\n{}", world.transcript);
                assert!(step < 2000, "{}", told());
                match dice.roll(world.sets.len() + 1) {
                    0 => world.reconcile_deployment(),
                    at => world.reconcile_set(at - 1),
                };
                if let Some(name) = world.victim(user_unavailable) {
                    world.delete(&name);
                }
                let told = || format!("{roll:?}, seed {seed}:\n{}", world.transcript);
                assert!(world.available() >= minimum, "{}", told());
                assert!(world.machines.len() <= maximum, "{}", told());
                if world.is_done() {
                    break;
                }
            }
            let wanted: Vec<i32> = world.sets.iter().map(|set| set.spec.replicas).collect();
            assert_eq!(wanted, [0, replicas]);
        }
    }
}
