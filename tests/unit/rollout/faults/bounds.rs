//! What a roll must neither go below nor above, and what it must not be blamed for.

use super::*;
use crate::rollout::simulation::Fault;
use tatara_core::api::conditions::Reason;

/// In peace for longer than the deadline for progress.
fn long_running(replicas: i32) -> World {
    let mut world = World::running(replicas, rolling(Int(1), Int(0)));
    world.pass();
    world.pass_time(5000);
    world
}

#[test]
fn a_node_that_is_not_ready_for_a_second_passes_no_deadline() {
    let mut world = long_running(3);
    let name = world.machines_of(0)[0].clone();
    let status = world.machine(&name).status.get_or_insert_default();
    status.conditions.clear();
    world.reconcile_set(0);
    world.reconcile_deployment();
    assert_eq!(progressing(&world).reason(), Reason::WaitingForMachines);
    assert_ne!(world.deployment_plan().phase, Phase::Failed);
    world.pass_time(601);
    assert_eq!(
        progressing(&world).reason(),
        Reason::ProgressDeadlineExceeded,
        "it counts from here"
    );
}

#[test]
fn neither_a_scale_up_nor_a_roll_that_is_held_back_begins_with_a_passed_deadline() {
    let mut world = long_running(3);
    world.physics.boot = 60;
    world.deployment.spec.replicas = 4;
    for _ in 0..3 {
        world.reconcile_deployment();
        assert_ne!(
            progressing(&world).reason(),
            Reason::ProgressDeadlineExceeded
        );
    }
    let mut world = long_running(3);
    world.gated = Some(NEW.into());
    world.set_version(NEW);
    world.pass();
    for _ in 0..59 {
        world.pass_time(9);
        world.pass();
        let reason = progressing(&world).reason();
        assert_eq!(reason, Reason::WaitingForMachines, "{}", world.transcript);
    }
    world.pass_time(60);
    assert_eq!(
        progressing(&world).reason(),
        Reason::ProgressDeadlineExceeded
    );
}

#[test]
fn an_edit_and_the_end_of_a_pause_start_the_deadline_anew() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.broken = [BAD.into(), NEW.into()].into();
    let passed = |world: &mut World| {
        world.pass();
        world.pass_time(700);
        assert_eq!(
            progressing(world).reason(),
            Reason::ProgressDeadlineExceeded
        );
    };
    world.set_version(BAD);
    passed(&mut world);
    world.set_version(NEW);
    world.pass();
    world.pass();
    assert_eq!(progressing(&world).reason(), Reason::WaitingForMachines);
    passed(&mut world);
    world.set_version(BAD);
    world.pass();
    world.pass();
    assert_eq!(
        progressing(&world).reason(),
        Reason::WaitingForMachines,
        "undone"
    );
    world.deployment.spec.paused = true;
    world.pass();
    world.pass_time(700);
    world.deployment.spec.paused = false;
    world.pass();
    world.pass();
    assert_eq!(
        progressing(&world).reason(),
        Reason::WaitingForMachines,
        "resumed"
    );
}

#[test]
fn under_on_delete_a_scale_up_while_paused_makes_its_machines() {
    let mut world = World::running(6, on_delete());
    world.set_version(NEW);
    while wanted(&world) != [3, 3] || world.machines.len() < 6 {
        world.pass();
        let old = world.machines_of(0);
        if old.len() > 3 {
            world.delete(&old[0]);
        }
    }
    world.deployment.spec.paused = true;
    world.deployment.spec.replicas = 12;
    world.settle(9);
    assert_eq!(wanted(&world), [6, 6], "{}", world.transcript);
    assert_eq!(world.machines.len(), 12, "{}", world.transcript);
    world.deployment.spec.paused = false;
    world.settle(9);
    let plan = world.set_plan(0);
    assert_eq!((plan.counts.replicas, plan.actions.len()), (6, 0));
    let names = world.machines_of(0);
    world.delete(&names[0]);
    for _ in 0..4 {
        world.pass();
    }
    assert_eq!(wanted(&world), [5, 7], "{}", world.transcript);
}

/// One of three is lost, and a template comes that never works.
fn bad_edit_in_a_repair(is_made: bool) -> World {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.boot = 60;
    world.physics.broken.insert(BAD.into());
    let lost = world.machines_of(0)[0].clone();
    world.lose(&lost);
    if !is_made {
        world.gated = Some(OLD.into());
    }
    world.reconcile_set(0);
    assert_eq!(world.machines_of(0).len(), if is_made { 3 } else { 2 });
    world.gated = None;
    world.set_version(BAD);
    world
}

#[test]
fn a_bad_edit_does_not_stop_a_repair() {
    for is_made in [true, false] {
        let mut world = bad_edit_in_a_repair(is_made);
        for _ in 0..20 {
            world.pass();
            world.pass_time(10);
        }
        assert_eq!(wanted(&world), [3, 1], "{}", world.transcript);
        assert_eq!(world.available(), 3, "{}", world.transcript);
    }
}

