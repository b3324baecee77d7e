//! Two control-plane Machines, their hosts, their Cluster and its CA Secret in memory, changed by nothing but plans
//! and by what goes wrong: whatever happens in whatever order, there is never a second init.

use proptest::prelude::*;

use super::super::turn::{Both, Holder, Side, Step, give_back, record, record_found, settle, take};
use super::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A pass over a Machine. It may see the Cluster as it was when it was last looked at.
    Pass { machine: usize, fresh: bool },
    /// The unit that runs on a host ends, well or not.
    Ends { host: usize, well: bool },
    /// The power of a host goes: what runs is interrupted.
    PowerCut { host: usize },
    /// A host stops answering, or answers again.
    Cable { host: usize },
    /// Somebody deletes a Machine.
    Delete { machine: usize },
    /// A released host is reset, if it answers, and freed.
    Reset { host: usize },
    /// Somebody deletes a Host by force, under whatever runs on it; or registers it again, and gives it back.
    Lose { host: usize },
    /// Somebody takes the finalizer off a Machine that is deleted.
    Strip { machine: usize },
    /// A pass over a Host whose Machine does not exist.
    Look { host: usize },
    /// A minute passes.
    Minute,
    /// The manager is killed after this many writes of the turn more, and starts anew.
    Crash { writes: usize },
    /// A pass over the Cluster.
    Settle,
    /// A person writes this turn on the Cluster or on its Secret, or removes it.
    Edit { side: Side, to: Option<usize> },
    /// The Cluster, the Secret, or both are restored to how they were then.
    Restore { what: Option<Side>, then: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let which = || 0..2_usize;
    let side = || prop_oneof![Just(Side::Secret), Just(Side::Cluster)];
    prop_oneof![
        8 => (which(), any::<bool>()).prop_map(|(machine, fresh)| Event::Pass { machine, fresh }),
        4 => (which(), any::<bool>()).prop_map(|(host, well)| Event::Ends { host, well }),
        1 => which().prop_map(|host| Event::PowerCut { host }),
        1 => which().prop_map(|host| Event::Cable { host }),
        1 => which().prop_map(|machine| Event::Delete { machine }),
        2 => which().prop_map(|host| Event::Reset { host }),
        1 => which().prop_map(|host| Event::Lose { host }),
        1 => which().prop_map(|machine| Event::Strip { machine }),
        2 => which().prop_map(|host| Event::Look { host }),
        1 => Just(Event::Minute),
        1 => (0..3_usize).prop_map(|writes| Event::Crash { writes }),
        1 => Just(Event::Settle),
        1 => (side(), prop::option::of(which())).prop_map(|(side, to)| Event::Edit { side, to }),
        1 => (prop::option::of(side()), any::<usize>())
            .prop_map(|(what, then)| Event::Restore { what, then }),
    ]
}

#[derive(Clone, Default)]
struct Site {
    /// The Machine whose marker it has.
    marked: bool,
    initialized: bool,
    silent: bool,
    units: Vec<(UnitName, Option<UnitState>)>,
    /// `kubeadm init` was begun here since the last reset: the key of the CA is there.
    began: bool,
    /// The manager has seen that key since it started.
    sighted: bool,
    /// Its Host was deleted by force.
    unregistered: bool,
}

impl Site {
    /// It can be asked.
    fn answers(&self) -> bool {
        !self.silent && !self.unregistered
    }
}

#[derive(Clone, Default)]
struct Member {
    deleted_at: Option<i64>,
    releasing: bool,
    claims: bool,
    /// kubeadm was begun for it, as is written on it.
    settings: bool,
    gone: bool,
}

struct World {
    now: i64,
    /// Every state that Cluster and Secret had; the last is the present one.
    states: Vec<Both>,
    /// Both as each Machine last saw them.
    seen: [Both; 2],
    /// Writes of the turn until the manager is killed.
    writes_left: Option<usize>,
    /// A host that ran init was silent since the manager started, and neither Cluster nor Secret names its Machine
    /// any more: nothing in reach knows that a control plane may exist.
    is_lost: bool,
    /// A Machine took another host while what it began on the first may run.
    has_moved: bool,
    sites: [Site; 2],
    members: [Member; 2],
}

