//! A management cluster in memory: a MachineDeployment, its MachineSets and Machines as API objects,
//! changed by nothing but the two planners, the passing of time, and what a test does to them.

mod faults;
mod heard;
mod observed;
mod passes;
mod strategies;
mod transcript;

pub use crate::support::dice::Dice;
pub use faults::Fault;
pub use strategies::{in_place, on_delete, rolling};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::{Value, json};
use tatara::controllers::live_read::Look;
use tatara::controllers::machine_set::InFlight;
use tatara_core::api::conditions::{self, ConditionType, is_true};
use tatara_core::api::machine_deployment::Strategy;
use tatara_core::api::machine_set::DeletePolicy;
use tatara_core::api::{
    EmbeddedMeta, Machine, MachineDeployment, MachineDeploymentSpec, MachineSet, MachineSetStatus,
    MachineSpec, MachineStatus, MachineTemplate, MachineVersions,
};
use tatara_core::machine_deployment::{self, plan as deployment_plan};
use tatara_core::machine_set::{self, Gate, Owner, plan as set_plan};

/// How Machines behave.
#[derive(Clone, Debug, Default)]
pub struct Physics {
    /// Seconds from creation until a Machine has a Node that is Ready.
    pub boot: i64,
    /// Seconds from deletion until a Machine is gone.
    pub vanish: i64,
    /// Seconds from its move to another set until a Machine runs its new version.
    pub update: i64,
    /// Kubelet versions with which a Machine never gets a Node.
    pub broken: BTreeSet<String>,
    /// Machines whose deletion hangs, by name.
    pub stuck: BTreeSet<String>,
    /// Hosts in the pool; None for as many as are wanted.
    pub hosts: Option<usize>,
}

/// A management cluster in memory.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    pub deployment: MachineDeployment,
    /// The provider spec that the template's MachineClass holds.
    pub class: Value,
    pub sets: Vec<MachineSet>,
    pub machines: Vec<Machine>,
    pub physics: Physics,
    /// Its Machines are control planes.
    pub control_plane: bool,
    /// Holds back creation in sets of this kubelet version.
    pub gated: Option<String>,
    /// Wanted replicas of the sets after each pass of the deployment, oldest set first.
    pub sequence: Vec<Vec<i32>>,
    /// Passes of the deployment.
    pub passes: usize,
    pub fewest_available: usize,
    pub most_machines: usize,
    pub transcript: String,
    /// Replicas that a pass of the deployment changed, as (set, from, to).
    pub steps: Vec<(String, i32, i32)>,
    /// Names of all Machines that were ever made, in order.
    pub made: Vec<String>,
    /// When Machines moved to another set, by name.
    pub moved: BTreeMap<String, Timestamp>,
    /// So many writes from now something goes wrong.
    pub fault: Option<(usize, Fault)>,
    /// Available Machines that there must be and Machines that there may be after every write.
    pub bounds: Option<(usize, usize)>,
    /// What was not as it must be.
    pub wrongs: Vec<String>,
    in_flight: InFlight,
    /// The deployment and its sets were read live since the manager started.
    looked: bool,
    /// None while everything is heard of at once.
    heard: Option<heard::Heard>,
    uids: u32,
}

/// A name for a set in a transcript: ms1 is the oldest.
pub fn alias(world: &World, name: &str) -> String {
    let at = world.sets.iter().position(|set| set.name_any() == name);
    at.map_or_else(|| name.to_owned(), |at| format!("ms{}", at + 1))
}

