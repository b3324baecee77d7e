//! One member cluster: its client, its Nodes as last seen, and whether it answers.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::node_index::NodeIndex;
use super::watch;
use crate::core::NodeView;

/// Which Cluster a member belongs to. The UID keeps a Cluster that was deleted and made again under
/// the same name apart from its predecessor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberKey {
    /// Namespace of the Cluster.
    pub namespace: String,
    /// Name of the Cluster.
    pub name: String,
    /// UID of the Cluster.
    pub uid: String,
}

impl fmt::Display for MemberKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Called for a Node of a member.
pub type WakeNode = Arc<dyn Fn(&MemberKey, &NodeView) + Send + Sync>;
/// Called for a member.
pub type WakeCluster = Arc<dyn Fn(&MemberKey) + Send + Sync>;

/// Whom to wake when something happens in a member. Both are called from the member's watch and
/// must return at once.
#[derive(Clone)]
pub struct Wake {
    /// A Node came, went, or changed in a way that somebody waits for.
    pub node: WakeNode,
    /// The member began or ceased to answer.
    pub cluster: WakeCluster,
}

/// Whether the watch of a member's Nodes works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// No first answer yet; the snapshot of Nodes is empty and says nothing.
    Connecting,
    /// The snapshot follows the member.
    Connected {
        /// Since when.
        since: Timestamp,
    },
    /// The member does not answer; the snapshot is what was last seen.
    Disconnected {
        /// Since when.
        since: Timestamp,
        /// What the last attempt ended with, for people.
        why: String,
    },
}

/// A member cluster that we are connected to. Dropping the last reference ends its watch.
pub struct Member {
    key: MemberKey,
    client: Client,
    state: Arc<State>,
    watch: AbortHandle,
}

/// What the watch writes and everybody reads.
pub(super) struct State {
    nodes: RwLock<NodeIndex>,
    connectivity: RwLock<Connectivity>,
    relist: Notify,
}

impl Member {
    /// Starts the watch. Must be called within a tokio runtime.
    pub(super) fn connect(key: MemberKey, client: Client, wake: Wake) -> Self {
        let state = Arc::new(State {
            nodes: RwLock::default(),
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

    /// The Cluster that this is.
    pub fn key(&self) -> &MemberKey {
        &self.key
    }

    /// A client of the member's API.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the member answers.
    pub fn connectivity(&self) -> Connectivity {
        read(&self.state.connectivity).clone()
    }

    /// Whether the Nodes have been listed once, so that a Node that is not found does not exist.
    pub fn is_synced(&self) -> bool {
        read(&self.state.nodes).is_listed()
    }

    /// The Node with this name, as last seen.
    pub fn node(&self, name: &str) -> Option<Arc<NodeView>> {
        read(&self.state.nodes).by_name(name)
    }

    /// The Node with this `spec.providerID`, as last seen.
    pub fn node_by_provider_id(&self, id: &str) -> Option<Arc<NodeView>> {
        read(&self.state.nodes).by_provider_id(id)
    }

    /// All Nodes by name, as last seen.
    pub fn nodes(&self) -> Vec<Arc<NodeView>> {
        read(&self.state.nodes).all()
    }

    /// Lists the Nodes again at once, on another connection. For callers that know better than the watch: a host
    /// that lost power closes no connection, so the watch would believe in it for a while.
    pub fn relist(&self) {
        if matches!(self.connectivity(), Connectivity::Connected { .. }) {
            self.state.relist.notify_one();
        }
    }

    /// Ends the watch, even while others still hold this member.
    pub(super) fn stop(&self) {
        self.watch.abort();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("key", &self.key)
            .field("connectivity", &self.connectivity())
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn nodes(&self) -> RwLockWriteGuard<'_, NodeIndex> {
        write(&self.nodes)
    }

    /// Waits until somebody asks for a new list.
    pub(super) async fn relist_wanted(&self) {
        self.relist.notified().await;
    }

    /// Records the new connectivity; says whether that is a step from one state to another.
    pub(super) fn set_connectivity(&self, new: Connectivity) -> bool {
        use Connectivity::{Connected, Disconnected};
        let mut current = write(&self.connectivity);
        let (step, new) = match (&*current, new) {
            (Connected { .. }, Connected { .. }) => return false,
            (Disconnected { since, .. }, Disconnected { why, .. }) => {
                let since = *since;
                (false, Disconnected { since, why })
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
