//! One workload cluster: its client, a snapshot of its Nodes, and its connectivity.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::error::Cause;
use super::node_index::NodeIndex;
use super::watch;
use tatara_core::NodeView;
use tatara_core::api::Cluster;

/// The Cluster that a workload cluster belongs to. The UID distinguishes a Cluster from a deleted
/// one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterKey {
    /// Namespace of the Cluster.
    pub namespace: String,
    /// Name of the Cluster.
    pub name: String,
    /// UID of the Cluster.
    pub uid: String,
}

impl ClusterKey {
    /// That of a Cluster.
    pub fn of(cluster: &Cluster) -> Self {
        Self {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
            uid: cluster.uid().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Called for a Node of a workload cluster.
pub type WakeNode = Arc<dyn Fn(&ClusterKey, &NodeView) + Send + Sync>;
/// Called for a workload cluster.
pub type WakeCluster = Arc<dyn Fn(&ClusterKey) + Send + Sync>;

/// The functions to call on changes in a workload cluster. Both are called from its watch and
/// must return at once.
#[derive(Clone)]
pub struct Wake {
    /// A Node was added, deleted, or changed in a way that a controller waits for.
    pub node: WakeNode,
    /// The workload cluster became reachable or unreachable.
    pub cluster: WakeCluster,
}

/// The state of the watch of a workload cluster's Nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// No answer yet; the snapshot of Nodes is empty and incomplete.
    Connecting,
    /// The watch keeps the snapshot up to date.
    Connected {
        /// Since when.
        since: Timestamp,
    },
    /// The workload cluster does not answer; the snapshot is out of date.
    Disconnected {
        /// Since when.
        since: Timestamp,
        /// Error of the last attempt, for messages.
        why: String,
        /// Its kind.
        cause: Cause,
    },
}

/// A connected workload cluster. Dropping the last reference ends its watch.
pub struct WorkloadCluster {
    key: ClusterKey,
    client: Client,
    state: Arc<State>,
    watch: AbortHandle,
}

/// State that the watch writes and others read.
pub(super) struct State {
    nodes: RwLock<NodeIndex>,
    connectivity: RwLock<Connectivity>,
    relist: Notify,
}

impl WorkloadCluster {
    /// Starts the watch. Must be called within a tokio runtime.
    pub(super) fn connect(key: ClusterKey, client: Client, wake: Wake) -> Self {
        let state = Arc::new(State {
            nodes: RwLock::new(NodeIndex::of(&key.namespace)),
            connectivity: RwLock::new(Connectivity::Connecting),
            relist: Notify::new(),
        });
        let follow = watch::follow(key.clone(), client.clone(), Arc::clone(&state), wake);
        let watch = tokio::spawn(follow).abort_handle();
        Self {
            key,
            client,
            state,
            watch,
        }
    }

    /// The Cluster that it belongs to.
    pub fn key(&self) -> &ClusterKey {
        &self.key
    }

    /// A client of the workload cluster's API.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The state of the watch of its Nodes.
    pub fn connectivity(&self) -> Connectivity {
        read(&self.state.connectivity).clone()
    }

    /// Whether the Nodes were listed, so that a Node that is not found does not exist.
    pub fn is_synced(&self) -> bool {
        read(&self.state.nodes).is_listed()
    }

    /// The Node with this name, from the snapshot.
    pub fn node(&self, name: &str) -> Option<Arc<NodeView>> {
        read(&self.state.nodes).by_name(name)
    }

    /// Whether a Node has one of these as its `spec.providerID`; absent before the Nodes were
    /// listed.
    pub fn has_provider_id(&self, ids: &[String]) -> Option<bool> {
        let nodes = read(&self.state.nodes);
        let is_there = |id: &String| !nodes.by_provider_id(id).is_empty();
        nodes.is_listed().then(|| ids.iter().any(is_there))
    }

    /// Whether nothing is known of its Nodes because it sends more than the manager reads.
    pub fn exceeds_a_limit(&self) -> bool {
        matches!(
            self.connectivity(),
            Connectivity::Disconnected {
                cause: Cause::Limit,
                ..
            }
        )
    }

    /// The Nodes with this `spec.providerID`, from the snapshot.
    pub fn nodes_by_provider_id(&self, id: &str) -> Vec<Arc<NodeView>> {
        read(&self.state.nodes).by_provider_id(id)
    }

    /// All Nodes by name, from the snapshot.
    pub fn nodes(&self) -> Vec<Arc<NodeView>> {
        read(&self.state.nodes).all()
    }

    /// Lists the Nodes again at once, on a new connection. For callers that know more than the
    /// watch: a host that lost power does not close its connections, so the watch would notice it
    /// late.
    pub fn relist(&self) {
        if matches!(self.connectivity(), Connectivity::Connected { .. }) {
            self.state.relist.notify_one();
        }
    }

    /// Ends the watch, even if other references to this workload cluster remain.
    pub(super) fn stop(&self) {
        self.watch.abort();
    }
}

impl Drop for WorkloadCluster {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for WorkloadCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkloadCluster")
            .field("key", &self.key)
            .field("connectivity", &self.connectivity())
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn nodes(&self) -> RwLockWriteGuard<'_, NodeIndex> {
        write(&self.nodes)
    }

    /// Waits until a new list is requested.
    pub(super) async fn relist_wanted(&self) {
        self.relist.notified().await;
    }

    /// Records the new connectivity, and returns whether the state changed.
    pub(super) fn set_connectivity(&self, new: Connectivity) -> bool {
        use Connectivity::{Connected, Disconnected};
        let mut current = write(&self.connectivity);
        let (step, new) = match (&*current, new) {
            (Connected { .. }, Connected { .. }) => return false,
            (Disconnected { since, .. }, Disconnected { why, cause, .. }) => {
                let since = *since;
                (false, Disconnected { since, why, cause })
            }
            (_, new) => (true, new),
        };
        *current = new;
        step
    }
}

// A panic in a reader or writer leaves a consistent map behind: each change is one call.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
