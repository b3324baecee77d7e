//! What holds whatever happens.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use kube::ResourceExt;
use proptest::prelude::*;
use tatara_core::api::Machine;

use crate::rollout::simulation::{Dice, World, later, rolling};

const VERSIONS: [&str; 4] = ["v1.35.0", "v1.36.0", "v1.36.1", "v1.36.2"];
/// The version with which no Machine ever gets a Node.
const BROKEN: &str = "v1.36.1";

/// What happens to a roll from outside.
#[derive(Clone, Debug)]
enum Event {
    /// A Machine is gone.
    Lose(usize),
    /// A Machine ends in a terminal error.
    Fail(usize),
    /// Somebody deletes a Machine.
    Delete(usize),
    /// Somebody deletes a Machine, and the deletion hangs until the end.
    Hang(usize),
    /// The template gets another version.
    Edit(usize),
    /// The class gets another content.
    EditClass(u8),
    /// The deployment is scaled.
    Scale(i32),
    /// Rolling is paused, or goes on.
    Pause(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<usize>().prop_map(Event::Lose),
        any::<usize>().prop_map(Event::Fail),
        any::<usize>().prop_map(Event::Delete),
        any::<usize>().prop_map(Event::Hang),
        (0..VERSIONS.len()).prop_map(Event::Edit),
        any::<u8>().prop_map(Event::EditClass),
        (0..9).prop_map(Event::Scale),
        any::<bool>().prop_map(Event::Pause),
    ]
}

#[derive(Clone, Debug)]
struct Story {
    planes: bool,
    replicas: i32,
    surge: i32,
    unavailable: i32,
    boot: i64,
    vanish: i64,
    seed: u64,
    /// Passes until the event, and the event.
    events: Vec<(usize, Event)>,
}

fn story() -> impl Strategy<Value = Story> {
    let numbers = (1..9, 0..4, 0..4, 0..90_i64, 0..90_i64);
    (
        numbers,
        (0..3_u8, any::<u64>()),
        proptest::collection::vec((0..12_usize, event()), 0..8),
    )
        .prop_map(
            |((replicas, surge, unavailable, boot, vanish), (role, seed), events)| Story {
                planes: role == 0,
                replicas,
                surge,
                unavailable,
                boot,
                vanish,
                seed,
                events,
            },
        )
}

/// A world, the dice that choose whose pass is next, and what is to be subtracted from the blame.
struct Run {
    world: World,
    dice: Dice,
    /// Machines in deletion that others told to go: their replacements are no step of ours.
    foreign: Vec<String>,
}

impl Run {
    fn new(story: &Story) -> Self {
        let limits = rolling(Int(story.surge), Int(story.unavailable));
        let world = if story.planes {
            World::planes(story.replicas, limits)
        } else {
            World::running(story.replicas, limits)
        };
        let mut world = world.at_pace((story.boot, story.vanish), BROKEN);
        world.set_version("v1.36.0");
        Self {
            world,
            dice: Dice::new(story.seed),
            foreign: Vec::new(),
        }
    }

    /// One pass of somebody, or some time. What the pass itself did stays within the limits.
    fn step(&mut self) -> Result<(), TestCaseError> {
        let (minimum, maximum) = self.world.allowed();
        let (available, machines) = (self.world.available(), self.world.machines.len());
        match self.dice.roll(self.world.sets.len() + 2) {
            0 => {
                self.world.reconcile_deployment();
            }
            1 => {
                // What was decided about a Machine that has no Node must not meet it with one.
                self.hear();
                self.world.pass_time(15);
                self.hear();
            }
            at => {
                self.world.reconcile_set(at - 2);
            }
        }
        self.foreign.retain(|name| {
            self.world
                .machines
                .iter()
                .any(|machine| machine.name_any() == *name)
        });
        let log = &self.world.transcript;
        let (left, total) = (self.world.available(), self.world.machines.len());
        prop_assert!(
            left >= available.min(minimum),
            "{left} of {available} available, {minimum} must be\n{log}"
        );
        // also while those are in deletion by which it was scaled down, a set makes up for what others told to go
        let allowed = machines.max(maximum) + self.foreign.len();
        prop_assert!(
            total <= allowed,
            "{total} Machines, {allowed} allowed\n{log}"
        );
        Ok(())
    }

    /// What happens from outside happens to a system that has heard of all before: what a planner
    /// decides on old news is nobody's fault.
    fn hear(&mut self) {
        for at in 0..self.world.sets.len() {
            self.world.reconcile_set(at);
        }
    }

