//! The connected workload clusters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Client;

use super::cluster::{ClusterKey, Wake, WorkloadCluster};

/// The connected workload clusters, each with one watch of its Nodes.
pub struct Registry {
    workloads: Mutex<HashMap<ClusterKey, Arc<WorkloadCluster>>>,
    wake: Wake,
}

impl Registry {
    /// An empty registry; `wake` is called for changes in a workload cluster.
    pub fn new(wake: Wake) -> Self {
        Self {
            workloads: Mutex::default(),
            wake,
        }
    }

    /// Connects to a workload cluster, and replaces an earlier connection to it. Create the client
    /// with [`client_config`](super::client_config). Must be called within a tokio runtime.
    pub fn connect(&self, key: ClusterKey, client: Client) -> Arc<WorkloadCluster> {
        let workload = Arc::new(WorkloadCluster::connect(
            key.clone(),
            client,
            self.wake.clone(),
        ));
        let earlier = self.workloads().insert(key, Arc::clone(&workload));
        if let Some(earlier) = earlier {
            earlier.stop();
        }
        workload
    }

    /// The workload cluster, if it is connected.
    pub fn get(&self, key: &ClusterKey) -> Option<Arc<WorkloadCluster>> {
        self.workloads().get(key).cloned()
    }

    /// Ends the watch of a workload cluster and removes it.
    pub fn disconnect(&self, key: &ClusterKey) {
        let workload = self.workloads().remove(key);
        if let Some(workload) = workload {
            workload.stop();
        }
    }

    fn workloads(&self) -> MutexGuard<'_, HashMap<ClusterKey, Arc<WorkloadCluster>>> {
        self.workloads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
