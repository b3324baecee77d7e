//! Machines in the manager's memory, for trials and scale tests. Simulated: no host, no kubelet.
//! Their Nodes are real objects in the workload API, and are found by provider ID through the same
//! code as those of real machines.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tatara_core::Why;
use tatara_core::api::conditions::{Reason, Status};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::choice::choose;
use super::{Outcome, Place, Provider, Server};
use crate::engine::{ActionOutcome, Engine, ReconcileError};
use tatara_core::api::names::provider_id;
use tatara_core::api::{MachineProviderSpec, SimulatedMachineProviderSpec};
use tatara_core::machine::plan::{Acquire, Power, Release};
use tatara_core::machine::{Contact, Infrastructure, Lookup, Observed, Placement};

/// A machine in memory.
struct Simulation {
    error: Option<String>,
    releasing: bool,
    /// Cancels its life cycle.
    end: CancellationToken,
    /// Its life cycle while it lasts, from power-on to a Ready Node.
    life: Option<JoinHandle<()>>,
}

/// Finds the API of the cluster that a machine is to join; `None` while it is not known.
pub type FindApi = Arc<dyn Fn(&str, &str) -> Option<Client> + Send + Sync>;
/// Wakes a Machine, by namespace and name.
pub type WakeMachine = Arc<dyn Fn(&str, &str) + Send + Sync>;

type Machines = Arc<Mutex<HashMap<String, Simulation>>>;

/// All simulated machines, by UID of their Machine.
pub struct Simulated {
    machines: Machines,
    /// UID and version of those that are being updated.
    updates: Arc<Mutex<HashSet<(String, String)>>>,
    engine: Arc<Engine>,
    api: FindApi,
    wake: WakeMachine,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Simulated {
    /// Starts without machines.
    pub fn new(
        engine: Arc<Engine>,
        api: FindApi,
        wake: WakeMachine,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            machines: Arc::default(),
            updates: Arc::default(),
            engine,
            api,
            wake,
            tasks,
            stop,
        }
    }

    /// Where a Machine runs. After a restart of the manager a machine exists if its Node does.
    fn placement(&self, observed: &Observed) -> Placement {
        let name = observed.marker.machine.clone();
        let held = |releasing, error| {
            Placement::Held(Infrastructure {
                name: name.clone(),
                address: None,
                releasing,
                contact: Contact::SelfRegistering(error),
                stuck: None,
                why: None,
                strange: None,
                power: None,
            })
        };
        if let Some(simulation) = lock(&self.machines).get(observed.uid()) {
            return held(simulation.releasing, simulation.error.clone());
        }
        let machine = &observed.machine;
        let status = machine.status.as_ref();
        let was_node = status.is_some_and(|status| status.node_ref.is_some());
        let is_node = match &observed.node {
            Lookup::Known(node) => node.is_some(),
            Lookup::Unknown(_) | Lookup::NotYet(_) => was_node,
        };
        if is_node && machine.metadata.deletion_timestamp.is_none() {
            return held(false, None);
        }
        let cluster = &observed.marker.cluster;
        let connected = (self.api)(&observed.marker.namespace, cluster).is_some();
        match &observed.node {
            Lookup::Known(_) if connected => Placement::None(Ok(name)),
            _ => Placement::None(Err(Why::new(
                Reason::WaitingForControlPlane,
                format!(
                    "a simulated machine registers its Node by itself, and the API of Cluster {cluster} is not connected yet"
                ),
            ))),
        }
    }

    /// Creates the machine, once. It boots, registers its Node, and becomes Ready after the
    /// configured delays.
    fn make(&self, observed: &Observed, spec: &SimulatedMachineProviderSpec) {
        let Some(client) = (self.api)(&observed.marker.namespace, &observed.marker.cluster) else {
            return;
        };
        let uid = observed.uid().to_owned();
        let mut machines = lock(&self.machines);
        if machines.contains_key(&uid) {
            return;
        }
        let end = self.stop.child_token();
        let life = spec.fail.is_none().then(|| {
            let birth = Birth {
                client,
                node: node(observed),
                boot: Duration::from_millis(spec.boot_milliseconds),
                ready: Duration::from_millis(spec.ready_milliseconds),
                end: end.clone(),
            };
            self.tasks.spawn(self.live(observed, birth))
        });
        let simulation = Simulation {
            error: spec.fail.clone(),
            releasing: false,
            end,
            life,
        };
        machines.insert(uid, simulation);
    }

