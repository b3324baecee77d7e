//! Rolls in which something goes wrong.

mod bounds;
mod lost;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::Machine;
use tatara_core::api::conditions::{ConditionType, Finding, Reason, Status};
use tatara_core::machine_deployment::plan::Phase;

use crate::rollout::simulation::{World, on_delete, rolling};

const OLD: &str = "v1.35.0";

const BAD: &str = "v1.36.0";

const NEW: &str = "v1.36.3";

fn progressing(world: &World) -> Finding {
    let plan = world.deployment_plan();
    plan.findings
        .into_iter()
        .find(|finding| finding.condition == ConditionType::Progressing)
        .expect("Progressing")
}

fn wanted(world: &World) -> Vec<i32> {
    world.sets.iter().map(|set| set.spec.replicas).collect()
}

fn version(machine: &Machine) -> &str {
    machine.versions().expect("versions").kubelet.as_str()
}

/// Steps of the roll that cost a set Machines.
fn shrunk(world: &World) -> Vec<&(String, i32, i32)> {
    world
        .steps
        .iter()
        .filter(|(_, from, to)| to < from)
        .collect()
}

/// Passes until all is well, with time that goes by; the deployment never does without what it may
/// not do without.
fn finish(world: &mut World, minimum: usize) {
    for _ in 0..400 {
        world.pass();
        assert!(world.available() >= minimum, "{}", world.transcript);
        if world.is_done() {
            return;
        }
        world.pass_time(10);
    }
    panic!(
        "not done: {:?} {:?}\n{}",
        wanted(world),
        progressing(world),
        world.transcript
    );
}

/// In mid-roll: two of three old Machines are left, and one new one is there.
fn half_way() -> World {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.set_version(NEW);
    world.pass();
    world.pass();
    assert_eq!((wanted(&world), world.available()), (vec![2, 1], 3));
    world.physics.boot = 60;
    world
}

#[test]
fn a_bad_revision_does_not_stand_in_the_way_of_the_next() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.boot = 60;
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    for _ in 0..10 {
        world.pass();
        world.pass_time(10);
    }
    assert_eq!(
        (wanted(&world), world.available()),
        (vec![3, 1], 3),
        "{}",
        world.transcript
    );
    world.set_version(NEW);
    world.pass();
    assert_eq!(
        wanted(&world)[1],
        0,
        "its Machine never had a Node: nobody waits for it\n{}",
        world.transcript
    );
    finish(&mut world, 3);
    assert!(world.most_machines <= 4, "{}", world.transcript);
}

#[test]
fn undo_takes_the_set_that_was_that_revision() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    for _ in 0..5 {
        world.pass();
    }
    world.set_version(OLD);
    finish(&mut world, 3);
    assert_eq!(wanted(&world), [3, 0]);
    let annotation = |key: &str| world.sets[0].annotations().get(key).cloned();
    assert_eq!(
        annotation("machinedeployment.clusters.k8s.io/revision").as_deref(),
        Some("3")
    );
    assert_eq!(
        annotation("machinedeployment.clusters.k8s.io/revision-history").as_deref(),
        Some("1")
    );
}

#[test]
fn a_roll_that_stands_still_gives_up_what_is_not_available_and_goes_on() {
    // Three hosts work and hold old Machines; the fourth is broken and holds one that is sick. The
    // new Machine has no host, and would never have one.
    let mut world = World::running(4, rolling(Int(1), Int(1)));
    world.physics.hosts = Some(4);
    let sick = world.machines_of(0)[0].clone();
    world
        .machine(&sick)
        .status
        .get_or_insert_default()
        .conditions
        .clear();
    world.deployment.spec.strategy = rolling(Int(1), Int(0));
    world.reconcile_set(0);
    world.set_version(NEW);
    for _ in 0..50 {
        world.pass();
        world.pass_time(10);
    }
    assert_eq!(wanted(&world), [4, 1], "{}", world.transcript);
    for _ in 0..40 {
        world.pass();
        world.pass_time(10);
    }
    assert!(
        !world
            .machines
            .iter()
            .any(|machine| machine.name_any() == sick),
        "{}",
        world.transcript
    );
    world.physics.hosts = None;
    finish(&mut world, 3);
}

