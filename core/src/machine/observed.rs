//! What a pass over a Machine knows, as plain data.

use crate::Why;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::cluster::ObservedCluster;
use super::kind::{self, PlaceKind};
use super::member::LastLook;
use super::reported;
use crate::api::conditions::Reason;
use crate::api::names::{
    ANNOTATION_HOST_IS_GONE, ANNOTATION_SETTINGS, FINALIZER_MACHINE, provider_id,
};
use crate::api::{Machine, MachineProviderSpec};
use crate::host::PowerState;
use crate::node::{Attempts, Follow, Identities, JobKind, Marker, Observation, Owner};
use crate::proof::HostIsGone;
use crate::{AttemptRecord, NodeView, wire};

/// Something that was read, or could not be.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<T> {
    /// It was read.
    Known(T),
    /// It could not be read; the text says why.
    Unknown(String),
    /// It has not been read yet since the manager started, or for a moment; what was reported
    /// before stays.
    NotYet(String),
}

/// For how long an API that does not answer is no news: its address moves to another control plane
/// within seconds.
pub const MOMENT: Duration = Duration::from_secs(10);

/// What a pass over a Machine knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// When this manager began: before that, nothing was done.
    pub started_at: Timestamp,
    /// The object whose annotation `cluster.k8s.io/paused` stops it: itself, or one above it.
    pub paused_by: Option<String>,
    /// Its ownership marker, as it is written to its host.
    pub marker: Marker,
    /// Its Cluster, if there is one of that name.
    pub cluster: Option<ObservedCluster>,
    /// Why it is unknown to which Cluster its control plane belongs.
    pub whose: Option<String>,
    /// Its provider spec, resolved through its class.
    pub spec: Result<MachineProviderSpec, Why>,
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
    /// The Hosts that have its claim.
    pub claims: Vec<String>,
    /// The Host that it chose, and what is known of that where the Machine does not have it.
    pub chosen: Option<HostChoice>,
    /// Its Node.
    pub node: Lookup<Option<Arc<NodeView>>>,
    /// Nodes that have its provider ID and are not taken for its own: nothing is done for them.
    pub contested: Vec<Arc<NodeView>>,
    /// The unit that runs on its host, if one is followed.
    pub follow: Option<Follow>,
    /// Its address for other nodes, if it has a place.
    pub own_address: Option<String>,
    /// Identity of the last unit of kind Address that was seen to have succeeded on its host.
    pub applied_address: Option<String>,
    /// What its host showed when this process asked it last.
    pub last_look: LastLook,
    /// A bootstrap token of it may still be there.
    pub has_token: bool,
    /// Failures in a row, by job.
    pub attempts: BTreeMap<JobKind, Attempts>,
    /// Of the units that were planned before, for any Machine.
    pub identities: Arc<Identities>,
}

/// A Node that has the name of a Machine's own Node to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Namesake {
    /// The Node.
    pub node: Arc<NodeView>,
    /// The Machine that its provider ID names does not exist (any more).
    pub is_left_over: bool,
    /// The Host whose server has a marker of that Machine.
    pub marked: Option<String>,
}

/// Where a Machine runs.
#[derive(Clone, Debug)]
pub enum Placement {
    /// It has no place yet. The host that it would claim, or why there is none.
    None(Result<String, Why>),
    /// It holds a host or a virtual machine.
    Held(Infrastructure),
}

/// The Host that a Machine chose, before it claimed it.
#[derive(Clone, Debug)]
pub struct HostChoice {
    /// Its name.
    pub host: String,
    /// Its present state; the host is not queried if the Machine has its claim.
    pub now: Unheld,
}

/// A Host that a Machine chose and does not have.
#[derive(Clone, Debug)]
pub enum Unheld {
    /// The Machine has its claim, so its state is not read.
    Held,
    /// There is no such Host.
    Missing,
    /// It may be claimed.
    Free,
    /// It was queried.
    Asked(Contact),
    /// It has the claim of the Machine of this name, and was queried.
    Taken(String, Contact),
}

