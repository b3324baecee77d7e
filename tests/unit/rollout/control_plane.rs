//! Rollouts of control planes, step by step: one at a time, joins before leaves, and nothing of an old template is made again.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use kube::ResourceExt;

use crate::rollout::golden::golden;
use crate::rollout::simulation::{World, alias, rolling};

/// Name, replicas, surge and unavailable, the sequence, the fewest that are available, and the most Machines.
type Row = (&'static str, i32, (i32, i32), &'static str, usize, usize);

const ROWS: [Row; 4] = [
    (
        "control plane, 3 replicas, maxSurge 1, maxUnavailable 0",
        3,
        (1, 0),
        "3/1 → 2/1 → 2/2 → 1/2 → 1/3 → 0/3",
        3,
        4,
    ),
    (
        "control plane, 1 replica, maxSurge 1, maxUnavailable 0",
        1,
        (1, 0),
        "1/1 → 0/1",
        1,
        2,
    ),
    (
        "control plane, 3 replicas, maxSurge 0, maxUnavailable 1",
        3,
        (0, 1),
        "2/0 → 2/1 → 1/1 → 1/2 → 0/2 → 0/3",
        2,
        3,
    ),
    (
        "control plane, 5 replicas, maxSurge 3, maxUnavailable 2",
        5,
        (3, 2),
        "5/1 → 4/1 → 4/2 → 3/2 → 3/3 → 2/3 → 2/4 → 1/4 → 1/5 → 0/5",
        5,
        6,
    ),
];

#[test]
fn control_planes_are_replaced_one_at_a_time() {
    let mut differing = Vec::new();
    for (name, replicas, (surge, unavailable), sequence, fewest, most) in ROWS {
        let mut world = World::planes(replicas, rolling(Int(surge), Int(unavailable)));
        world.set_version("v1.36.3");
        world.settle(40);
        assert!(world.is_done(), "{name}\n{}", world.transcript);
        assert_eq!(world.sequence(), sequence, "{name}\n{}", world.transcript);
        assert_eq!(
            (world.fewest_available, world.most_machines),
            (fewest, most),
            "{name}"
        );
        differing.extend(golden(name, &world));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn what_an_old_set_loses_in_a_rollout_is_made_of_the_new_template() {
    let mut world = World::planes(3, rolling(Int(1), Int(0))).at_pace((60, 30), "none");
    world.set_version("v1.36.3");
    for _ in 0..3 {
        world.pass();
    }
    let old = world.machines_of(0)[0].clone();
    world.lose(&old);
    let before = world.made.len();
    for _ in 0..60 {
        if !world.pass() {
            world.pass_time(15);
        }
    }
    assert!(world.is_done(), "{}", world.transcript);
    for name in &world.made[before..] {
        let machine = world
            .machines
            .iter()
            .find(|machine| machine.name_any() == *name);
        let versions = machine.and_then(|machine| machine.versions());
        let version = versions.map(|versions| versions.kubelet.as_str());
        assert_eq!(version, Some("v1.36.3"), "{name}\n{}", world.transcript);
    }
    assert_eq!(alias(&world, &world.sets[1].name_any()), "ms2");
}
