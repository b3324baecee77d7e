//! Control planes that are updated, join and leave at once, in memory: their hosts, their etcd, the
//! turn, and what each pass knows, which may be old. They are changed by nothing but plans, by jobs
//! that end well or not, and by a manager that is killed after any of its effects; and, in
//! [`disasters`], by a management cluster that is restored from a backup, and by hosts that do not
//! answer. Whatever happens in whatever order: kubeadm changes one control plane at a time, that of
//! the Machine which has the turn; never more than one member is down by that while there is a
//! quorum, which etcd keeps while it can; and once nothing goes wrong any more, all are as wanted,
//! and the turn is free.

mod disasters;
mod jobs;
mod passes;
mod world;

use proptest::prelude::*;

use jobs::address;

use super::*;
use crate::control_plane::component::Components;
use crate::control_plane::turn::Both;
use crate::node::Follow;

/// Three control planes, and one that may join them.
const UIDS: [&str; 4] = [
    ME,
    OTHER,
    "33333333-0000-4000-8000-000000000003",
    "44444444-0000-4000-8000-000000000004",
];
const OLD: &str = "v1.35.4";
const NEW: &str = "v1.36.3";

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A pass over a Machine. The manager is killed after so many effects of it.
    Pass {
        machine: usize,
        killed_after: Option<usize>,
    },
    /// A pass of the planner. The manager is killed after so many effects of it.
    Plan { killed_after: Option<usize> },
    /// The manager asks etcd and the components how they are. What it knows of them is old until
    /// the next time.
    Ask,
    /// The job on a host comes one step further.
    Goes { host: usize },
    /// It fails, or is cut; what it has stopped may stay so.
    Breaks { host: usize, cut: bool, down: bool },
    /// A released host is reset.
    Reset { host: usize },
    /// Somebody wants the new version of a Machine.
    Want { machine: usize },
    /// Somebody makes the fourth Machine.
    Make,
    /// Somebody deletes a Machine, if two are left that have joined.
    Delete { machine: usize },
    /// A minute passes.
    Minute,
}

fn event() -> impl Strategy<Value = Event> {
    let which = || 0..UIDS.len();
    let killed = prop::option::weighted(0.15, 0..4_usize);
    prop_oneof![
        40 => (which(), killed)
            .prop_map(|(machine, killed_after)| Event::Pass { machine, killed_after }),
        20 => prop::option::weighted(0.15, 0..2_usize)
            .prop_map(|killed_after| Event::Plan { killed_after }),
        15 => Just(Event::Ask),
        30 => which().prop_map(|host| Event::Goes { host }),
        8 => (which(), any::<bool>(), any::<bool>())
            .prop_map(|(host, cut, down)| Event::Breaks { host, cut, down }),
        6 => which().prop_map(|host| Event::Reset { host }),
        6 => which().prop_map(|machine| Event::Want { machine }),
        5 => Just(Event::Make),
        1 => which().prop_map(|machine| Event::Delete { machine }),
        5 => Just(Event::Minute),
    ]
}

/// A job on a host.
#[derive(Clone, Debug)]
struct Run {
    kind: JobKind,
    identity: String,
    /// The version that was wanted when it began.
    version: String,
    state: UnitState,
    /// A backup that was restored since knows nothing of it.
    is_forgotten: bool,
}

/// A server.
#[derive(Clone, Debug, Default)]
struct Site {
    jobs: Vec<Run>,
    /// kubeadm has made its node.
    joined: bool,
    /// A job has stopped its member, and did not start it again.
    stopped: bool,
    /// etcd had lost its quorum before that.
    cost_nothing: bool,
    /// Its API server.
    runs: String,
    kubelet: String,
    /// It was reset for its Machine.
    is_reset: bool,
    /// It does not answer the manager.
    is_silent: bool,
}

#[derive(Clone, Debug)]
struct Object {
    exists: bool,
    deleted: bool,
    releasing: bool,
    /// kubeadm was begun for it, as is written on it.
    begun: bool,
    wants: String,
    /// Of its spec, which was edited so often.
    generation: i64,
    status: crate::api::MachineStatus,
}

/// What the manager has in memory of a Machine.
#[derive(Clone, Debug, Default)]
struct Memory {
    follow: Option<Follow>,
    look: LastLook,
    attempts: std::collections::BTreeMap<JobKind, Attempts>,
}

/// What it has in memory of the Cluster.
#[derive(Clone, Debug)]
struct Known {
    both: Both,
    etcd: Lookup<Arc<Members>>,
    components: [Option<Arc<Components>>; 4],
}