/// The virtual machine of a Machine, as its Hypervisor reports it.
#[derive(Clone, Debug)]
pub struct VirtualMachine {
    /// Name of the Hypervisor.
    pub hypervisor: String,
    /// What its gateway reported, or why that is not known.
    pub told: Result<GatewayView, Why>,
    /// The attempts to download its image, to create it or to switch it on, whichever is due.
    pub tried: AttemptRecord,
    /// Its gateway has not answered since the manager started, and may do so at any moment.
    pub is_connecting: bool,
    /// Why no virtual machine may be created on its Hypervisor, in a few words, such as paused.
    pub held_back: Option<&'static str>,
    /// Another Hypervisor could take it that it has not left before. Determined only while it does
    /// not exist.
    pub is_elsewhere: bool,
    /// The Hypervisor on which it was created, according to the Secret of its keys, which is
    /// written before.
    pub recorded: Option<String>,
    /// That Secret exists, and a virtual machine may have been created with it.
    pub has_keys: bool,
    /// Another Hypervisor that reports it.
    pub shown_by: Option<String>,
    /// Another Hypervisor that does not answer whether it has it.
    pub unheard: Option<String>,
}

/// What a gateway reported about a virtual machine.
#[derive(Clone, Debug, Default)]
pub struct GatewayView {
    /// The virtual machine, if there is one.
    pub machine: Option<Arc<wire::Machine>>,
    /// The image from which it is created, if its download was requested.
    pub image: Option<wire::Image>,
    /// A live query, made because the Machine is being deleted, showed that it does not exist.
    pub is_gone: bool,
}

/// A claim that was made, and may not be in the store yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingClaim {
    /// Name of the Host.
    pub host: String,
    /// Generation of the Host that the claim made.
    pub generation: Option<i64>,
}

/// A host or virtual machine that a Machine holds.
#[derive(Clone, Debug)]
pub struct Infrastructure {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Option<String>,
    /// It was released, and is being reset.
    pub releasing: bool,
    /// The result of querying it.
    pub contact: Contact,
    /// Why it is not reset after its release; or since when its virtual machine cannot be deleted.
    pub stuck: Option<Stuck>,
    /// Its power state, read live, if its BMC reported it off before.
    pub power: Option<Result<PowerState, String>>,
    /// Reason and message of the Host's condition that explains why it is not reset, or what is
    /// wrong with it while its Node is not Ready.
    pub why: Option<(String, String)>,
    /// Why what is on it is not this Machine's, by condition Clean of the Host, as its own
    /// controller saw it last.
    pub strange: Option<String>,
}

/// Why a released host is not reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// It has not answered since.
    Silent(Timestamp),
    /// It answers, and its reset fails; or it is to be installed anew, and something is in the way.
    ResetFails,
    /// It answers, and is reset when the step that runs on it has ended.
    Waits,
    /// Its controller leaves it alone: what is on it belongs to another, or its owner is unknown;
    /// or it is paused.
    LeftAlone,
    /// It does not answer, and its BMC reports that it is off: nothing runs on it.
    Fenced,
    /// Its kubelet is stopped; it is not reset, because of `wipePolicy: retain`.
    Retained,
}

/// The result of querying a host.
#[derive(Clone, Debug)]
pub enum Contact {
    /// It registers its Node by itself (simulated machines). An error is what it shows.
    SelfRegistering(Option<String>),
    /// It was not queried: a unit is followed, or its Node shows enough.
    NotAsked,
    /// It could not be queried.
    Unreachable {
        /// The reason, in CamelCase.
        reason: Reason,
        /// Human-readable.
        message: String,
    },
    /// Its state.
    Seen(Box<Observation>),
}

impl Observed {
    /// How often a job has failed in a row.
    pub fn attempts(&self, kind: JobKind) -> Attempts {
        self.attempts.get(&kind).cloned().unwrap_or_default()
    }

    /// UID of the Machine.
    pub fn uid(&self) -> &str {
        &self.marker.uid
    }

    /// The kind of place that it has, or will have, according to its records.
    ///
    /// # Errors
    /// The records contradict each other: which, and what to do, as a message.
    pub fn kind(&self) -> Result<Option<PlaceKind>, String> {
        kind::of(
            &self.machine,
            self.spec.as_ref().ok(),
            !self.claims.is_empty(),
        )
    }