#[test]
fn an_undo_counts_no_machine_that_is_leaving_already() {
    let mut world = World::running(3, rolling(Int(2), Int(0)));
    world.bounds = Some((3, 5));
    world.physics.boot = 10;
    world.set_version(NEW);
    // until the old set is to give up its last Machine
    while wanted(&world) != [0, 3] {
        world.reconcile_deployment();
        if wanted(&world) == [0, 3] {
            break;
        }
        world.pass_time(10);
        world.pass_sets();
    }
    // it has, but it has not said so
    world.fault = Some((world.machines_of(0).len(), Fault::Crash));
    world.reconcile_set(0);
    assert_eq!(world.machines_of(0).len(), 0, "{}", world.transcript);
    let status = world.sets[0].status.clone().expect("a status");
    assert!(status.available_replicas > 0, "{}", world.transcript);
    world.set_version(OLD);
    for _ in 0..40 {
        world.reconcile_deployment();
        world.pass_sets();
        world.pass_time(1);
    }
    assert_eq!(world.wrongs, [] as [String; 0], "{}", world.transcript);
}

#[test]
fn a_second_edit_does_not_forget_what_was_made_for_the_first() {
    let mut world = World::running(6, rolling(Int(3), Int(1)));
    world.bounds = Some((5, 9));
    world.physics.boot = 60;
    world.physics.vanish = 60;
    world.set_version(BAD);
    world.reconcile_deployment();
    // three are made, and the manager ends before it says so
    world.fault = Some((3, Fault::Crash));
    world.reconcile_set(1);
    assert_eq!(world.machines_of(1).len(), 3, "{}", world.transcript);
    world.set_version(NEW);
    for _ in 0..6 {
        world.reconcile_deployment();
        world.pass_sets();
    }
    assert_eq!(world.wrongs, [] as [String; 0], "{}", world.transcript);
    finish(&mut world, 5);
    assert_eq!(world.wrongs, [] as [String; 0], "{}", world.transcript);
}

#[test]
fn what_was_made_and_is_not_listed_yet_is_not_made_again() {
    let mut world = World::running(2, rolling(Int(1), Int(0)));
    world.lag();
    let gone = world.machines_of(0)[0].clone();
    world.lose(&gone);
    world.hear_all();
    for _ in 0..3 {
        // what is made is heard of by nobody
        world.reconcile_set(0);
        assert_eq!(world.machines_of(0).len(), 2, "{}", world.transcript);
    }
    world.hear_all();
    world.reconcile_set(0);
    assert_eq!(world.made.len(), 3, "{}", world.transcript);
}

#[test]
fn a_machine_whose_answer_was_lost_is_there_and_a_new_manager_finds_it() {
    for fault in [Fault::Answer, Fault::Crash] {
        let mut world = World::new(2, rolling(Int(1), Int(0)));
        world.reconcile_deployment();
        world.lag();
        world.fault = Some((1, fault));
        world.reconcile_set(0);
        for _ in 0..4 {
            world.reconcile_set(0);
        }
        assert_eq!(world.made.len(), 2, "{fault:?}\n{}", world.transcript);
    }
}

#[test]
fn a_deletion_asks_how_many_there_shall_be_at_that_moment() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.lag();
    world.deployment.spec.replicas = 1;
    world.hear_all();
    world.reconcile_deployment();
    world.hear_all();
    // the set has heard of one, but by now it shall have three again
    world.sets[0].spec.replicas = 3;
    world.reconcile_set(0);
    assert_eq!(world.machines_of(0).len(), 3, "{}", world.transcript);
}

#[test]
fn replicas_and_template_in_one_edit_make_machines_of_the_new_template_only() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.boot = 60;
    world.set_version(NEW);
    world.deployment.spec.replicas = 6;
    let before = world.made.len();
    finish(&mut world, 3);
    assert_eq!(world.made.len() - before, 6, "{}", world.transcript);
    let mut world = World::running(6, rolling(Int(1), Int(0)));
    world.physics.boot = 60;
    let before = world.made.len();
    world.set_version(NEW);
    while wanted(&world) != [3, 4] {
        world.pass();
        world.pass_time(10);
    }
    world.deployment.spec.replicas = 12;
    finish(&mut world, 6);
    assert_eq!(world.made.len() - before, 12, "{}", world.transcript);
}

#[test]
fn a_scale_up_goes_to_the_old_template_where_the_new_one_has_proven_broken() {
    let mut world = World::running(3, rolling(Int(1), Int(0)));
    world.physics.broken.insert(BAD.into());
    world.set_version(BAD);
    world.pass();
    world.pass_time(700);
    world.pass();
    assert_eq!(
        progressing(&world).reason(),
        Reason::ProgressDeadlineExceeded
    );
    world.deployment.spec.replicas = 6;
    for _ in 0..4 {
        world.pass();
        world.pass_time(10);
    }
    assert_eq!(wanted(&world), [6, 1], "{}", world.transcript);
    assert_eq!(world.available(), 6, "{}", world.transcript);
}
