//! Cached facts about clusters, which need not be read again. Observations only, no progress: a
//! restart reads them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use secrecy::SecretString;

use crate::memory::ByUid;
use crate::pki::Authorities;
use crate::remote::Targets;
use tatara_core::api::Cluster;
use tatara_core::api::conditions::Finding;
use tatara_core::cluster_profile::Server;
use tatara_core::control_plane::component::Components;
use tatara_core::control_plane::health::Judgement;
use tatara_core::control_plane::peers::Watch;
use tatara_core::control_plane::turn::Marks;
use tatara_core::control_plane::{MemberId, Members};
use tatara_core::kubeadm::KubernetesVersion;

use tatara_core::cluster::{Attempt, Certificates};

/// The content of a kubeconfig Secret.
#[derive(Clone)]
pub struct Kubeconfig {
    /// It was not written by us: the control plane is external.
    pub external: bool,
    /// When its certificate has to be renewed.
    pub renew_at: Option<Timestamp>,
    /// Digest, which changes with its content.
    pub digest: Option<String>,
    /// Why it cannot be used, for messages.
    pub problem: Option<String>,
    /// The CA (PEM) that our control plane was created with: the one in the kubeconfig that we
    /// wrote.
    pub made_with: Option<String>,
    /// UID of the Secret, if there is one.
    pub uid: Option<String>,
    /// The API server that it names, for ClusterProfiles; or why it cannot be published.
    pub server: Result<Server, String>,
}

impl Default for Kubeconfig {
    /// Not read yet.
    fn default() -> Self {
        Self {
            external: false,
            renew_at: None,
            digest: None,
            problem: None,
            made_with: None,
            uid: None,
            server: Err("its kubeconfig has not been read yet".into()),
        }
    }
}

/// Hosts through which the API of a cluster is reached.
#[derive(Clone)]
pub struct JumpRoute {
    /// What they are chosen by. Once that differs, they are chosen anew.
    pub depends_on: String,
    /// Those of the connection.
    pub targets: Arc<Targets>,
}

/// What kubeadm has recorded of a cluster, as it was last read.
#[derive(Clone)]
pub struct Recorded {
    /// The `kubernetesVersion` of ConfigMap `kube-system/kubeadm-config`.
    pub version: KubernetesVersion,
    /// The version of the Cluster at that time. Once it has another, what was read may be over.
    pub beside: Option<String>,
}

/// Cached facts about one cluster.
#[derive(Clone, Default)]
pub struct ClusterMemory {
    /// Revision of its Secrets at which they were last read.
    pub secrets_at: Option<u64>,
    /// Its certificate authorities.
    pub authorities: Option<Arc<Authorities>>,
    /// The state of their Secrets.
    pub certificates: Certificates,
    /// The control-plane turn recorded on its CA Secret, once it was read; `Some(None)` if there is
    /// no Secret.
    pub turn: Option<Option<Marks>>,
    /// When, and why, the removal of an etcd member that belongs to no Machine was refused last.
    pub removal_refused: Option<(Timestamp, String)>,
    /// Why those wait that ask for the turn: UID of the Machine, or of the Cluster, and a sentence.
    pub turn_waits: Vec<(String, String)>,
    /// Its Secrets as they were last read or written, by name, without data.
    pub secrets: BTreeMap<String, Secret>,
    /// The kubeconfig that we are about to connect with.
    pub unused: Option<SecretString>,
    /// Its Secrets have our finalizer until it is deleted.
    pub secrets_held: bool,
    /// The content of its kubeconfig Secret.
    pub kubeconfig: Kubeconfig,
    /// Digest of the kubeconfig that we are connected with.
    pub connected_with: Option<String>,
    /// The hosts through which we are connected; none if directly.
    pub jump: Option<JumpRoute>,
    /// The health judgement of the probes so far.
    pub judgement: Judgement,
    /// When it was last probed.
    pub probed_at: Option<Timestamp>,
    /// Time of the first failure in the current series of failed probes.
    pub failing_since: Timestamp,
    /// The result of the last probe, for messages.
    pub sentence: String,
    /// `gitVersion` of its API server.
    pub version: Option<String>,
    /// What kubeadm has recorded of it, once a Machine has asked for it.
    pub recorded: Option<Recorded>,
    /// What was last read of its etcd, and when.
    pub etcd: Option<(Result<Arc<Members>, String>, Timestamp)>,
    /// The Machines whose members answered then and knew no leader, where none knew one.
    pub etcd_leaderless: Vec<String>,
    /// The last list in which all members were healthy.
    pub etcd_well: Option<Arc<Members>>,
    /// Time of the first read since then.
    pub etcd_troubled: Option<Timestamp>,
    /// What its members say of those that belong to no Machine.
    pub strangers: BTreeMap<MemberId, Watch>,
    /// Since when a change of its control plane waits for what its etcd and components answer.
    pub awaited_since: Option<Timestamp>,
    /// The components of its control plane, by UID of the Machine.
    pub components: BTreeMap<String, Arc<Components>>,
    /// The last attempt to apply the addons.
    pub addons: Option<Attempt>,
    /// Conditions that the ClusterProfile controller found for the Cluster.
    pub profile_findings: Vec<Finding>,
}

impl ClusterMemory {
    /// What kubeadm has recorded, if that was read beside the version that the Cluster has.
    pub fn recorded_of(&self, cluster: &Cluster) -> Option<KubernetesVersion> {
        let read = self.recorded.as_ref();
        let read = read.filter(|read| read.beside == version_of(cluster));
        read.map(|read| read.version.clone())
    }

    /// Notes what kubeadm has recorded.
    pub fn note_recorded(&mut self, cluster: &Cluster, version: KubernetesVersion) {
        let beside = version_of(cluster);
        self.recorded = Some(Recorded { version, beside });
    }
}

fn version_of(cluster: &Cluster) -> Option<String> {
    cluster.status.as_ref()?.version.clone()
}

/// Cached facts about clusters, by UID.
#[derive(Default)]
pub struct ClusterMemories(ByUid<ClusterMemory>);

impl ClusterMemories {
    /// The cached facts about a cluster.
    pub fn get(&self, uid: &str) -> ClusterMemory {
        self.0.get(uid).unwrap_or_default()
    }

    /// Changes the cached facts about a cluster.
    pub fn update(&self, uid: &str, change: impl FnOnce(&mut ClusterMemory)) {
        self.0.update(uid, change);
    }

    /// Forgets a cluster.
    pub fn forget(&self, uid: &str) {
        self.0.remove(uid);
    }
}