struct World {
    now: i64,
    both: Both,
    members: Vec<Member>,
    /// Members that were added so far.
    added: u64,
    sites: [Site; 4],
    objects: [Object; 4],
    nodes: [Option<NodeView>; 4],
    memory: [Memory; 4],
    known: Known,
    /// Effects until the manager is killed.
    effects_left: Option<usize>,
    /// A backup of the management cluster.
    backup: Option<(Both, [Object; 4])>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn one_control_plane_changes_at_a_time_etcd_keeps_its_quorum_and_all_end_as_wanted(
        events in prop::collection::vec(event(), 1..300),
        order in prop::collection::vec(0..UIDS.len(), 1..4),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event)?;
            world.must_hold().map_err(|why| TestCaseError::fail(format!("{why} after {event:?}")))?;
        }
        world.come_to_rest(&order)?;
    }
}

#[test]
fn three_are_updated_one_joins_and_one_leaves() {
    let mut world = World::new();
    world.happen(Event::Make).expect("a Machine");
    let rest = |world: &mut World| {
        world.come_to_rest(&[0, 1, 2]).expect("rest");
    };
    rest(&mut world);
    assert_eq!(world.members.len(), 4);
    world
        .happen(Event::Delete { machine: 0 })
        .expect("a deletion");
    rest(&mut world);
    assert_eq!(world.members.len(), 3);
    assert!(!world.objects[0].exists && world.sites[3].runs == NEW);
}

impl World {
    fn happen(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Pass {
                machine,
                killed_after,
            } => {
                self.effects_left = killed_after;
                self.pass(machine)?;
                self.effects_left = None;
            }
            Event::Plan { killed_after } => {
                self.effects_left = killed_after;
                self.plan_turns();
                self.effects_left = None;
            }
            Event::Ask => self.ask(),
            Event::Goes { host } => self.goes(host),
            Event::Breaks { host, cut, down } => self.breaks(host, cut, down),
            Event::Reset { host } => self.reset(host)?,
            Event::Want { machine } => {
                let object = &mut self.objects[machine];
                if object.wants != NEW {
                    object.wants = NEW.into();
                    object.generation += 1;
                }
            }
            Event::Make => {
                // a Machine of its name comes but once
                let is_new = !self.sites[3].is_reset && !self.objects[3].deleted;
                self.objects[3].exists |= is_new;
            }
            Event::Delete { machine } => {
                let stays = |other: &usize| {
                    let object = &self.objects[*other];
                    object.exists && !object.deleted && self.sites[*other].joined
                };
                let left = (0..UIDS.len()).filter(|other| *other != machine);
                if self.objects[machine].exists && left.filter(stays).count() >= 2 {
                    self.objects[machine].deleted = true;
                }
            }
            Event::Minute => self.now += 60,
        }
        Ok(())
    }

    /// What holds after each event.
    fn must_hold(&self) -> Result<(), String> {
        let stopped = self.sites.iter().zip(0..).filter(|(site, host)| {
            let own = address(*host);
            site.stopped && !site.cost_nothing && self.members.iter().any(|one| one.is_at(&own))
        });
        if stopped.count() > 1 {
            return Err("two members are down".into());
        }
        // one or two cannot miss any, and are updated all the same
        let voters = self.members.iter().filter(|member| !member.is_learner);
        if voters.count() > 2 && !self.has_quorum() {
            return Err(format!("no quorum: {:?}", self.members));
        }
        for (machine, site) in self.sites.iter().enumerate() {
            let changes = |run: &&Run| {
                matches!(run.state, UnitState::Running(_)) && run.kind != JobKind::Prepare
            };
            let mut jobs = site.jobs.iter().filter(|run| !run.is_forgotten);
            let changes = jobs.find(changes);
            if let Some(run) = changes.filter(|_| !self.both.secret.has_turn_of(UIDS[machine])) {
                return Err(format!("cp-{machine} runs {:?} without the turn", run.kind));
            }
        }
        Ok(())
    }

    /// From now on nothing goes wrong, and all want the new version.
    fn come_to_rest(&mut self, order: &[usize]) -> Result<(), TestCaseError> {
        for machine in 0..UIDS.len() {
            self.happen(Event::Want { machine })?;
        }
        for round in 0..100 {
            let first = order[round % order.len()];
            for next in 0..UIDS.len() {
                let machine = (first + next) % UIDS.len();
                self.ask();
                self.plan_turns();
                self.pass(machine)?;
                self.goes(machine);
                self.reset(machine)?;
                self.must_hold().map_err(TestCaseError::fail)?;
            }
            self.now += 20;
            if self.troubles().is_empty() {
                return Ok(());
            }
        }
        let plans = (0..UIDS.len()).map(|machine| plan(&self.observed(machine), at(self.now)));
        let told = plans.map(|plan| (plan.actions, plan.findings));
        let told: Vec<_> = told.collect();
        Err(TestCaseError::fail(format!(
            "{:?}: {told:#?}",
            self.troubles()
        )))
    }
}