    fn happen(&mut self, event: &Event) {
        self.hear();
        let live: Vec<String> = self
            .world
            .machines
            .iter()
            .filter(|machine| machine.metadata.deletion_timestamp.is_none())
            .map(ResourceExt::name_any)
            .collect();
        let chosen = |at: &usize| live.get(at % live.len().max(1)).cloned();
        match event {
            Event::Lose(at) => {
                if let Some(name) = chosen(at) {
                    self.world.lose(&name);
                }
            }
            Event::Fail(at) => {
                if let Some(name) = chosen(at) {
                    self.world.fail(&name);
                }
            }
            Event::Delete(at) | Event::Hang(at) => {
                if let Some(name) = chosen(at) {
                    if matches!(event, Event::Hang(_)) {
                        self.world.physics.stuck.insert(name.clone());
                    }
                    self.foreign.push(name.clone());
                    self.world.delete(&name);
                }
            }
            Event::Edit(at) => self.world.set_version(VERSIONS[*at]),
            Event::EditClass(content) => self.world.class["bootMilliseconds"] = (*content).into(),
            Event::Scale(replicas) => self.world.deployment.spec.replicas = *replicas,
            Event::Pause(paused) => self.world.deployment.spec.paused = *paused,
        }
        self.hear();
    }

    /// Peace: nothing hangs or is paused any more, and the template is one that works.
    fn end(&mut self) -> Result<(), TestCaseError> {
        self.happen(&Event::Pause(false));
        if self.world.control_plane {
            // one or two cannot be replaced without one more
            self.world.deployment.spec.strategy = rolling(Int(1), Int(0));
        }
        self.world.physics.stuck.clear();
        let versions = self
            .world
            .deployment
            .spec
            .template
            .spec
            .versions
            .clone()
            .unwrap_or_default();
        if versions.kubelet == BROKEN {
            self.world.set_version("v1.36.2");
        }
        if self.world.control_plane {
            // only a person can tell a `kubeadm init` that never ends from one that runs
            let is_broken = |machine: &&Machine| {
                let versions = machine.spec.versions.as_ref();
                versions.is_some_and(|versions| versions.kubelet == BROKEN)
            };
            let broken = self.world.machines.iter().filter(is_broken);
            let broken: Vec<String> = broken.map(ResourceExt::name_any).collect();
            for name in broken {
                self.foreign.push(name.clone());
                self.world.delete(&name);
            }
        }
        // A Machine of the current set that failed is its health check's to remove, not the roll's.
        let heal = |world: &mut World| {
            let names: Vec<String> = world.machines.iter().map(ResourceExt::name_any).collect();
            for name in names {
                let machine = world.machine(&name);
                if machine
                    .status
                    .as_ref()
                    .is_some_and(|status| status.phase.is_some())
                {
                    machine.status = None;
                }
            }
        };
        heal(&mut self.world);
        self.hear();
        for _ in 0..6000 {
            self.step()?;
            if self.world.is_done() {
                return Ok(());
            }
        }
        let wanted: Vec<i32> = self
            .world
            .sets
            .iter()
            .map(|set| set.spec.replicas)
            .collect();
        let plan = self.world.deployment_plan();
        let log: Vec<&str> = self.world.transcript.lines().rev().take(60).collect();
        Err(TestCaseError::fail(format!(
            "not done: {wanted:?} {plan:?}\n{}",
            log.join("\n")
        )))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_limits_hold_and_the_end_is_reached(story in story()) {
        let mut run = Run::new(&story);
        for (passes, event) in &story.events {
            for _ in 0..*passes {
                run.step()?;
            }
            run.happen(event);
        }
        run.end()?;
    }

    #[test]
    fn a_lost_machine_is_made_again_by_its_own_set_before_the_next_step(
        story in story(),
        passes in 0..40_usize,
        edit in any::<bool>(),
        victim in any::<usize>(),
    ) {
        // what a control plane lost is made of the current template
        let story = Story { planes: false, ..story };
        let mut run = Run::new(&story);
        for _ in 0..passes {
            run.step()?;
        }
        if edit {
            run.happen(&Event::EditClass(1));
        }
        run.world.reconcile_deployment();
        run.hear();
        let sets = 0..run.world.sets.len();
        let owners: Vec<(usize, String)> =
            sets.flat_map(|at| run.world.machines_of(at).into_iter().map(move |name| (at, name))).collect();
        prop_assume!(!owners.is_empty());
        let (at, lost) = owners[victim % owners.len()].clone();
        let wanted = run.world.sets[at].spec.replicas;
        let template = run.world.sets[at].spec.template.spec.clone();
        let mut before = run.world.machines_of(at);
        let have = before.len();
        prop_assume!(usize::try_from(wanted) == Ok(have));
        run.world.lose(&lost);
        before.retain(|name| *name != lost);
        // The loss is known before anything is made: the set's next pass comes at any time.
        let mut status = run.world.sets[at].status.clone().unwrap_or_default();
        run.world.set_plan(at).counts.write(&mut status);
        run.world.sets[at].status = Some(status);
        run.world.steps.clear();
        let deadline = later(run.world.now, 500);
        while run.world.machines_of(at).len() < have {
            prop_assert!(run.world.now < deadline, "not made again\n{}", run.world.transcript);
            run.step()?;
            if run.world.machines_of(at).len() < have {
                let shrunk: Vec<_> = run.world.steps.iter().filter(|(_, from, to)| to < from).collect();
                prop_assert!(shrunk.is_empty(), "{shrunk:?} before {lost} was back\n{}", run.world.transcript);
            }
        }
        let machine = run.world.newcomer(at, &before);
        prop_assert_eq!(machine.spec.versions, template.versions);
        prop_assert_eq!(machine.spec.provider_spec, template.provider_spec);
    }
}