impl World {
    /// A deployment of v1.35.0 that nothing has been made for yet.
    pub fn new(replicas: i32, strategy: Strategy) -> Self {
        let labels = [("pool".to_owned(), "workers".to_owned())];
        let template = MachineTemplate {
            metadata: EmbeddedMeta {
                labels: labels.clone().into(),
                ..EmbeddedMeta::default()
            },
            spec: MachineSpec {
                versions: Some(versions("v1.35.0")),
                ..MachineSpec::default()
            },
        };
        let spec = MachineDeploymentSpec {
            replicas,
            selector: LabelSelector {
                match_labels: Some(labels.into()),
                match_expressions: None,
            },
            template,
            strategy,
            revision_history_limit: 1,
            progress_deadline_seconds: 600,
            ..MachineDeploymentSpec::default()
        };
        let mut deployment = MachineDeployment::new("workers", spec);
        deployment.metadata.namespace = Some("default".into());
        deployment.metadata.uid = Some("deployment".into());
        Self {
            now: "2026-11-21T00:00:00Z".parse().expect("a time"),
            deployment,
            class: json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"}),
            sets: Vec::new(),
            machines: Vec::new(),
            physics: Physics::default(),
            control_plane: false,
            gated: None,
            sequence: Vec::new(),
            passes: 0,
            fewest_available: usize::MAX,
            most_machines: 0,
            transcript: String::new(),
            steps: Vec::new(),
            made: Vec::new(),
            moved: BTreeMap::new(),
            fault: None,
            bounds: None,
            wrongs: Vec::new(),
            in_flight: InFlight::default(),
            looked: false,
            heard: None,
            uids: 0,
        }
    }

    /// The same, brought up in peace, and forgetting how.
    pub fn running(replicas: i32, strategy: Strategy) -> Self {
        Self::new(replicas, strategy).brought_up()
    }

    /// The same, of control planes.
    pub fn planes(replicas: i32, strategy: Strategy) -> Self {
        let mut world = Self::new(replicas, strategy);
        world.control_plane = true;
        world.set_version("v1.35.0");
        world.brought_up()
    }

    fn brought_up(mut self) -> Self {
        self.settle(50);
        self.forget();
        self
    }

    /// The same, in which from now on booting and vanishing take so many seconds, and one version never gets a Node.
    pub fn paced(
        replicas: i32,
        strategy: Strategy,
        (boot, vanish): (i64, i64),
        broken: &str,
    ) -> Self {
        Self::running(replicas, strategy).at_pace((boot, vanish), broken)
    }

    /// From now on booting and vanishing take so many seconds, and one version never gets a Node.
    pub fn at_pace(mut self, (boot, vanish): (i64, i64), broken: &str) -> Self {
        self.physics.boot = boot;
        self.physics.vanish = vanish;
        self.physics.broken.insert(broken.to_owned());
        self
    }

    /// Available Machines that there must be, and Machines that there may be, as the deployment is now.
    pub fn allowed(&self) -> (usize, usize) {
        let replicas = self.wanted();
        let limits = deployment_plan::Limits::of(&self.deployment.spec.strategy, replicas);
        let mut limits = limits.expect("limits");
        if self.control_plane {
            limits = limits.of_control_plane();
        }
        let number = |number: i32| usize::try_from(number).unwrap_or_default();
        (
            number(limits.min_available(replicas)),
            number(limits.max_total(replicas)),
        )
    }

    /// Machines that there shall be: the last control plane stays.
    fn wanted(&self) -> i32 {
        let replicas = self.deployment.spec.replicas;
        let has_one = self.control_plane && !self.machines.is_empty();
        replicas.max(i32::from(has_one))
    }

    /// Starts the records anew.
    pub fn forget(&mut self) {
        self.sequence.clear();
        self.transcript.clear();
        self.steps.clear();
        self.passes = 0;
        self.fewest_available = usize::MAX;
        self.most_machines = 0;
    }

    pub fn set_version(&mut self, version: &str) {
        let mut versions = versions(version);
        versions.control_plane = self.control_plane.then(|| version.to_owned());
        self.deployment.spec.template.spec.versions = Some(versions);
    }

    pub fn machine(&mut self, name: &str) -> &mut Machine {
        self.machines
            .iter_mut()
            .find(|machine| machine.name_any() == name)
            .expect("the Machine")
    }

    /// Somebody, or a set, deletes a Machine.
    pub fn delete(&mut self, name: &str) {
        let now = self.now;
        self.machine(name)
            .metadata
            .deletion_timestamp
            .get_or_insert(Time(now));
        self.pass_time(0);
    }

    /// A Machine is gone from one moment to the next.
    pub fn lose(&mut self, name: &str) {
        self.machines.retain(|machine| machine.name_any() != name);
        self.told();
    }

    /// The Machine that a set made since it had these.
    pub fn newcomer(&self, at: usize, before: &[String]) -> Machine {
        let name = self
            .machines_of(at)
            .into_iter()
            .find(|name| !before.contains(name));
        let machine = self
            .machines
            .iter()
            .find(|machine| name.as_ref() == Some(&machine.name_any()));
        machine.expect("a new Machine").clone()
    }

