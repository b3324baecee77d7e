//! Machines that disappear or turn bad in mid-roll.

use super::*;

#[test]
fn a_lost_machine_comes_back_from_its_own_set_before_the_roll_goes_on() {
    let mut world = half_way();
    let before = world.machines_of(0);
    world.lose(&before[0]);
    for set in 0..2 {
        world.reconcile_set(set);
    }
    world.steps.clear();
    assert_eq!(world.machines_of(0).len(), 2, "{}", world.transcript);
    assert_eq!(version(&world.newcomer(0, &before)), OLD);
    for _ in 0..5 {
        world.pass();
        world.pass_time(10);
    }
    assert!(
        shrunk(&world).is_empty(),
        "the roll waits until the Machine is available\n{}",
        world.transcript
    );
    finish(&mut world, 2);
    assert_eq!(wanted(&world), [0, 3]);
}

#[test]
fn the_roll_waits_for_a_lost_machine_although_its_set_has_not_looked_yet() {
    let mut world = World::running(6, rolling(Int(2), Int(2)));
    world.set_version(NEW);
    world.pass();
    world.pass();
    let before = wanted(&world);
    assert!(before[0] > 1, "{before:?}");
    let lost = world.machines_of(0)[0].clone();
    world.lose(&lost);
    // The set's status says so, but its planner has made no new Machine: creation is held back.
    world.gated = Some(OLD.into());
    world.reconcile_set(0);
    world.reconcile_deployment();
    assert_eq!(wanted(&world)[0], before[0], "{}", world.transcript);
    assert!(
        progressing(&world)
            .message()
            .contains("to create 1 lost Machine again"),
        "{:?}",
        progressing(&world)
    );
    world.gated = None;
    finish(&mut world, 3);
}

#[test]
fn after_the_deadline_a_lost_machine_has_as_long_to_come_back_as_before() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.boot = 60;
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    world.pass();
    world.pass();
    world.pass_time(700);
    world.pass();
    assert_eq!(wanted(&world), [3, 1], "{}", world.transcript);
    let told = progressing(&world).reason();
    assert_eq!(told, Reason::ProgressDeadlineExceeded);
    // its set reports the loss, and does not get as far as making another one
    let lose = |world: &mut World| {
        let lost = world.machines_of(0)[0].clone();
        world.lose(&lost);
        world.gated = Some(OLD.into());
        world.pass_sets();
    };
    lose(&mut world);
    world.pass();
    assert_eq!(wanted(&world), [3, 1], "{}", world.transcript);
    let told = progressing(&world);
    let waits = "waiting for old MachineSet";
    assert!(told.message().contains(waits), "{told:?}");
    assert_eq!(told.status, Status::True, "{told:?}");
    world.gated = None;
    for _ in 0..10 {
        world.pass();
        world.pass_time(10);
    }
    assert_eq!(world.available(), 3, "{}", world.transcript);
    // one that never comes back is given up: somebody may want the room
    lose(&mut world);
    world.pass_time(590);
    world.pass();
    assert_eq!(wanted(&world), [3, 1], "{}", world.transcript);
    world.pass_time(60);
    world.reconcile_deployment();
    assert_eq!(wanted(&world)[0], 2, "{}", world.transcript);
    let told = "could not be created again within 600 s";
    assert!(world.transcript.contains(told), "{}", world.transcript);
}

#[test]
fn a_lost_machine_comes_back_with_its_own_class_although_the_class_was_edited() {
    let mut world = half_way();
    let before = world.class.clone();
    world.class = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec", "bootMilliseconds": 5});
    world.reconcile_deployment();
    assert_eq!(world.sets.len(), 3, "an edited class is a new revision");
    let machines = world.machines_of(0);
    world.lose(&machines[0]);
    world.reconcile_set(0);
    assert_eq!(
        world.newcomer(0, &machines).spec.provider_spec.value,
        Some(before)
    );
    finish(&mut world, 2);
    assert_eq!(
        wanted(&world),
        [0, 3],
        "the oldest set is beyond the history limit"
    );
}

#[test]
fn a_lost_machine_of_the_new_set_comes_back_too() {
    let mut world = half_way();
    let before = world.machines_of(1);
    world.lose(&before[0]);
    world.reconcile_set(1);
    assert_eq!(version(&world.newcomer(1, &before)), NEW);
    world.steps.clear();
    world.pass();
    assert!(shrunk(&world).is_empty(), "{}", world.transcript);
    finish(&mut world, 2);
}

#[test]
fn machines_that_are_there_and_unhealthy_go_first() {
    let mut world = World::running(4, rolling(Int(1), Int(1)));
    let sick = world.machines_of(0)[2].clone();
    world.fail(&sick);
    world.reconcile_set(0);
    world.set_version(NEW);
    world.pass();
    assert!(
        !world
            .machines
            .iter()
            .any(|machine| machine.name_any() == sick),
        "{}",
        world.transcript
    );
    assert_eq!(
        world.available(),
        4,
        "no available Machine went\n{}",
        world.transcript
    );
    finish(&mut world, 3);
}

#[test]
fn a_stuck_deletion_keeps_no_replacement_away_and_counts_against_surge() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    let stuck = world.machines_of(0)[0].clone();
    world.physics.stuck.insert(stuck.clone());
    world.delete(&stuck);
    world.reconcile_set(0);
    assert_eq!(
        world.machines_of(0).len(),
        3,
        "replaced while the old one hangs"
    );
    assert_eq!(world.machines.len(), 4);
    world.set_version(NEW);
    for _ in 0..5 {
        world.pass();
    }
    assert_eq!(
        wanted(&world),
        [3, 0],
        "there is no room for one more\n{}",
        world.transcript
    );
    assert!(
        progressing(&world)
            .message()
            .contains("4 current Machines (1 in deletion) ≥ 3 spec.replicas + 1 maxSurge")
    );
    world.physics.stuck.clear();
    finish(&mut world, 3);
}

#[test]
fn on_delete_replaces_a_machine_whose_deletion_hangs() {
    let mut world = World::running(3, on_delete());
    world.set_version(NEW);
    world.pass();
    let stuck = world.machines_of(0)[0].clone();
    world.physics.stuck.insert(stuck.clone());
    world.delete(&stuck);
    for _ in 0..4 {
        world.pass();
    }
    assert_eq!(wanted(&world), [2, 1], "{}", world.transcript);
    assert_eq!(world.available(), 3);
}

#[test]
fn a_changed_time_limit_reaches_old_sets_and_machines_in_deletion() {
    let mut world = half_way();
    let stuck = world.machines_of(0)[0].clone();
    world.physics.stuck.insert(stuck.clone());
    world.delete(&stuck);
    world.deployment.spec.template.spec.deletion =
        Some(tatara_core::api::machine::MachineDeletion {
            node_drain_timeout_seconds: Some(60),
            ..Default::default()
        });
    world.reconcile_deployment();
    let plan = world.set_plan(0);
    let reached = plan.actions.iter().any(|action| match action {
        tatara_core::machine_set::plan::Action::UpdateInPlace { name, changes, .. } => {
            *name == stuck && changes.deletion.is_some()
        }
        _ => false,
    });
    assert!(reached, "{:?}", plan.actions);
}