#[test]
fn when_nothing_seems_available_nothing_is_given_up() {
    let mut world = half_way();
    let names: Vec<String> = world.machines.iter().map(ResourceExt::name_any).collect();
    for name in &names {
        world
            .machine(name)
            .status
            .get_or_insert_default()
            .conditions
            .clear();
    }
    world.physics.hosts = Some(0);
    world.steps.clear();
    for _ in 0..300 {
        world.pass();
        world.pass_time(10);
    }
    assert!(shrunk(&world).is_empty(), "{}", world.transcript);
    assert!(world.machines.len() >= names.len());
    assert!(
        progressing(&world)
            .message()
            .contains("no Machine is available"),
        "{:?}",
        progressing(&world)
    );
}

#[test]
fn a_scale_up_in_mid_roll_makes_machines_of_the_new_template_only() {
    let mut world = World::running(10, rolling(Int(2), Int(0)));
    world.set_version(NEW);
    world.pass();
    world.pass();
    assert_eq!(wanted(&world), [8, 2]);
    world.deployment.spec.replicas = 15;
    world.pass();
    assert_eq!(wanted(&world), [8, 9], "{}", world.transcript);
    finish(&mut world, 10);
    assert_eq!(wanted(&world), [0, 15]);
}

#[test]
fn while_paused_nothing_rolls_and_scaling_goes_on() {
    let mut world = half_way();
    world.physics.boot = 0;
    world.deployment.spec.paused = true;
    world.set_version(BAD);
    for _ in 0..3 {
        world.pass();
    }
    assert_eq!((world.sets.len(), wanted(&world)), (2, vec![2, 1]));
    world.deployment.spec.replicas = 9;
    world.settle(5);
    assert_eq!(wanted(&world), [6, 3]);
    world.deployment.spec.replicas = 3;
    world.settle(5);
    assert_eq!(wanted(&world), [2, 1]);
    assert_eq!(progressing(&world).reason(), Reason::Paused);
    world.set_version(NEW);
    world.deployment.spec.paused = false;
    finish(&mut world, 3);
    assert_eq!(wanted(&world), [0, 3]);
}

#[test]
fn scaling_down_while_paused_keeps_what_is_available() {
    let mut world = World::running(6, rolling(Int(6), Int(0)));
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    world.pass();
    assert_eq!((wanted(&world), world.available()), (vec![6, 6], 6));
    world.deployment.spec.paused = true;
    world.deployment.spec.replicas = 4;
    world.settle(5);
    assert_eq!(
        (wanted(&world), world.available()),
        (vec![4, 0], 4),
        "{}",
        world.transcript
    );
}

#[test]
fn without_progress_for_too_long_it_says_so_until_it_moves_again() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    world.pass();
    let wake = world.deployment_plan().wake_at.expect("the deadline");
    let seconds = wake.duration_since(world.now).as_secs();
    assert!((590..=600).contains(&seconds), "{seconds}");
    assert_eq!(progressing(&world).reason(), Reason::WaitingForMachines);
    world.pass_time(seconds);
    let plan = world.deployment_plan();
    assert_eq!(plan.phase, Phase::Failed);
    assert_eq!(
        (progressing(&world).status, progressing(&world).reason()),
        (Status::False, Reason::ProgressDeadlineExceeded)
    );
    assert_eq!(plan.wake_at, None);
    world.physics.broken.clear();
    world.pass_time(0);
    finish(&mut world, 3);
    assert_eq!(progressing(&world).reason(), Reason::Complete);
    assert_eq!(world.deployment_plan().phase, Phase::Running);
}

#[test]
fn old_sets_beyond_the_history_limit_are_forgotten_when_the_roll_is_over() {
    let mut world = World::running(1, rolling(Int(1), Int(0)));
    for version in ["v1.35.1", "v1.35.2", "v1.35.3"] {
        world.set_version(version);
        finish(&mut world, 1);
    }
    let kept: Vec<_> = world
        .sets
        .iter()
        .filter_map(|set| set.spec.template.spec.versions.clone())
        .collect();
    let kept: Vec<_> = kept
        .iter()
        .map(|versions| versions.kubelet.as_str())
        .collect();
    assert_eq!(kept, ["v1.35.2", "v1.35.3"]);
}

#[test]
fn a_new_revision_that_may_not_make_machines_yet_costs_no_old_one() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.gated = Some(NEW.into());
    world.set_version(NEW);
    for _ in 0..20 {
        world.pass();
        world.pass_time(60);
    }
    assert_eq!(
        (wanted(&world), world.available()),
        (vec![3, 1], 3),
        "{}",
        world.transcript
    );
    world.gated = None;
    finish(&mut world, 3);
}
