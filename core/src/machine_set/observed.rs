//! What a pass over a MachineSet knows, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use serde_json::Value;

use crate::api::conditions::{ConditionType, Reason, Status, find, is_false, is_true};
use crate::api::machine::MachineDeletion;
use crate::api::machine_set::DeletePolicy;
use crate::api::names::ANNOTATION_MOVES_TO;
use crate::api::readable::unreadable;
use crate::api::{Machine, MachineSet, MachineTemplate, ProviderSpec};
use crate::paused;
use crate::trouble::Trouble;

/// What a pass over a MachineSet knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Name of the set.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its UID.
    pub uid: String,
    /// Desired number of Machines.
    pub replicas: i32,
    /// How long a Machine must be Ready before it is available, in seconds.
    pub min_ready_seconds: i32,
    /// Which Machines are deleted first.
    pub delete_policy: DeletePolicy,
    /// The set's labels.
    pub labels: BTreeMap<String, String>,
    /// The set's annotations.
    pub annotations: BTreeMap<String, String>,
    /// Which Machines belong to the set.
    pub selector: LabelSelector,
    /// What Machines are made from, with the provider spec resolved and inline.
    pub template: MachineTemplate,
    /// The set is being deleted: the garbage collector takes its Machines.
    pub deleting: bool,
    /// The object whose annotation `cluster.k8s.io/paused` stops this set: itself, or one above it.
    pub paused_by: Option<String>,
    /// Why no Machine may be made at the moment.
    pub gate: Option<Gate>,
    /// UID of the set to which what is too many moves.
    pub moves_to: Option<String>,
    /// The Machines that the set owns, and those of its namespace without a controlling owner: what
    /// is listed, what this process made, and what it deleted as being deleted.
    pub machines: Vec<Arc<ObservedMachine>>,
    /// When the watch should have shown all that this process made and deleted.
    pub due: Option<Timestamp>,
    /// Random bytes that the names of new Machines are made from.
    pub seed: Seed,
}

/// Random bytes.
pub type Seed = [u8; 16];

/// Why no Machine may be made at the moment: the control plane is of an older minor or is being
/// upgraded, or the set's MachineClass cannot be resolved. Deletions continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The reason, in CamelCase.
    pub reason: Reason,
    /// Human-readable: what is waited for.
    pub message: String,
}

/// Who controls an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// The object that is being planned for.
    #[default]
    Ours,
    /// None.
    Orphan,
    /// Something else.
    Other,
}

impl Owner {
    /// Who controls the object, seen from the object with this UID.
    pub fn of(object: &ObjectMeta, uid: &str) -> Self {
        let owners = object.owner_references.as_deref().unwrap_or_default();
        match owners.iter().find(|owner| owner.controller == Some(true)) {
            None => Self::Orphan,
            Some(owner) if owner.uid == uid => Self::Ours,
            Some(_) => Self::Other,
        }
    }
}

/// A Machine, as its set sees it: only through its conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedMachine {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// When it was made.
    pub created: Timestamp,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Who controls it.
    pub owner: Owner,
    /// Since when it is being deleted.
    pub deleting: Option<Timestamp>,
    /// Since when its condition `Ready` is True.
    pub ready_since: Option<Timestamp>,
    /// It ended in a terminal error, or a health check failed.
    pub failed: bool,
    /// Since when its Node is known and not Ready. None while the workload API does not answer:
    /// what cannot be seen is not unhealthy.
    pub not_ready_since: Option<Timestamp>,
    /// It runs another version than it wants, or is brought to it.
    pub updating: bool,
    /// Since when it runs what it wants.
    pub updated_since: Option<Timestamp>,
    /// It has a Node.
    pub has_node: bool,
    /// `versions.controlPlane` is set.
    pub control_plane: bool,
    /// Labels for its Node.
    pub node_labels: BTreeMap<String, String>,
    /// Annotations for its Node.
    pub node_annotations: BTreeMap<String, String>,
    /// Taints for its Node.
    pub taints: Vec<Taint>,
    /// Time limits of its deletion.
    pub deletion: Option<MachineDeletion>,
    /// It cannot be read: it counts, and nothing is done with it.
    pub unreadable: bool,
    /// Why it is not ready, or not deleted yet, according to its conditions.
    pub trouble: Option<Trouble>,
}

