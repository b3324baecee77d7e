//! Rollouts of control planes: nothing of an old template is made again.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use kube::ResourceExt;

use crate::rollout::simulation::{World, alias, rolling};

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