    /// The life cycle of a machine; an error in it becomes the machine's error.
    fn live(&self, observed: &Observed, birth: Birth) -> impl Future<Output = ()> + use<> {
        let (machines, wake) = (self.machines.clone(), self.wake.clone());
        let marker = observed.marker.clone();
        async move {
            let result = birth.run().await;
            if let Some(simulation) = lock(&machines).get_mut(&marker.uid) {
                // a handle keeps the memory of its task, which is kilobytes, after its end
                simulation.life = None;
                if let Err(error) = &result {
                    simulation.error = Some(format!("failed to register its Node: {error}"));
                }
            }
            if result.is_err() {
                wake(&marker.namespace, &marker.machine);
            }
        }
    }

    /// Its Node reports the version that its Machine wants, after the configured delay; once for
    /// each.
    fn update(&self, observed: &Observed, spec: &SimulatedMachineProviderSpec) {
        let client = (self.api)(&observed.marker.namespace, &observed.marker.cluster);
        let (Some(client), Lookup::Known(Some(node)), Some(versions)) =
            (client, &observed.node, observed.machine.versions())
        else {
            return;
        };
        let key = (observed.uid().to_owned(), versions.kubelet.clone());
        let updates = self.updates.clone();
        if !lock(&updates).insert(key.clone()) {
            return;
        }
        let delay = Duration::from_millis(spec.update_milliseconds);
        let (stop, name) = (self.stop.clone(), node.name.clone());
        let marker = observed.marker.clone();
        let wake = self.wake.clone();
        self.tasks.spawn(async move {
            if pause(delay, &stop).await {
                let status = json!({ "status": { "nodeInfo": { "kubeletVersion": key.1 } } });
                let nodes: Api<Node> = Api::all(client);
                let parameters = PatchParams::default();
                let patched = nodes
                    .patch_status(&name, &parameters, &Patch::Merge(status))
                    .await;
                if let Err(error) = patched {
                    tracing::warn!(node = name, %error, "failed to update a simulated machine");
                }
            }
            lock(&updates).remove(&key);
            wake(&marker.namespace, &marker.machine);
        });
    }

    /// Ends the machine after the configured delay.
    fn end(&self, observed: &Observed, spec: &SimulatedMachineProviderSpec) {
        let marker = observed.marker.clone();
        let life = {
            let mut machines = lock(&self.machines);
            let simulation = machines
                .entry(marker.uid.clone())
                .or_insert_with(|| Simulation {
                    error: None,
                    releasing: false,
                    end: self.stop.child_token(),
                    life: None,
                });
            if simulation.releasing {
                return;
            }
            simulation.releasing = true;
            simulation.end.cancel();
            simulation.life.take()
        };
        let (machines, wake) = (self.machines.clone(), self.wake.clone());
        let delay = Duration::from_millis(spec.delete_milliseconds);
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            if let Some(life) = life {
                life.await.ok();
            }
            if pause(delay, &stop).await {
                lock(&machines).remove(&marker.uid);
                wake(&marker.namespace, &marker.machine);
            }
        });
    }
}

impl Provider for Simulated {
    fn observe<'a>(&'a self, machine: &'a Observed) -> BoxFuture<'a, Place> {
        ready(self.placement(machine).into()).boxed()
    }