    /// A Machine ends in a terminal error.
    pub fn fail(&mut self, name: &str) {
        let machine = self.machine(name);
        let status = machine.status.get_or_insert_default();
        status.phase = Some("Failed".into());
        status.conditions.clear();
    }

    /// Lets so many seconds pass: Machines get their Nodes, and those in deletion go.
    pub fn pass_time(&mut self, seconds: i64) {
        self.now = later(self.now, seconds);
        let (now, physics) = (self.now, self.physics.clone());
        // What takes time does not happen between two passes: only when time is let pass.
        let has_time = |needed: i64| seconds > 0 || needed == 0;
        self.machines.retain(|machine| {
            let deleted = machine.metadata.deletion_timestamp.as_ref();
            let gone = has_time(physics.vanish)
                && deleted.is_some_and(|at| now >= later(at.0, physics.vanish));
            !gone || physics.stuck.contains(&machine.name_any())
        });
        let hosts = physics.hosts.unwrap_or(usize::MAX);
        for machine in self.machines.iter_mut().take(hosts) {
            let created = machine
                .metadata
                .creation_timestamp
                .as_ref()
                .expect("a time")
                .0;
            let wanted = machine.versions().expect("versions").clone();
            let kubelet = wanted.kubelet.clone();
            let untouched =
                machine.status.is_none() && machine.metadata.deletion_timestamp.is_none();
            if untouched
                && has_time(physics.boot)
                && now >= later(created, physics.boot)
                && !physics.broken.contains(&kubelet)
            {
                machine.status = Some(ready(now, wanted.clone()));
            }
            let moved = self.moved.get(&machine.name_any());
            let is_updated = has_time(physics.update)
                && moved.is_some_and(|at| now >= later(*at, physics.update))
                && !physics.broken.contains(&kubelet);
            if let (true, Some(status)) = (is_updated, &mut machine.status) {
                status.versions = Some(wanted);
            }
        }
        self.told();
    }

    /// Passes over everything, oldest set first, until nothing is left to do.
    pub fn settle(&mut self, limit: usize) {
        for _ in 0..limit {
            if !self.pass() {
                return;
            }
        }
        panic!("not settled after {limit} passes:\n{}", self.transcript);
    }

    /// One pass over the deployment, then one over each set. Whether anything was done.
    pub fn pass(&mut self) -> bool {
        let acted = self.reconcile_deployment();
        self.pass_sets() || acted
    }

    /// One pass over each set. Whether anything was done.
    pub fn pass_sets(&mut self) -> bool {
        let mut acted = false;
        for at in 0..self.sets.len() {
            acted |= self.reconcile_set(at);
        }
        acted
    }

    /// Whether no pass would do anything, and everything is as it shall be.
    pub fn is_done(&self) -> bool {
        let replicas = usize::try_from(self.wanted()).expect("not negative");
        let quiet = self.deployment_plan().actions.is_empty()
            && (0..self.sets.len()).all(|at| self.set_plan(at).actions.is_empty());
        quiet
            && self.machines.len() == replicas
            && self.up_to_date() == replicas
            && self.available() == replicas
    }
}

pub fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds))
        .expect("a time")
}

pub fn versions(kubelet: &str) -> MachineVersions {
    MachineVersions {
        kubelet: kubelet.into(),
        control_plane: None,
    }
}

pub fn is_ready(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    let is_ready = status.is_some_and(|status| is_true(&status.conditions, ConditionType::Ready));
    // of one that moved, not before it runs what it wants
    let runs = status.and_then(|status| status.versions.as_ref());
    is_ready && runs.is_none_or(|runs| Some(runs) == machine.versions())
}

fn ready(now: Timestamp, versions: MachineVersions) -> MachineStatus {
    let condition = Condition {
        type_: "Ready".into(),
        status: "True".into(),
        reason: "NodeReady".into(),
        message: String::new(),
        last_transition_time: Time(now),
        observed_generation: None,
    };
    MachineStatus {
        node_ref: Some(k8s_openapi::api::core::v1::ObjectReference::default()),
        conditions: vec![condition],
        versions: Some(versions),
        ..MachineStatus::default()
    }
}
