//! The workload clusters: connections, and cached facts.

use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Client, ResourceExt};
use tokio::sync::Mutex;

use super::cluster_cache::ClusterMemories;
use crate::clock;
use crate::memory::ByUid;
use crate::workload::{ClusterKey, Registry, WorkloadCluster};
use tatara_core::api::Cluster;

/// After a restart of the manager, a missing connection is not reported for this time.
const CONNECTS_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// The workload clusters.
pub struct Workloads {
    registry: Arc<Registry>,
    /// Cached facts about them.
    pub known: ClusterMemories,
    cordons: ByUid<Arc<Mutex<()>>>,
    /// When this process became leader.
    started: Timestamp,
}

impl Workloads {
    /// Starts without connections and facts, when this process becomes leader.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            known: ClusterMemories::default(),
            cordons: ByUid::default(),
            started: clock::now(),
        }
    }

    /// The workload cluster of a Cluster, once it is connected.
    pub fn get(&self, cluster: &Cluster) -> Option<Arc<WorkloadCluster>> {
        self.registry.get(&ClusterKey::of(cluster))
    }

    /// Connects the workload cluster of a Cluster.
    pub fn connect(&self, cluster: &Cluster, client: Client) {
        self.registry.connect(ClusterKey::of(cluster), client);
    }

    /// Held from the look at other Nodes of a cluster to the cordon of one: of two that exclude
    /// each other one alone is cordoned. It outlives the connection.
    pub fn cordons(&self, key: &ClusterKey) -> Arc<Mutex<()>> {
        let mut lock = Arc::default();
        self.cordons
            .update(&key.uid, |held| lock = Arc::clone(held));
        lock
    }

    /// Whether clusters that were connected before this process became leader may still be
    /// connecting.
    pub fn are_connecting(&self) -> bool {
        clock::now().duration_since(self.started) < CONNECTS_WITHIN
    }

    /// Forgets the workload cluster of a Cluster that is deleted, or not ours.
    pub fn forget(&self, cluster: &Cluster) {
        self.registry.disconnect(&ClusterKey::of(cluster));
        let uid = cluster.uid().unwrap_or_default();
        self.known.forget(&uid);
        self.cordons.remove(&uid);
    }
}
