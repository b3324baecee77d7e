//! What a pass over a Machine knows, as plain data.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use crate::api::cluster::{ClusterNetwork, Turn};
use crate::api::names::FINALIZER_MACHINE;
use crate::api::{ClusterProviderSpec, Machine, MachineProviderSpec};
use crate::gateway::types;
use crate::kubeadm::Endpoint;
use crate::node::{Marker, Observation};
use crate::provider::Follow;
use crate::provider::follow::Attempts;
use crate::provider::libvirt::Tried;
use crate::workload::NodeView;

/// Something that was looked at, or could not be.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<T> {
    /// It was looked at.
    Known(T),
    /// It could not be looked at; the text says why.
    Unknown(String),
    /// It is about to be looked at for the first time since we started; what was said before stands.
    NotYet(String),
}

/// What a pass over a Machine knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// The object whose annotation `cluster.k8s.io/paused` stops it: itself, or one above it.
    pub paused_by: Option<String>,
    /// Its ownership marker, as it stands on its host.
    pub marker: Marker,
    /// Its Cluster, if there is one of that name.
    pub cluster: Option<ObservedCluster>,
    /// Its provider spec, resolved through its class.
    pub spec: Result<MachineProviderSpec, SpecProblem>,
    /// The resolved provider object, to be copied inline.
    pub resolved: Option<serde_json::Value>,
    /// Where it runs.
    pub placement: Placement,
    /// Its virtual machine, once its Hypervisor is chosen.
    pub virtual_machine: Option<VirtualMachine>,
    /// A Node that has the name of the one to come, and is another's.
    pub namesake: Option<Namesake>,
    /// The host that it has just claimed, and that the store does not show as claimed yet.
    pub claiming: Option<String>,
    /// Its Node.
    pub node: Seen<Option<Arc<NodeView>>>,
    /// The unit that runs on its host, if one is followed.
    pub follow: Option<Follow>,
    /// A bootstrap token of it may still be there.
    pub has_token: bool,
    /// Failures in a row of the unit that is due.
    pub attempts: Attempts,
}

/// Why a provider spec cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    /// It is another provider's: hands off.
    pub foreign: bool,
    /// One CamelCase word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// A Cluster, as its Machines look at it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedCluster {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Its networks.
    pub network: ClusterNetwork,
    /// Tatara's settings; an error is the Cluster's to report.
    pub spec: Result<ClusterProviderSpec, String>,
    /// It is being deleted.
    pub deleting: bool,
    /// It has a ClusterProfile, by the finalizer that lets that go first.
    pub published: bool,
    /// UID of the Machine that ran `kubeadm init`.
    pub initialized_by: Option<String>,
    /// Who has the control-plane turn.
    pub turn: Option<Turn>,
    /// Its certificate authorities exist.
    pub certificates_ready: bool,
    /// Its control plane is somebody else's; we have a kubeconfig.
    pub external: bool,
    /// Where its API is served, as far as that is known.
    pub endpoint: Option<Endpoint>,
    /// Version of its control plane, as the API server says it.
    pub version: Option<String>,
    /// Machines of the cluster that are no control plane.
    pub workers_left: usize,
}

/// A Node that has the name of a Machine's own Node to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Namesake {
    /// The Node.
    pub node: Arc<NodeView>,
    /// The Machine that its provider ID names does not exist (any more).
    pub is_left_over: bool,
}

/// Where a Machine runs.
#[derive(Clone, Debug)]
pub enum Placement {
    /// It holds nothing yet. The host that it would take, or why there is none.
    None(Result<String, Refusal>),
    /// It holds a host or a virtual machine.
    Held(Held),
}

/// The virtual machine of a Machine, as its hypervisor tells.
#[derive(Clone, Debug)]
pub struct VirtualMachine {
    /// Name of the Hypervisor.
    pub hypervisor: String,
    /// What its gateway has told, or why that is not known.
    pub told: Result<Told, Refusal>,
    /// What came of the tries to fetch its image, to make it or to switch it, whichever is due.
    pub tried: Tried,
}

/// What a gateway has told about a virtual machine.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The virtual machine, if there is one.
    pub machine: Option<Arc<types::Machine>>,
    /// The image that it is made from, if it was asked for.
    pub image: Option<types::Image>,
}

/// A claim that was made, and may not be in the store yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingClaim {
    /// Name of the Host.
    pub host: String,
    /// Generation of the Host that the claim made.
    pub generation: Option<i64>,
}

/// Why no host can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One CamelCase word.
    pub reason: &'static str,
    /// For people: how many match, and what they are doing.
    pub message: String,
}

/// A host or virtual machine that a Machine holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Option<String>,
    /// It has been let go, and is being reset.
    pub releasing: bool,
    /// What it says.
    pub contact: Contact,
    /// Why it is not reset, once it has been let go; or since when nobody can end it.
    pub stuck: Option<Stuck>,
}

/// Why a host that has been let go is not reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// It has not answered since.
    Silent(Timestamp),
    /// It answers, and its reset fails; or it is to be installed anew, and something stands in the way.
    ResetFails,
    /// It does not answer, and its BMC says that it is off: nothing runs on it.
    Fenced,
    /// Its kubelet is stopped; it is not reset, because its owner wants so.
    Retained,
}

/// What a host says.
#[derive(Clone, Debug)]
pub enum Contact {
    /// It registers its Node by itself (simulated machines). An error is what it shows.
    SelfRegistering(Option<String>),
    /// It was not asked: a unit is followed, or its Node says enough.
    NotAsked,
    /// It could not be asked.
    Unreachable {
        /// One CamelCase word.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// What it said.
    Seen(Box<Observation>),
}

impl Observed {
    /// UID of the Machine.
    pub fn uid(&self) -> &str {
        &self.marker.uid
    }

    /// Whether its Node was seen in an earlier pass.
    pub fn had_node(&self) -> bool {
        let status = self.machine.status.as_ref();
        status.is_some_and(|status| status.node_ref.is_some())
    }

    /// Whether our finalizer is on the Machine: what it holds is ours to let go.
    pub fn is_adopted(&self) -> bool {
        let finalizers = self.machine.metadata.finalizers.iter().flatten();
        finalizers.into_iter().any(|name| name == FINALIZER_MACHINE)
    }

    /// Whether this Machine has the control-plane turn.
    pub fn has_turn(&self) -> bool {
        let turn = self
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.turn.as_ref());
        turn.is_some_and(|turn| turn.machine == self.uid())
    }

    /// Whether this Machine ran `kubeadm init`.
    pub fn is_initializer(&self) -> bool {
        let by = self
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.initialized_by.as_deref());
        by == Some(self.uid())
    }
}
