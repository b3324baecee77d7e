//! Strategy `InPlace`: Machines move, and keep their names, whatever happens meanwhile.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use kube::ResourceExt;
use tatara_core::api::machine_deployment::Strategy;
use tatara_core::api::names::ANNOTATION_DELETE_MACHINE;

use crate::rollout::simulation::{Dice, Fault, World, in_place};

struct Row {
    start: fn(i32, Strategy) -> World,
    replicas: i32,
    /// Machines that may be missing.
    unavailable: i32,
    fewest_available: usize,
}

impl Row {
    /// All run, and an update has been asked for.
    fn start(&self) -> World {
        let mut world = (self.start)(self.replicas, in_place(Int(self.unavailable)));
        world.set_version("v1.36.3");
        world.physics.update = 30;
        world
    }
}

const ROWS: [Row; 4] = [
    Row {
        start: World::running,
        replicas: 3,
        unavailable: 1,
        fewest_available: 2,
    },
    Row {
        start: World::running,
        replicas: 6,
        unavailable: 10,
        fewest_available: 0,
    },
    Row {
        start: World::running,
        replicas: 6,
        unavailable: 3,
        fewest_available: 3,
    },
    Row {
        start: World::planes,
        replicas: 3,
        unavailable: 1,
        fewest_available: 2,
    },
];

#[test]
fn in_any_order_of_passes_they_keep_their_names_and_no_more_are_away_than_may_be() {
    for (row, number) in ROWS.iter().zip(1..) {
        for seed in 0..40 {
            let mut world = row.start();
            let before = names(&world);
            let mut dice = Dice::new(seed);
            for step in 0.. {
                match dice.roll(world.sets.len() + 2) {
                    0 => drop(world.reconcile_deployment()),
                    1 => world.pass_time(10),
                    at => drop(world.reconcile_set(at - 2)),
                }
                let told = || format!("row {number}, seed {seed}:\n{}", world.transcript);
                assert!(world.available() >= row.fewest_available, "{}", told());
                assert_eq!(names(&world), before, "{}", told());
                assert!(step < 2000, "{}", told());
                if world.is_done() {
                    break;
                }
            }
            let wanted = world.sets.iter().map(|set| set.spec.replicas);
            assert_eq!(wanted.collect::<Vec<_>>(), [0, row.replicas]);
        }
    }
}

/// As the cluster-autoscaler does: it marks one, and lowers the number.
#[test]
fn the_marked_machine_goes_in_mid_move_and_no_other() {
    // seconds since the first one moved, the set of the marked one, and what follows
    for (seconds, of, sequence) in [
        (0, 0, "1/1 → 0/2"),
        (0, 1, "2/0 → 1/1 → 0/2"),
        (30, 0, "1/1 → 0/2"),
        (30, 1, "2/0 → 1/1 → 0/2"),
    ] {
        let mut world = ROWS[0].start();
        while world.sequence() != "3/0 → 2/1" {
            world.pass();
        }
        let mut staying = names(&world);
        world.pass_time(seconds);
        world.forget();
        let victim = world.machines_of(of)[0].clone();
        let annotations = world.machine(&victim).annotations_mut();
        annotations.insert(ANNOTATION_DELETE_MACHINE.into(), "yes".into());
        world.deployment.spec.replicas = 2;
        run(&mut world);
        let told = format!("{seconds} {of}\n{}", world.transcript);
        assert!(world.is_done(), "{told}");
        assert_eq!(world.sequence(), sequence, "{told}");
        staying.remove(&victim);
        assert_eq!(names(&world), staying, "{told}");
        assert_eq!(world.wrongs, Vec::<String>::new());
    }
}

/// Of four, the one that had moved is lost, and an undo comes while its set makes it again.
#[test]
fn what_a_set_makes_again_while_the_edit_is_set_back_moves_and_is_kept() {
    for is_restarted in [false, true] {
        let mut world = World::running(4, in_place(Int(1)));
        world.physics.update = 30;
        world.set_version("v1.36.3");
        while world.sequence() != "4/0 → 3/1" {
            world.pass();
        }
        let lose = |world: &mut World| {
            let moved = world.machines_of(1)[0].clone();
            world.lose(&moved);
        };
        lose(&mut world);
        // it is told to make it again, looks, and may then go by what it has heard
        world.reconcile_set(1);
        world.reconcile_deployment();
        world.reconcile_set(1);
        lose(&mut world);
        world.gated = Some("v1.36.3".into());
        world.reconcile_set(1);
        world.gated = None;
        world.lag();
        world.set_version("v1.35.0");
        world.hear(0, usize::MAX);
        world.reconcile_deployment();
        let made = world.made.len();
        if is_restarted {
            world.fault = Some((1, Fault::Crash));
        }
        world.reconcile_set(1);
        assert_eq!(world.made.len(), made + 1, "{}", world.transcript);
        let again = world.made[made].clone();
        world.hear_all();
        for _ in 0..40 {
            world.pass();
            world.pass_time(10);
            world.hear_all();
        }
        assert!(world.is_done(), "{}", world.transcript);
        assert_eq!(world.made.len(), made + 1, "{}", world.transcript);
        assert!(names(&world).contains(&again), "{}", world.transcript);
        assert_eq!(world.wrongs, Vec::<String>::new());
    }
}

fn run(world: &mut World) {
    for _ in 0..40 {
        if !world.pass() {
            if world.is_done() {
                return;
            }
            world.pass_time(30);
        }
    }
}

fn names(world: &World) -> BTreeSet<String> {
    world.machines.iter().map(ResourceExt::name_any).collect()
}