impl ObservedMachine {
    /// A Machine, seen from the set with this UID.
    pub fn from_api(machine: &Machine, set_uid: &str) -> Self {
        // not cloned: a set has thousands of Machines
        let status = machine.status.as_ref();
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        let node = status.and_then(|status| status.node_ref.as_ref());
        let since = |type_: ConditionType, value: Status| {
            let condition = find(conditions, type_).filter(|c| c.status == value);
            condition.map(|c| c.last_transition_time.0)
        };
        let unhealthy = |type_| is_false(conditions, type_);
        Self {
            name: machine.name_any(),
            uid: machine.uid().unwrap_or_default(),
            created: creation(&machine.metadata),
            labels: machine.labels().clone(),
            annotations: machine.annotations().clone(),
            owner: Owner::of(&machine.metadata, set_uid),
            deleting: machine.metadata.deletion_timestamp.as_ref().map(|t| t.0),
            // what was said of it may not hold any more
            ready_since: since(ConditionType::Ready, Status::True)
                .filter(|_| unreadable(machine).is_none()),
            failed: status.is_some_and(|status| {
                status.phase.as_deref() == Some("Failed") || status.error_reason.is_some()
            }) || unhealthy(ConditionType::Healthy)
                || unhealthy(ConditionType::HealthCheckSucceeded),
            not_ready_since: since(ConditionType::NodeHealthy, Status::False)
                .filter(|_| node.is_some()),
            updating: is_updating(machine),
            updated_since: since(ConditionType::UpToDate, Status::True),
            has_node: node.is_some() || is_true(conditions, ConditionType::NodeHealthy),
            control_plane: machine.is_control_plane(),
            node_labels: machine.spec.metadata.labels.clone(),
            node_annotations: machine.spec.metadata.annotations.clone(),
            taints: machine.spec.taints.clone(),
            deletion: machine.spec.deletion.clone(),
            unreadable: unreadable(machine).is_some(),
            trouble: Trouble::of(machine),
        }
    }

    /// Whether it says what a person should look at.
    pub fn warns(&self) -> bool {
        self.trouble.as_ref().is_some_and(Trouble::is_warning)
    }
}

/// Whether it runs other versions than `spec.versions`, or its node is being updated. One that is
/// left at other versions serves, and counts: its deployment says that it is not complete. Of one
/// without a Node nothing is known.
pub fn is_updating(machine: &Machine) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let told = find(&status.conditions, ConditionType::UpToDate);
    let is_left = told.is_some_and(|told| {
        told.reason == Reason::KubeletVersionDiffers
            && told.observed_generation == machine.metadata.generation
    });
    (machine.runs_other() == Some(true) && !is_left)
        || is_true(&status.conditions, ConditionType::Updating)
}

impl Observed {
    /// A MachineSet and the Machines around it. `resolved` is the provider's object that the
    /// template stands for, or why it is unknown; `gate` is what else holds creation back.
    pub fn from_api(
        set: &MachineSet,
        resolved: Result<Value, Gate>,
        gate: Option<Gate>,
        machines: Vec<Arc<ObservedMachine>>,
    ) -> Self {
        let uid = set.uid().unwrap_or_default();
        let mut template = set.spec.template.clone();
        let unresolved = match resolved {
            Ok(value) => {
                template.spec.provider_spec = ProviderSpec {
                    value: Some(value),
                    value_from: None,
                };
                None
            }
            Err(gate) => Some(gate),
        };
        Self {
            name: set.name_any(),
            namespace: set.namespace().unwrap_or_default(),
            replicas: set.spec.replicas,
            min_ready_seconds: set.spec.min_ready_seconds,
            delete_policy: set.spec.delete_policy,
            labels: set.labels().clone(),
            annotations: set.annotations().clone(),
            selector: set.spec.selector.clone(),
            template,
            deleting: set.metadata.deletion_timestamp.is_some(),
            paused_by: paused::itself(set),
            // a MachineDeployment writes it, and takes it back
            moves_to: if Owner::of(&set.metadata, "") == Owner::Other {
                set.annotations().get(ANNOTATION_MOVES_TO).cloned()
            } else {
                None
            },
            gate: unresolved.or(gate),
            machines,
            due: None,
            seed: Seed::default(),
            uid,
        }
    }
}

/// When an object was made; the beginning of time for one that was not stored yet.
pub fn creation(object: &ObjectMeta) -> Timestamp {
    object
        .creation_timestamp
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
