//! What nobody plans for: the management cluster is restored from a backup while jobs go on on the
//! hosts, which the backup knows nothing of; and hosts do not answer, also the manager that has
//! just started. Then too no two members are down by jobs, etcd keeps its quorum, and nothing is
//! wiped that etcd lists.

use super::*;

#[derive(Clone, Copy, Debug)]
enum Disaster {
    Usual(Event),
    Backup,
    Restore,
    Silence { host: usize, is_silent: bool },
}

fn disaster() -> impl Strategy<Value = Disaster> {
    prop_oneof![
        30 => event().prop_map(Disaster::Usual),
        1 => Just(Disaster::Backup),
        1 => Just(Disaster::Restore),
        2 => (0..UIDS.len(), any::<bool>())
            .prop_map(|(host, is_silent)| Disaster::Silence { host, is_silent }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_restored_backup_and_silent_hosts_cost_no_quorum_and_no_data(
        events in prop::collection::vec(disaster(), 1..400),
    ) {
        let mut world = World::new();
        world.back_up();
        for event in events {
            world.meet(event)?;
            world.must_hold().map_err(|why| TestCaseError::fail(format!("{why} after {event:?}")))?;
        }
    }
}

/// Two updates broke off, and a backup from before the second was restored: no list says whose
/// member is down, and each may be stopped by an earlier attempt. The second is updated although
/// only the first would bring the quorum back: that costs nothing, but somebody has to start etcd
/// of the first (found by the property above).
#[test]
fn without_a_quorum_another_update_that_broke_off_may_go_on() {
    let pass = |machine| {
        Disaster::Usual(Event::Pass {
            machine,
            killed_after: None,
        })
    };
    let grant = Disaster::Usual(Event::Plan { killed_after: None });
    let want = |machine| Disaster::Usual(Event::Want { machine });
    let breaks = |host, down| {
        Disaster::Usual(Event::Breaks {
            host,
            cut: false,
            down,
        })
    };
    let ask = Disaster::Usual(Event::Ask);
    let mut world = World::new();
    let mut happen = |events: &[Disaster]| {
        for event in events {
            world.meet(*event).expect("a history");
            world.must_hold().expect("what holds");
        }
    };
    // two are left
    happen(&[Disaster::Usual(Event::Delete { machine: 2 }), ask]);
    happen(&[pass(2), grant, pass(2), ask, pass(2), ask, pass(2)]);
    // one update breaks off, and then the other one, whose member stays down
    happen(&[want(0), want(1), pass(1), grant, pass(1)]);
    happen(&[breaks(1, false), pass(1), Disaster::Backup]);
    happen(&[pass(0), grant, pass(0)]);
    happen(&[Disaster::Usual(Event::Goes { host: 0 }), breaks(0, true)]);
    happen(&[Disaster::Restore, pass(0), pass(2), ask]);
    happen(&[pass(1), grant, pass(1)]);
    happen(&[Disaster::Usual(Event::Goes { host: 1 })]);
    assert!(world.sites.iter().take(2).all(|site| site.stopped));
    assert!(world.both.secret.has_turn_of(UIDS[1]));
}

/// The backup has the turn of one that has returned it since, and another has it and goes on, which
/// the backup knows nothing of (found by the property above).
#[test]
fn a_turn_of_a_backup_waits_for_the_job_of_another() {
    let mut world = World::new();
    let pass = |world: &mut World, machine| world.pass(machine).expect("a pass");
    for machine in 0..2 {
        world.happen(Event::Want { machine }).expect("a wish");
    }
    pass(&mut world, 0);
    world.plan_turns();
    world.back_up();
    pass(&mut world, 0);
    let breaks = Event::Breaks {
        host: 0,
        cut: false,
        down: false,
    };
    world.happen(breaks).expect("a failure");
    pass(&mut world, 0);
    for _ in 0..2 {
        pass(&mut world, 1);
        world.plan_turns();
    }
    pass(&mut world, 1);
    world.restore();
    world.ask();
    for host in [1, 0] {
        pass(&mut world, 0);
        world.happen(Event::Goes { host }).expect("a step");
        world.must_hold().expect("one at a time");
    }
    let is_running = |run: &Run| matches!(run.state, UnitState::Running(_));
    assert!(world.sites[1].jobs.iter().any(is_running), "the history");
}

/// As above, of one host that did not answer a new manager at first.
#[test]
fn a_host_that_did_not_answer_a_new_manager_is_asked_again_before_another_changes() {
    let mut world = World::new();
    world.happen(Event::Want { machine: 0 }).expect("a wish");
    world.back_up();
    let starts = |world: &mut World, machine: usize| {
        for _ in 0..4 {
            world.ask();
            world.pass(machine).expect("a pass");
            world.plan_turns();
        }
        world.sites[machine]
            .jobs
            .iter()
            .any(|run| matches!(run.state, UnitState::Running(_)))
    };
    assert!(starts(&mut world, 0));
    world.restore();
    world.sites[0].is_silent = true;
    world.pass(0).expect("a pass");
    world.sites[0].is_silent = false;
    world.happen(Event::Want { machine: 1 }).expect("a wish");
    world.pass(2).expect("a pass");
    assert!(!starts(&mut world, 1), "cp-0 is updated meanwhile");
    world.pass(0).expect("a pass");
    world.must_hold().expect("one at a time");
}

/// The backup knows of a Machine, or of one made again, and not that it was begun; it is deleted
/// before anything else is found out (found by the property above).
#[test]
fn one_that_a_backup_knows_as_not_begun_is_looked_at_before_it_is_released() {
    let mut world = World::new();
    let pass = |world: &mut World| world.pass(3).expect("a pass");
    world.happen(Event::Make).expect("a Machine");
    world.back_up();
    pass(&mut world);
    world.happen(Event::Goes { host: 3 }).expect("prepared");
    pass(&mut world);
    world.plan_turns();
    pass(&mut world);
    assert!(world.objects[3].begun, "the history");
    world.happen(Event::Goes { host: 3 }).expect("a learner");
    world.restore();
    world.happen(Event::Delete { machine: 3 }).expect("deleted");
    world.ask();
    pass(&mut world);
    assert!(!world.objects[3].releasing);
    let breaks = Event::Breaks {
        host: 3,
        cut: true,
        down: false,
    };
    world.happen(breaks).expect("a power cut");
    world.come_to_rest(&[0]).expect("it leaves");
    assert!(!world.objects[3].exists && world.members.len() == 3);
}

impl World {
    fn meet(&mut self, event: Disaster) -> Result<(), TestCaseError> {
        match event {
            Disaster::Usual(event) => self.happen(event)?,
            Disaster::Backup => self.back_up(),
            Disaster::Restore => self.restore(),
            Disaster::Silence { host, is_silent } => self.sites[host].is_silent = is_silent,
        }
        Ok(())
    }

    fn back_up(&mut self) {
        self.backup = Some((self.both.clone(), self.objects.clone()));
    }

    /// All that is written, as it was. A Machine that is gone since does not come back: its host
    /// may be another's.
    fn restore(&mut self) {
        let Some((both, objects)) = self.backup.clone() else {
            return;
        };
        let mut pairs = objects.iter().zip(&self.objects).zip(&self.sites);
        if pairs.any(|((then, now), site)| then.exists && (!now.exists || site.is_reset)) {
            return;
        }
        (self.both, self.objects) = (both, objects);
        for run in self.sites.iter_mut().flat_map(|site| &mut site.jobs) {
            run.is_forgotten = true;
        }
        self.forget();
    }
}