const UIDS: [&str; 2] = [ME, OTHER];

impl World {
    fn new() -> Self {
        let member = Member {
            claims: true,
            ..Member::default()
        };
        Self {
            now: 0,
            states: vec![Both::default()],
            seen: Default::default(),
            writes_left: None,
            is_lost: false,
            has_moved: false,
            sites: [Site::default(), Site::default()],
            members: [member.clone(), member],
        }
    }

    fn observed(&self, at_machine: usize) -> Observed {
        let (member, site) = (&self.members[at_machine], &self.sites[at_machine]);
        let seen = &self.seen[at_machine];
        let name = format!("cp-{at_machine}");
        let mut observed = control_plane();
        observed.machine = Arc::new(machine(&name, UIDS[at_machine], true));
        observed.marker = marker(&name, UIDS[at_machine]);
        observed = edited(
            observed,
            &json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 120 } } }),
        );
        if let Some(since) = member.deleted_at {
            observed = deleted(observed, at(since));
        }
        observed = with_cluster(observed, |cluster| {
            cluster.turn = seen.holder().cloned();
            cluster.initialized_by.clone_from(&seen.cluster.initialized);
        });
        if member.settings {
            let settings =
                json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } } });
            observed = edited(observed, &settings);
        }
        if site.unregistered {
            return lost(observed, Unheld::Missing);
        }
        if !member.claims {
            return observed;
        }
        let owner = if site.marked {
            Ownership::Owner(Owner {
                marker: observed.marker.clone(),
                initialized: site.initialized,
                joined: false,
            })
        } else {
            Ownership::Nobody
        };
        let units = site.units.iter().map(|(name, state)| {
            let state = state.clone().unwrap_or(UnitState::Running(step("one")));
            unit(&observed, *name, state)
        });
        let units = units.collect();
        observed = on(observed, owner, units);
        if let Placement::Held(held) = &mut observed.placement {
            held.releasing = member.releasing;
            if site.silent {
                held.contact = Contact::Unreachable {
                    reason: "Unreachable",
                    message: "no answer".into(),
                };
            }
        }
        observed
    }

    fn both(&self) -> Both {
        self.states.last().cloned().unwrap_or_default()
    }

    /// Writes of the turn, as `turn.rs` makes them; nothing when the manager was killed between two of them.
    fn go(&mut self, decide: impl Fn(&Both) -> Step) -> Option<Step> {
        loop {
            let mut both = self.both();
            let step = decide(&both);
            let Step::Write(side, marks) = step else {
                return Some(step);
            };
            if let Some(left) = &mut self.writes_left {
                let Some(less) = left.checked_sub(1) else {
                    self.start_anew();
                    return None;
                };
                *left = less;
            }
            match side {
                Side::Secret => both.secret = marks,
                Side::Cluster => both.cluster = marks,
            }
            self.states.push(both);
        }
    }

    fn start_anew(&mut self) {
        self.writes_left = None;
        for site in &mut self.sites {
            site.sighted = false;
        }
    }

    /// The turn, or the leave to start init, judged live: on both objects, and on what other hosts say.
    fn takes(&mut self, machine: usize) -> bool {
        let other = &mut self.sites[1 - machine];
        other.sighted |= other.began && other.answers();
        let begun = &self.members[1 - machine];
        let is_witnessed = self.sites[1 - machine].sighted || (begun.settings && !begun.gone);
        !is_witnessed && self.go(|both| take(both, &turn_of(UIDS[machine]))) == Some(Step::Done)
    }

    fn look_whether_all_is_lost(&mut self) {
        let both = self.both();
        let names = |uid: &str| {
            let by = [&both.secret.initialized, &both.cluster.initialized];
            both.has_turn_of(uid) || by.into_iter().flatten().any(|by| by == uid)
        };
        self.is_lost |= (0..2).any(|host| {
            let site = &self.sites[host];
            let begun = &self.members[host];
            let is_known = site.sighted || (begun.settings && !begun.gone) || names(UIDS[host]);
            site.began && !site.answers() && !is_known
        });
    }

    /// Carries an action out as `execute` does: judged on what is true now, where that matters.
    fn perform(&mut self, machine: usize, action: &Action) {
        if *action == Action::RunUnit(UnitName::Init) && !self.takes(machine) {
            return;
        }
        let (site, member) = (&mut self.sites[machine], &mut self.members[machine]);
        match action {
            // another host than the one that it had is a third, and nothing was begun on that
            Action::Acquire { .. } if site.unregistered => self.has_moved |= site.began,
            Action::Acquire { .. } => member.claims = true,
            Action::TakeHost if site.answers() => site.marked = true,
            Action::RunUnit(name) if site.marked && site.answers() => {
                let running = site.units.iter().any(|(_, state)| state.is_none());
                if !running {
                    site.units.retain(|(old, _)| old != name);
                    site.units.push((*name, None));
                    site.began |= *name == UnitName::Init;
                    member.settings |= *name == UnitName::Init;
                }
            }
            Action::TakeTurn(_) => {
                self.takes(machine);
            }
            Action::ReturnTurn(_) => {
                self.go(|both| give_back(both, UIDS[machine]));
            }
            Action::RecordInitialized => {
                self.go(|both| record(both, UIDS[machine]));
            }
            Action::Release => member.releasing = true,
            Action::RemoveFinalizer(_) => member.gone = true,
            _ => (),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Pass { machine, fresh } if !self.members[machine].gone => {
                if fresh {
                    self.seen[machine] = self.both();
                }
                let site = &mut self.sites[machine];
                site.sighted |= site.began && site.answers();
                let plan = plan(&self.observed(machine), at(self.now));
                for action in &plan.actions {
                    self.perform(machine, action);
                }
            }
            Event::Ends { host, well } => {
                let site = &mut self.sites[host];
                for (name, state) in site.units.iter_mut().filter(|(_, state)| state.is_none()) {
                    *state = Some(if well {
                        UnitState::Succeeded
                    } else {
                        failure("no")
                    });
                    site.initialized |= well && *name == UnitName::Init;
                }
            }
            Event::PowerCut { host } => {
                for (_, state) in &mut self.sites[host].units {
                    state.get_or_insert(UnitState::Interrupted(step("one")));
                }
            }
            Event::Cable { host } => self.sites[host].silent ^= true,
            Event::Lose { host } => {
                let site = &mut self.sites[host];
                site.unregistered ^= true;
                // what a Host said goes with it
                site.sighted = false;
            }
            Event::Strip { machine } => {
                self.members[machine].gone |= self.members[machine].deleted_at.is_some();
            }
            Event::Look { host } => self.look(host),
            Event::Delete { machine } => {
                self.members[machine].deleted_at.get_or_insert(self.now);
            }
            Event::Reset { host } => self.reset(host),
            Event::Minute => self.now += 60,
            Event::Crash { writes } => self.writes_left = Some(writes),
            Event::Settle => {
                self.go(settle);
            }
            Event::Edit { side, to } => {
                let mut both = self.both();
                let turn = to.map_or(Holder::Nobody, |to| Holder::Of(turn_of(UIDS[to])));
                match side {
                    Side::Secret => both.secret.turn = turn,
                    Side::Cluster => both.cluster.turn = turn,
                }
                self.states.push(both);
            }
            Event::Restore { what, then } => {
                let then = self.states[then % self.states.len()].clone();
                let both = match what {
                    None => then,
                    Some(Side::Secret) => Both {
                        secret: then.secret,
                        ..self.both()
                    },
                    Some(Side::Cluster) => Both {
                        cluster: then.cluster,
                        ..self.both()
                    },
                };
                self.states.push(both);
            }
            Event::Pass { .. } => (),
        }
    }

    /// It has the control plane of the Cluster, which stays; see the Host's `guarded`.
    fn guards(&self, host: usize) -> bool {
        let by = self.both().cluster.initialized;
        self.sites[host].initialized && by.is_none_or(|by| by == UIDS[host])
    }

    /// What the Host's controller proves of a Machine that does not exist: by the marker, and where no other host has the key.
    fn look(&mut self, host: usize) {
        let [site, other] = [&self.sites[host], &self.sites[1 - host]];
        let is_proven = site.initialized && site.answers() && !other.sighted;
        if self.members[host].gone && is_proven && self.both().cluster.initialized.is_none() {
            self.go(|both| record_found(both, UIDS[host]));
        }
    }

    /// What the Host's controller does: the reset, of which the host keeps the record; and the claim, once its Machine
    /// is gone.
    fn reset(&mut self, host: usize) {
        if !self.members[host].releasing || !self.sites[host].answers() || self.guards(host) {
            return;
        }
        self.sites[host] = Site {
            units: vec![(UnitName::Reset, Some(UnitState::Succeeded))],
            ..Site::default()
        };
        if self.members[host].gone {
            if self.go(|both| give_back(both, UIDS[host])).is_none() {
                return;
            }
            self.members[host].claims = false;
            self.members[host].releasing = false;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn init_is_begun_on_one_host_at_a_time_and_never_beside_a_control_plane(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            world.look_whether_all_is_lost();
            if world.is_lost {
                break;
            }
            let began = world.sites.iter().filter(|site| site.began).count();
            prop_assert!(began <= 1, "init was begun on both hosts after {event:?}");
            prop_assert!(!world.has_moved, "a Machine left its host after {event:?}");
        }
    }
}

