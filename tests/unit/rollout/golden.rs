//! The sequences of Cluster API's own rollout tests, step by step, with the reasons.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;

use crate::rollout::simulation::{Dice, World, on_delete, rolling};

/// A scenario, and what it must give.
struct Row {
    name: &'static str,
    replicas: i32,
    /// maxSurge and maxUnavailable; None for OnDelete.
    rolling: Option<(i32, i32)>,
    /// Machines that a user has missing at once, under OnDelete.
    user_unavailable: usize,
    sequence: &'static str,
    fewest_available: usize,
    most_machines: usize,
    passes: usize,
}

const ROWS: [Row; 6] = [
    Row {
        name: "3 replicas, maxSurge 1, maxUnavailable 0",
        replicas: 3,
        rolling: Some((1, 0)),
        user_unavailable: 0,
        sequence: "3/1 → 2/1 → 2/2 → 1/2 → 1/3 → 0/3",
        fewest_available: 3,
        most_machines: 4,
        passes: 7,
    },
    Row {
        name: "3 replicas, maxSurge 0, maxUnavailable 1",
        replicas: 3,
        rolling: Some((0, 1)),
        user_unavailable: 0,
        sequence: "2/0 → 2/1 → 1/1 → 1/2 → 0/2 → 0/3",
        fewest_available: 2,
        most_machines: 3,
        passes: 7,
    },
    Row {
        name: "6 replicas, maxSurge 3, maxUnavailable 1",
        replicas: 6,
        rolling: Some((3, 1)),
        user_unavailable: 0,
        sequence: "5/3 → 2/4 → 1/6 → 0/6",
        fewest_available: 5,
        most_machines: 9,
        passes: 5,
    },
    Row {
        name: "6 replicas, maxSurge 1, maxUnavailable 3",
        replicas: 6,
        rolling: Some((1, 3)),
        user_unavailable: 0,
        sequence: "3/1 → 2/4 → 0/5 → 0/6",
        fewest_available: 3,
        most_machines: 7,
        passes: 5,
    },
    Row {
        name: "6 replicas, maxSurge 10, maxUnavailable 0",
        replicas: 6,
        rolling: Some((10, 0)),
        user_unavailable: 0,
        sequence: "6/6 → 0/6",
        fewest_available: 6,
        most_machines: 12,
        passes: 3,
    },
    Row {
        name: "6 replicas, maxSurge 0, maxUnavailable 10",
        replicas: 6,
        rolling: Some((0, 10)),
        user_unavailable: 0,
        sequence: "0/0 → 0/6",
        fewest_available: 0,
        most_machines: 6,
        passes: 3,
    },
];

const ON_DELETE: [Row; 2] = [
    Row {
        name: "OnDelete, 3 replicas, one at a time",
        replicas: 3,
        rolling: None,
        user_unavailable: 1,
        sequence: "3/0 → 2/0 → 2/1 → 1/1 → 1/2 → 0/2 → 0/3",
        fewest_available: 2,
        most_machines: 3,
        passes: 11,
    },
    Row {
        name: "OnDelete, 6 replicas, two at a time",
        replicas: 6,
        rolling: None,
        user_unavailable: 2,
        sequence: "6/0 → 5/0 → 4/1 → 4/2 → 3/2 → 2/3 → 2/4 → 1/4 → 0/5 → 0/6",
        fewest_available: 4,
        most_machines: 6,
        passes: 12,
    },
];

fn start(row: &Row) -> World {
    let strategy = row.rolling.map_or_else(on_delete, |(surge, missing)| {
        rolling(Int(surge), Int(missing))
    });
    let mut world = World::running(row.replicas, strategy);
    world.set_version("v1.36.3");
    world
}

/// The first Machine of an old set, if the user would have another one missing.
fn victim(world: &World, at_most: usize) -> Option<String> {
    let replicas = usize::try_from(world.deployment.spec.replicas).expect("not negative");
    let missing = replicas.saturating_sub(world.machines.len());
    let wanted = world.deployment.spec.template.spec.versions.as_ref();
    let mut old = world
        .machines
        .iter()
        .filter(|machine| machine.spec.versions.as_ref() != wanted);
    old.next()
        .filter(|_| missing < at_most)
        .and_then(|machine| machine.metadata.name.clone())
}

fn run(world: &mut World, user_unavailable: usize) {
    for _ in 0..40 {
        let acted = world.pass();
        let victim = victim(world, user_unavailable);
        if let Some(name) = &victim {
            let _ = writeln!(world.transcript, "user        deletes a Machine");
            world.delete(name);
        } else if !acted && world.is_done() {
            return;
        }
    }
    panic!("not done:\n{}", world.transcript);
}

