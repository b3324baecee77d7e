//! Machines in the manager's memory, for trials and scale tests. Simulated: no host, no kubelet. Their
//! Nodes are real objects in the workload API, and are found by provider ID through the same code as
//! those of real machines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::SimulatedMachineProviderSpec;
use crate::controllers::machine::{Contact, Held, Observed, Placement, Seen};

/// A machine in memory.
#[derive(Clone, Debug)]
struct Simulation {
    error: Option<String>,
    releasing: bool,
}

/// Finds the API of the cluster that a machine is to join; `None` while it is not known.
pub type FindApi = Arc<dyn Fn(&str, &str) -> Option<Client> + Send + Sync>;
/// Wakes a Machine, by namespace and name.
pub type WakeMachine = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// All simulated machines, by UID of their Machine.
pub struct Simulated {
    machines: Arc<Mutex<HashMap<String, Simulation>>>,
    api: FindApi,
    wake: WakeMachine,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Simulated {
    /// No machines yet.
    pub fn new(
        api: FindApi,
        wake: WakeMachine,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            machines: Arc::default(),
            api,
            wake,
            tasks,
            stop,
        }
    }

    /// Where a Machine runs. After a restart of the manager a machine exists if its Node does.
    pub fn placement(&self, observed: &Observed, _: &SimulatedMachineProviderSpec) -> Placement {
        let simulation = self.lock().get(observed.uid()).cloned();
        let has_node = matches!(observed.node, Seen::Known(Some(_)));
        let name = observed.marker.machine.clone();
        let held = |releasing, error| {
            Placement::Held(Held {
                name: name.clone(),
                address: None,
                releasing,
                contact: Contact::SelfRegistering(error),
            })
        };
        match simulation {
            Some(simulation) => held(simulation.releasing, simulation.error),
            None if has_node && observed.machine.metadata.deletion_timestamp.is_none() => {
                held(false, None)
            }
            None => Placement::None(Ok(name)),
        }
    }

    /// Makes the machine, once. It boots, registers its Node, and turns Ready in its own time.
    pub fn acquire(&self, observed: &Observed, spec: &SimulatedMachineProviderSpec, _: Timestamp) {
        let uid = observed.uid().to_owned();
        let mut machines = self.lock();
        if machines.contains_key(&uid) {
            return;
        }
        machines.insert(
            uid,
            Simulation {
                error: spec.fail.clone(),
                releasing: false,
            },
        );
        drop(machines);
        if spec.fail.is_some() {
            return;
        }
        let Some(client) = (self.api)(&observed.marker.namespace, &observed.marker.cluster) else {
            self.lock().remove(observed.uid());
            return;
        };
        let node = node(observed);
        let (boot, ready) = (
            Duration::from_millis(spec.boot_milliseconds),
            Duration::from_millis(spec.ready_milliseconds),
        );
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = register(client, node, boot, ready) => {}
                () = stop.cancelled() => {}
            }
        });
    }

    /// Ends the machine, in its own time.
    pub fn release(&self, observed: &Observed, spec: &SimulatedMachineProviderSpec, _: Timestamp) {
        let uid = observed.uid().to_owned();
        self.lock()
            .entry(uid.clone())
            .or_insert(Simulation {
                error: None,
                releasing: false,
            })
            .releasing = true;
        let (machines, wake) = (self.machines.clone(), self.wake.clone());
        let (namespace, name) = (
            observed.marker.namespace.clone(),
            observed.marker.machine.clone(),
        );
        let (delay, stop) = (
            Duration::from_millis(spec.delete_milliseconds),
            self.stop.clone(),
        );
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = stop.cancelled() => return,
            }
            machines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&uid);
            wake(&namespace, &name);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Simulation>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn register(client: Client, node: Node, boot: Duration, ready: Duration) {
    tokio::time::sleep(boot).await;
    let nodes: Api<Node> = Api::all(client);
    let name = node.metadata.name.clone().unwrap_or_default();
    if let Err(error) = nodes.create(&PostParams::default(), &node).await {
        tracing::warn!(node = name, %error, "simulated machine failed to register its Node");
        return;
    }
    tokio::time::sleep(ready).await;
    let now = crate::clock::now();
    let condition = NodeCondition {
        type_: "Ready".into(),
        status: "True".into(),
        reason: Some("Simulated".into()),
        message: Some("simulated machine".into()),
        last_transition_time: Some(Time(now)),
        ..NodeCondition::default()
    };
    let body = json!({ "status": NodeStatus {
        conditions: Some(vec![condition]),
        node_info: node.status.and_then(|status| status.node_info),
        ..NodeStatus::default()
    } });
    if let Err(error) = nodes
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(&body))
        .await
    {
        tracing::warn!(node = name, %error, "simulated machine failed to turn Ready");
    }
}

fn node(observed: &Observed) -> Node {
    let mut node = Node::default();
    let own = observed.machine.spec.metadata.name.clone();
    node.metadata.name = Some(own.unwrap_or_else(|| observed.marker.machine.clone()));
    node.spec = Some(NodeSpec {
        provider_id: observed.machine.spec.provider_id.clone(),
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