#[test]
fn one_of_two_makes_the_control_plane_and_the_other_says_what_it_waits_for() {
    let mut world = World::new();
    for _ in 0..20 {
        for machine in [1, 0] {
            world.happen(Event::Pass {
                machine,
                fresh: true,
            });
            world.happen(Event::Ends {
                host: machine,
                well: true,
            });
        }
    }
    let by = world.both().cluster.initialized.expect("a control plane");
    let maker = UIDS.iter().position(|uid| *uid == by).expect("one of both");
    assert!(world.sites[maker].began && !world.sites[1 - maker].began);
    let other = plan(&world.observed(1 - maker), at(world.now));
    assert_eq!(
        finding(&other, "Ready").reason,
        "ControlPlaneJoinUnsupported"
    );
}

/// M0 ran init, and was stripped of its finalizer before that was recorded. Its host is not reset because of the control
/// plane, and M1 does not run init because of its host.
#[test]
fn an_init_that_was_not_recorded_before_its_machine_went_holds_nobody_for_ever() {
    for turn_is_kept in [true, false] {
        let mut world = World::new();
        let pass = |machine| Event::Pass {
            machine,
            fresh: true,
        };
        while !world.sites[0].began {
            world.happen(pass(0));
            world.happen(Event::Settle);
            let ends = world.sites[0].began;
            world.happen(Event::Ends {
                host: 0,
                well: true,
            });
            assert!(!ends || world.sites[0].initialized);
        }
        world.happen(Event::Delete { machine: 0 });
        world.happen(Event::Strip { machine: 0 });
        world.members[0].releasing = true;
        if !turn_is_kept {
            for side in [Side::Secret, Side::Cluster] {
                world.happen(Event::Edit { side, to: None });
            }
        }
        let tries = |world: &mut World| {
            for _ in 0..5 {
                world.happen(pass(1));
                world.happen(Event::Ends {
                    host: 1,
                    well: true,
                });
                world.happen(Event::Reset { host: 0 });
            }
        };
        tries(&mut world);
        assert!(world.sites[0].initialized, "no reset of a control plane");
        assert!(!world.sites[1].began, "no second init");
        world.happen(Event::Look { host: 0 });
        let both = world.both();
        for marks in [&both.secret, &both.cluster] {
            assert_eq!(marks.initialized.as_deref(), Some(ME), "{turn_is_kept}");
            assert_eq!(marks.turn, Holder::Nobody, "{turn_is_kept}");
        }
        tries(&mut world);
        assert!(world.sites[0].initialized && !world.sites[1].began);
        let other = plan(&world.observed(1), at(world.now));
        let reason = finding(&other, "Ready").reason;
        assert_eq!(reason, "ControlPlaneJoinUnsupported");
    }
}