#[test]
fn rolls_follow_the_known_sequences_step_by_step() {
    let mut differing = Vec::new();
    for row in ROWS.iter().chain(&ON_DELETE) {
        let mut world = start(row);
        run(&mut world, row.user_unavailable);
        assert_eq!(
            world.sequence(),
            row.sequence,
            "{}\n{}",
            row.name,
            world.transcript
        );
        assert_eq!(
            world.passes, row.passes,
            "{}\n{}",
            row.name, world.transcript
        );
        assert!(
            world.fewest_available >= row.fewest_available,
            "{}\n{}",
            row.name,
            world.transcript
        );
        assert!(
            world.most_machines <= row.most_machines,
            "{}\n{}",
            row.name,
            world.transcript
        );
        differing.extend(golden(row.name, &world));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_scale_up_in_an_on_delete_roll_goes_to_the_current_set() {
    let mut world = World::running(6, on_delete());
    world.set_version("v1.36.3");
    while world.sequence.last() != Some(&vec![3, 3]) {
        run_once(&mut world);
    }
    // Back to a moment without anything in the air.
    while world.machines.len() < 6 {
        world.pass();
    }
    world.forget();
    world.deployment.spec.replicas = 9;
    run(&mut world, 1);
    assert_eq!(
        world.sequence(),
        "3/6 → 2/6 → 2/7 → 1/7 → 1/8 → 0/8 → 0/9",
        "{}",
        world.transcript
    );
    assert_eq!((world.fewest_available, world.most_machines), (6, 9));
    assert_eq!(golden("OnDelete, scaled from 6 to 9", &world), None);
}

fn run_once(world: &mut World) {
    world.pass();
    if let Some(name) = victim(world, 1) {
        let old = world.machines_of(0).len();
        if old > 3 {
            world.delete(&name);
        }
    }
}

#[test]
fn a_template_changed_in_mid_roll_ends_at_the_last_one() {
    let mut world = World::running(6, rolling(Int(3), Int(1)));
    world.set_version("v1.35.9");
    world.pass();
    world.pass();
    world.set_version("v1.36.3");
    run(&mut world, 0);
    assert!(
        world.fewest_available >= 5 && world.most_machines <= 9,
        "{}",
        world.transcript
    );
    assert_eq!(
        golden(
            "6 replicas, maxSurge 3, maxUnavailable 1, changed in mid-roll",
            &world
        ),
        None
    );
}

#[test]
fn a_scale_down_in_mid_roll_is_a_step_of_the_roll() {
    let mut world = World::running(12, rolling(Int(3), Int(1)));
    world.set_version("v1.36.3");
    world.reconcile_deployment();
    world.reconcile_set(1);
    world.sets[0].spec.replicas = 9;
    world.reconcile_set(0);
    world.forget();
    world.deployment.spec.replicas = 6;
    run(&mut world, 0);
    assert_eq!(world.sequence(), "2/3 → 2/6 → 0/6", "{}", world.transcript);
    assert_eq!(
        golden(
            "12 replicas, maxSurge 3, maxUnavailable 1, scaled to 6 in mid-roll",
            &world
        ),
        None
    );
}

#[test]
fn in_any_order_of_passes_the_same_limits_hold_and_the_same_end_is_reached() {
    for row in ROWS.iter().chain(&ON_DELETE) {
        for seed in 0..40 {
            let mut world = start(row);
            let mut dice = Dice::new(seed);
            let (minimum, maximum) = match row.rolling {
                Some((surge, missing)) => (row.replicas - missing, row.replicas + surge),
                None => (0, row.replicas),
            };
            let minimum = usize::try_from(minimum).unwrap_or_default();
            let maximum = usize::try_from(maximum).unwrap_or_default();
            for step in 0.. {
                assert!(
                    step < 2000,
                    "{}, seed {seed}:\n{}",
                    row.name,
                    world.transcript
                );
                match dice.roll(world.sets.len() + 1) {
                    0 => world.reconcile_deployment(),
                    at => world.reconcile_set(at - 1),
                };
                if let Some(name) = victim(&world, row.user_unavailable) {
                    world.delete(&name);
                }
                assert!(
                    world.available() >= minimum,
                    "{}, seed {seed}:\n{}",
                    row.name,
                    world.transcript
                );
                assert!(
                    world.machines.len() <= maximum,
                    "{}, seed {seed}:\n{}",
                    row.name,
                    world.transcript
                );
                if world.is_done() {
                    break;
                }
            }
            assert_eq!(
                world
                    .sets
                    .iter()
                    .map(|set| set.spec.replicas)
                    .collect::<Vec<_>>(),
                [0, row.replicas]
            );
        }
    }
}

/// How a transcript differs from the stored one, if it does.
pub(super) fn golden(name: &str, world: &World) -> Option<String> {
    let text = format!(
        "# {name}\n# {}\n# fewest available {}, most Machines {}, {} passes of the deployment\n\n{}",
        world.sequence(),
        world.fewest_available,
        world.most_machines,
        world.passes,
        world.transcript
    );
    let file = name.to_lowercase().replace(", ", "_").replace(' ', "-");
    compare(&file, &text)
}

/// How a text differs from `tests/unit/rollout/<name>.golden`, if it does. The new one is left beside the
/// tests' other output, to be read and then copied.
pub fn compare(name: &str, text: &str) -> Option<String> {
    let stored = format!(
        "{}/tests/unit/rollout/{name}.golden",
        env!("CARGO_MANIFEST_DIR")
    );
    let found = format!("{}/{name}.golden", env!("CARGO_TARGET_TMPDIR"));
    if std::fs::read_to_string(&stored).unwrap_or_default() == text {
        return None;
    }
    std::fs::write(&found, text).expect("the target directory is writable");
    Some(format!(
        "{stored} differs; if the change is meant: cp '{found}' '{stored}'\n{text}"
    ))
}
