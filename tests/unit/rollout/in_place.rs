//! Strategy `InPlace`, step by step: Machines move, and keep their names.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;

use crate::rollout::golden::golden;
use crate::rollout::simulation::{World, in_place};

/// Name, replicas, Machines that may be missing, the sequence, and the fewest that are available.
const IN_PLACE: [(&str, i32, i32, &str, usize); 3] = [
    (
        "InPlace, 3 replicas, maxUnavailable 1",
        3,
        1,
        "3/0 → 2/1 → 1/2 → 0/3",
        2,
    ),
    (
        "InPlace, 6 replicas, maxUnavailable 10",
        6,
        10,
        "6/0 → 0/6",
        0,
    ),
    (
        "InPlace, 6 replicas, maxUnavailable 3",
        6,
        3,
        "6/0 → 3/3 → 0/6",
        3,
    ),
];

#[test]
fn machines_move_to_the_new_set_and_keep_their_names() {
    let mut differing = Vec::new();
    for (name, replicas, unavailable, sequence, fewest) in IN_PLACE {
        let mut world = World::running(replicas, in_place(Int(unavailable)));
        let before = names(&world);
        world.set_version("v1.36.3");
        world.physics.update = 30;
        for _ in 0..40 {
            if !world.pass() {
                if world.is_done() {
                    break;
                }
                world.pass_time(30);
            }
        }
        assert!(world.is_done(), "{name}\n{}", world.transcript);
        assert_eq!(world.sequence(), sequence, "{name}\n{}", world.transcript);
        assert_eq!(
            world.fewest_available, fewest,
            "{name}\n{}",
            world.transcript
        );
        assert_eq!(
            names(&world),
            before,
            "{name}: nothing made, nothing deleted"
        );
        assert_eq!(world.wrongs, Vec::<String>::new());
        differing.extend(golden(name, &world));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

fn names(world: &World) -> BTreeSet<String> {
    let names = world.machines.iter().map(kube::ResourceExt::name_any);
    names.collect()
}