    fn acquire<'a>(&'a self, machine: &'a Observed, step: &'a Acquire) -> BoxFuture<'a, Outcome> {
        async move {
            let Ok(MachineProviderSpec::Simulated(spec)) = &machine.spec else {
                return Ok(ActionOutcome::Yes);
            };
            let (name, instead) = match step {
                Acquire::Place { name, instead } => (name, instead),
                Acquire::Update => {
                    self.update(machine, spec);
                    return Ok(ActionOutcome::Yes);
                }
                _ => return Ok(ActionOutcome::Yes),
            };
            if machine.machine.spec.provider_id.is_none() {
                choose(&self.engine, machine, name, instead.as_ref()).await?;
            }
            self.make(machine, spec);
            (self.wake)(&machine.marker.namespace, &machine.marker.machine);
            Ok(ActionOutcome::Yes)
        }
        .boxed()
    }

    fn power<'a>(&'a self, _: &'a Observed, _: Power) -> BoxFuture<'a, Outcome> {
        ready(Ok(ActionOutcome::Yes)).boxed()
    }

    // a simulated machine can always be ended, so the way of release is ignored
    fn release<'a>(&'a self, machine: &'a Observed, _: Release) -> BoxFuture<'a, Outcome> {
        let spec = match &machine.spec {
            Ok(MachineProviderSpec::Simulated(spec)) => spec.clone(),
            _ => SimulatedMachineProviderSpec::default(),
        };
        self.end(machine, &spec);
        ready(Ok(ActionOutcome::Yes)).boxed()
    }

    fn server(&self, _: &Observed) -> Result<Arc<dyn Server>, ReconcileError> {
        let what = "reach the server of a Machine";
        Err(ReconcileError::other(what, "it is simulated"))
    }
}

// each change is one call, so a panic leaves the map consistent
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits; `false` if it was cancelled before.
async fn pause(time: Duration, end: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = end.cancelled() => false,
        () = tokio::time::sleep(time) => true,
    }
}

/// The life cycle from power-on to a Ready Node.
struct Birth {
    client: Client,
    node: Node,
    boot: Duration,
    ready: Duration,
    end: CancellationToken,
}

impl Birth {
    /// Only the pauses can be cancelled: a request that was sent may have been executed.
    async fn run(mut self) -> Result<(), kube::Error> {
        if !pause(self.boot, &self.end).await {
            return Ok(());
        }
        let nodes: Api<Node> = Api::all(self.client);
        let name = self.node.metadata.name.clone().unwrap_or_default();
        if self.ready.is_zero() {
            // at once: a manager that is killed in between would leave a Node that nobody makes
            // Ready
            let status = self.node.status.get_or_insert_default();
            status.conditions = Some(vec![is_ready()]);
        }
        nodes.create(&PostParams::default(), &self.node).await?;
        if self.ready.is_zero() {
            return Ok(());
        }
        if !pause(self.ready, &self.end).await {
            // the manager may not have observed the Node yet, and would then leave it behind
            return nodes
                .delete(&name, &DeleteParams::default())
                .await
                .map(drop);
        }
        let status = NodeStatus {
            conditions: Some(vec![is_ready()]),
            ..NodeStatus::default()
        };
        let body = Patch::Merge(json!({ "status": status }));
        let parameters = PatchParams::default();
        nodes
            .patch_status(&name, &parameters, &body)
            .await
            .map(drop)
    }
}

fn is_ready() -> NodeCondition {
    NodeCondition {
        type_: "Ready".into(),
        status: Status::True.as_str().into(),
        reason: Some("Simulated".into()),
        message: Some("simulated machine".into()),
        last_transition_time: Some(Time(crate::clock::now())),
        ..NodeCondition::default()
    }
}

fn node(observed: &Observed) -> Node {
    let mut node = Node::default();
    let own = observed.machine.spec.metadata.name.clone();
    node.metadata.name = Some(own.unwrap_or_else(|| observed.marker.machine.clone()));
    node.spec = Some(NodeSpec {
        provider_id: Some(provider_id("simulated", observed.uid())),
        ..NodeSpec::default()
    });
    let kubelet = observed
        .machine
        .versions()
        .map(|v| v.kubelet.clone())
        .unwrap_or_default();
    node.status = Some(NodeStatus {
        node_info: Some(NodeSystemInfo {
            kubelet_version: kubelet,
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    });
    node
}
