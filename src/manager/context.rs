//! What all reconciles share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Cluster;
use crate::controllers::cluster::{KnownClusters, Sources};
use crate::controllers::cluster_profile::Memory;
use crate::controllers::machine::Outcomes;
use crate::controllers::machine_set::InFlight;
use crate::controllers::whose::Regarded;
use crate::core::retry::Retries;
use crate::engine::{Engine, ReconcileError};
use crate::gateway;
use crate::metrics::Metrics;
use crate::providers::{Bmcs, Follows, Hosts, Installs, Providers};
use crate::store::{Stores, Wakers};
use crate::workload::drain_watch::DrainWatches;
use crate::workload::{Member, MemberKey, Registry};

/// What all reconciles share.
pub struct Context {
    /// What the passes of all controllers share.
    pub engine: Arc<Engine>,
    /// Client of the management cluster.
    pub client: Client,
    /// When this process began to lead.
    pub started: Timestamp,
    /// What is watched there.
    pub stores: Arc<Stores>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// Hosts over SSH.
    pub hosts: Arc<Hosts>,
    /// Their BMCs.
    pub bmcs: Arc<Bmcs>,
    /// What their operating systems are installed with.
    pub installs: Installs,
    /// What came of what Machines wanted.
    pub outcomes: Outcomes,
    /// Units of steps that are followed.
    pub follows: Follows,
    /// Gateways of hypervisors.
    pub gateways: Arc<gateway::Registry>,
    /// Where machines come from.
    pub providers: Providers,
    /// The clusters that we made.
    pub members: Arc<Registry>,
    /// What was seen and done for the ClusterProfiles of Clusters.
    pub profiles: Memory,
    /// What was found out about clusters.
    pub known: KnownClusters,
    /// Nodes that are being drained.
    pub drains: DrainWatches,
    /// What addons are read from.
    pub sources: Sources,
    /// The Secrets of Clusters.
    pub secrets: Sources,
    /// Machines that were made or deleted and that the store may not show so yet.
    pub in_flight: Mutex<InFlight>,
    /// Bootstrap tokens that were made: UID of the Machine to name of the Secret in its cluster.
    pub tokens: Mutex<HashMap<String, String>>,
    /// Counts.
    pub metrics: Metrics,
    /// What was said of objects that cannot be read.
    pub unreadable: crate::controllers::unreadable::Said,
    /// What was done about objects that are not ours.
    pub regarded: Regarded,
    /// Who asked that what failed is tried again at once.
    pub retries: Mutex<Retries>,
    /// UID of the management cluster: of its namespace kube-system.
    pub management: String,
    /// Namespaces beside a Cluster's own in which ClusterProfiles may be published.
    pub profile_namespaces: Vec<String>,
    /// Background work; waited for at the end.
    pub tasks: TaskTracker,
    /// Ends background work.
    pub stop: CancellationToken,
}

impl Context {
    /// The member cluster of a Cluster, once it is connected.
    pub fn member(&self, cluster: &Cluster) -> Option<Arc<Member>> {
        self.members.get(&member_key(cluster))
    }

    /// Refuses to go on when another process may lead.
    pub fn must_lead(&self) -> Result<(), ReconcileError> {
        self.engine.must_lead()
    }

    /// Whether a person asks, by a new value of the annotation, that what failed of an object is tried again at once.
    pub fn is_retry_asked(&self, object: &impl ResourceExt) -> bool {
        let mut retries = self.retries.lock().unwrap_or_else(PoisonError::into_inner);
        retries.take(object)
    }

    /// Forgets what is remembered of a Machine that is gone.
    pub fn forget_machine(&self, uid: &str) {
        self.metrics.gone(uid);
        self.follows.forget(uid);
        self.outcomes.forget(uid);
        self.providers.forget(uid);
        self.hosts.sightings.forget_ended(uid);
        let tokens = self.tokens.lock();
        tokens.unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}

/// Key of a Cluster's member.
pub fn member_key(cluster: &Cluster) -> MemberKey {
    MemberKey {
        namespace: cluster.namespace().unwrap_or_default(),
        name: cluster.name_any(),
        uid: cluster.uid().unwrap_or_default(),
    }
}