    /// Whether nothing of it is anywhere but in the manager's memory, by what was written down.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.kind(), Ok(Some(kind)) if kind.is_in_memory())
    }

    /// Whether its Node was seen in an earlier pass.
    pub fn had_node(&self) -> bool {
        let status = self.machine.status.as_ref();
        status.is_some_and(|status| status.node_ref.is_some())
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    /// Whether the Machine has Tatara's finalizer, so that Tatara releases its place.
    pub fn is_adopted(&self) -> bool {
        let finalizers = self.machine.metadata.finalizers.iter().flatten();
        finalizers.into_iter().any(|name| name == FINALIZER_MACHINE)
    }

    /// Whether `postKubeadmCommands` are to be run, and have not been reported to have succeeded.
    pub fn awaits_commands(&self) -> bool {
        let settings = self.spec.as_ref().ok().and_then(MachineProviderSpec::node);
        settings.is_some_and(|node| !node.post_kubeadm_commands.is_empty())
            && !reported::is_bootstrapped(&self.machine)
    }

    /// Its Node, when it is known.
    pub fn known_node(&self) -> Option<&NodeView> {
        match &self.node {
            Lookup::Known(Some(node)) => Some(node),
            _ => None,
        }
    }

    /// The place that it has.
    pub fn held(&self) -> Option<&Infrastructure> {
        match &self.placement {
            Placement::Held(held) => Some(held),
            Placement::None(_) => None,
        }
    }

    /// What its host showed in this pass.
    pub fn seen(&self) -> Option<&Observation> {
        match &self.placement {
            Placement::Held(Infrastructure {
                contact: Contact::Seen(seen),
                ..
            }) => Some(seen),
            _ => None,
        }
    }

    /// The marker on its host, if it names this Machine and the host was queried in this pass.
    pub fn owner(&self) -> Option<&Owner> {
        self.seen()?.owner.of(&self.marker)
    }

    /// Whether this Machine has the control-plane turn, as the Cluster or its CA Secret says.
    pub fn has_turn(&self) -> bool {
        let turns = self.cluster.iter();
        let mut turns = turns.flat_map(|c| c.turn.iter().chain(&c.other_turn));
        turns.any(|turn| turn.machine == self.uid())
    }

    /// The provider ID that its Node is to have.
    pub fn provider_id(&self) -> Option<String> {
        let spec = self.spec.as_ref().ok()?;
        Some(provider_id(spec.provider(), self.uid()))
    }

    /// Whether kubeadm was begun for it, by anything that is recorded beside its host.
    pub fn is_begun(&self) -> bool {
        is_begun(&self.machine)
            || matches!(self.node, Lookup::Known(Some(_)))
            || self.has_turn()
            || self.is_initializer()
    }

    /// Whether it is protected as a control plane, according to its spec or to the records.
    pub fn acts_as_control_plane(&self) -> bool {
        self.machine.is_control_plane() || self.has_turn() || self.is_initializer()
    }

    /// The annotation `tatara.dev/host-is-gone`; it counts if the Machine has or had a place, or
    /// has the turn.
    pub fn user_says_gone(&self) -> Option<HostIsGone<'_>> {
        let value = self.machine.annotations().get(ANNOTATION_HOST_IS_GONE)?;
        let has_place = matches!(self.placement, Placement::Held(_)) || self.chosen.is_some();
        let is_begun = self.is_begun() || self.virtual_machine.is_some();
        Some(HostIsGone {
            value,
            counts: has_place || is_begun || !self.claims.is_empty(),
        })
    }

    /// Whether this Machine ran `kubeadm init`.
    pub fn is_initializer(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| {
            let by = [&cluster.initialized_by, &cluster.initialized_by_secret];
            by.into_iter().any(|by| by.as_deref() == Some(self.uid()))
        })
    }
}

/// Whether kubeadm was begun for a Machine, as far as the Machine itself tells.
pub fn is_begun(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    machine.annotations().contains_key(ANNOTATION_SETTINGS)
        || status.is_some_and(|status| status.node_ref.is_some())
}
