//! What a pass over a MachineDeployment knows, as plain data.

use crate::Why;
use crate::api::conditions::{ConditionType, Reason, Status, find};
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::api::machine_deployment::{Strategy, StrategyType};
use crate::api::names::{
    ANNOTATION_DESIRED_REPLICAS, ANNOTATION_DISABLE_CREATE, ANNOTATION_MOVES_TO,
    ANNOTATION_REVISION, LABEL_TEMPLATE_HASH,
};
use crate::api::readable::unreadable;
use crate::api::{
    MachineDeployment, MachineSet, MachineSetStatus, MachineTemplate, MachineVersions,
};
use crate::machine_set::{Gate, Owner, creation};
use crate::paused;

/// What a pass over a MachineDeployment knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Name of the deployment.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its UID.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Desired number of Machines.
    pub replicas: i32,
    /// How long a Machine must be Ready before it is available, in seconds.
    pub min_ready_seconds: i32,
    /// How many old sets without Machines are kept.
    pub revision_history_limit: i32,
    /// Seconds without progress after which `Progressing` turns False; 0 sets no limit.
    pub progress_deadline_seconds: i32,
    /// How Machines of an old template are replaced.
    pub strategy: Strategy,
    /// `spec.paused`: scale, and roll nothing.
    pub paused: bool,
    /// The object whose annotation `cluster.k8s.io/paused` stops this one: itself, or its Cluster.
    pub paused_by: Option<String>,
    /// It is being deleted: the garbage collector takes its sets.
    pub deleting: bool,
    /// Which Machines belong to the deployment.
    pub selector: LabelSelector,
    /// What Machines are made from, as the user wrote it.
    pub template: MachineTemplate,
    /// The provider's object that the template stands for, or why it is unknown.
    pub provider_spec: Result<Value, Why>,
    /// Why no Machine of the template may be made at the moment: then none is given up for it
    /// either.
    pub gate: Option<Gate>,
    /// The deployment's sets, and those that it might take in.
    pub sets: Vec<ObservedSet>,
    /// Control-plane Machines of its Cluster that its selector matches and nobody controls.
    pub orphans: Vec<Orphan>,
    /// Names of all MachineSets of the namespace.
    pub taken: BTreeSet<String>,
    /// Since when there is something to do.
    pub work_since: Option<Timestamp>,
}

/// A Machine that nobody controls, and that a deployment may adopt.
#[derive(Clone, Debug, PartialEq)]
pub struct Orphan {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Its versions.
    pub versions: Option<MachineVersions>,
    /// The provider's object that its provider spec stands for.
    pub provider_spec: Value,
    /// It has the annotation `cluster.k8s.io/paused`.
    pub is_paused: bool,
}

/// A MachineSet, as its deployment sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedSet {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// When it was made.
    pub created: Timestamp,
    /// Who controls it.
    pub owner: Owner,
    /// It is being deleted, and its Machines with it.
    pub deleting: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Which Machines belong to it.
    pub selector: LabelSelector,
    /// What it makes Machines from.
    pub template: MachineTemplate,
    /// Its `minReadySeconds`.
    pub min_ready_seconds: i32,
    /// Its counters.
    pub counts: Counts,
    /// When one of its Machines was last made, became Ready or was deleted.
    pub last_progress: Option<Timestamp>,
    /// Since when it has fewer Machines than it shall have: it lost one, or was asked for more.
    pub missing_since: Option<Timestamp>,
    /// Its counters are of before its last change: the set may have made and deleted Machines
    /// since.
    pub lagging: bool,
    /// Machines that it has according to the watch, without those in deletion; counted where
    /// Machines move between sets.
    pub owned: Option<i32>,
    /// Of these, those that are Ready and not on their way to another version: no more of them are
    /// available.
    pub owned_ready: Option<i32>,
    /// Machines that it has, and that a user marked to go first; counted where a scale-down may
    /// take from one set or another.
    pub marked: i32,
    /// A Machine names it as its controller, whether its selector matches that or not: it would go
    /// with the set.
    pub is_owner: bool,
    /// Why it creates no Machines, if it has to.
    pub held: Option<String>,
    /// The most urgent trouble of its Machines, once they were read.
    pub says: Option<String>,
    /// One of its Machines says what a person should look at.
    pub warns: bool,
    /// One of its Machines that stay finds no Host.
    pub lacks_host: bool,
    /// Of its Machines that stay, those that run other versions than their spec wants, and are left
    /// so.
    pub other_versions: usize,
}

/// Why a set that has too few Machines creates none. What its deployment asked of it is no news.
fn held(status: &MachineSetStatus) -> Option<String> {
    let up = find(&status.conditions, ConditionType::ScalingUp)?;
    let is_held = up.status == Status::True
        && up.reason != Reason::CreatingMachines
        && up.reason != Reason::CreationDisabled;
    is_held.then(|| up.message.clone())
}

/// Whether Machines of a template are control planes.
pub fn has_control_plane(template: &MachineTemplate) -> bool {
    let versions = template.spec.versions.as_ref();
    let control_plane = versions.and_then(|versions| versions.control_plane.as_deref());
    control_plane.is_some_and(|version| !version.is_empty())
}

/// The counters of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Desired Machines of the set.
    pub wanted: i32,
    /// Machines that it has; those in deletion do not count.
    pub current: i32,
    /// Of these, those whose Node is Ready.
    pub ready: i32,
    /// Of these, those that have been Ready for `minReadySeconds`.
    pub available: i32,
    /// Of `current`, those that failed or lost their Node.
    pub unhealthy: i32,
    /// Of `current`, those that have no Node yet.
    pub starting: i32,
    /// Machines that are being deleted.
    pub deleting: i32,
}

impl ObservedSet {
    /// A MachineSet, seen from the deployment with this UID.
    pub fn from_api(set: &MachineSet, deployment_uid: &str) -> Self {
        let status = set.status.clone().unwrap_or_default();
        Self {
            name: set.name_any(),
            uid: set.uid().unwrap_or_default(),
            created: creation(&set.metadata),
            owner: match Owner::of(&set.metadata, deployment_uid) {
                // what cannot be read is not taken in
                Owner::Orphan if unreadable(set).is_some() => Owner::Other,
                owner => owner,
            },
            deleting: set.metadata.deletion_timestamp.is_some(),
            labels: set.labels().clone(),
            annotations: set.annotations().clone(),
            selector: set.spec.selector.clone(),
            template: set.spec.template.clone(),
            min_ready_seconds: set.spec.min_ready_seconds,
            counts: Counts {
                wanted: set.spec.replicas,
                current: status.replicas,
                ready: status.ready_replicas,
                available: status.available_replicas,
                unhealthy: status.unhealthy_replicas,
                starting: status.starting_replicas,
                deleting: status.terminating_replicas,
            },
            last_progress: status.last_progress_time.as_ref().map(|time| time.0),
            missing_since: find(&status.conditions, ConditionType::ScalingUp)
                .filter(|up| up.status == Status::True)
                .map(|up| up.last_transition_time.0),
            lagging: status.observed_generation != set.metadata.generation,
            owned: None,
            owned_ready: None,
            marked: 0,
            is_owner: false,
            held: held(&status),
            says: None,
            warns: false,
            lacks_host: false,
            other_versions: 0,
        }
    }

    /// Whether it has Machines that it has not counted yet, or counts some that it has no longer.
    pub fn is_behind(&self) -> bool {
        self.owned.is_some_and(|owned| owned != self.counts.current)
    }

    /// Its revision; 0 when it has none.
    pub fn revision(&self) -> i64 {
        let text = self.annotations.get(ANNOTATION_REVISION);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// What its deployment's `spec.replicas` was when the set was last written.
    pub fn desired_replicas(&self) -> Option<i32> {
        self.annotations
            .get(ANNOTATION_DESIRED_REPLICAS)?
            .parse()
            .ok()
    }

    /// The hash that keeps its Machines apart from those of its siblings.
    pub fn hash(&self) -> Option<&str> {
        self.template
            .metadata
            .labels
            .get(LABEL_TEMPLATE_HASH)
            .map(String::as_str)
    }

    /// Machines that it has, without those in deletion.
    pub fn machines(&self) -> i32 {
        self.owned.unwrap_or_default().max(self.counts.current)
    }

    /// Whether it has Machines.
    pub fn has_machines(&self) -> bool {
        self.machines() > 0 || self.counts.deleting > 0
    }

    /// Whether it was made, or raised, for a Machine that it has not adopted yet.
    pub fn expects(&self) -> bool {
        self.creates_none() && self.counts.wanted > self.machines()
    }

    /// Whether what it has too many moves to another set.
    pub fn gives_away(&self) -> bool {
        self.annotations.contains_key(ANNOTATION_MOVES_TO)
    }

    /// Whether it was told to create no Machines.
    pub fn creates_none(&self) -> bool {
        let disabled = self.annotations.get(ANNOTATION_DISABLE_CREATE);
        disabled.map(String::as_str) == Some("true")
    }

    /// Whether it has Machines, or shall have some.
    pub fn is_active(&self) -> bool {
        let counts = &self.counts;
        counts.wanted > 0 || counts.current > 0 || counts.deleting > 0
    }
}

impl Observed {
    /// Whether its Machines are control planes: by the template, or as long as there are such
    /// Machines.
    pub fn is_control_plane(&self) -> bool {
        let sets = self.sets.iter().filter(|set| set.is_active());
        let mut templates = sets.map(|set| &set.template).chain([&self.template]);
        templates.any(has_control_plane)
    }

    /// A set whose Machines have another role than the template: a control plane becomes no worker,
    /// nor the reverse.
    pub fn of_other_role(&self) -> Option<&ObservedSet> {
        let role = has_control_plane(&self.template);
        let mut sets = self.sets.iter().filter(|set| set.is_active());
        sets.find(|set| set.owner == Owner::Ours && has_control_plane(&set.template) != role)
    }

    /// The wanted number of Machines. The last control plane stays: it has the only copy of the
    /// cluster's data.
    pub fn wanted(&self) -> i32 {
        let has_one = self.sets.iter().any(|set| set.machines() > 0);
        let least = i32::from(has_one && self.is_control_plane());
        self.replicas.max(least)
    }

    /// Whether a scale-down may take from one set or another: then marks of Machines say from
    /// which. In a rolling update sets have more than is asked for at every step, and old ones
    /// shrink, whatever is marked.
    pub fn may_choose(&self) -> bool {
        let is_rolling = self.strategy.type_ == StrategyType::RollingUpdate
            && !self.paused
            && self.provider_spec.is_ok();
        let sets = || self.sets.iter().filter(|set| !set.deleting);
        let wanted: i32 = sets().map(|set| set.counts.wanted).sum();
        let having = sets().filter(|set| set.machines() > 0).count();
        !is_rolling && wanted > self.wanted() && having > 1
    }

    /// A MachineDeployment and the MachineSets of its namespace. `provider_spec` is the provider's
    /// object that the template stands for.
    pub fn from_api<'a>(
        deployment: &MachineDeployment,
        provider_spec: Result<Value, Why>,
        sets: impl IntoIterator<Item = &'a MachineSet>,
    ) -> Self {
        let spec = &deployment.spec;
        let uid = deployment.uid().unwrap_or_default();
        let all: Vec<_> = sets
            .into_iter()
            .map(|set| ObservedSet::from_api(set, &uid))
            .collect();
        Self {
            name: deployment.name_any(),
            namespace: deployment.namespace().unwrap_or_default(),
            labels: deployment.labels().clone(),
            replicas: spec.replicas,
            min_ready_seconds: spec.min_ready_seconds,
            revision_history_limit: spec.revision_history_limit,
            progress_deadline_seconds: spec.progress_deadline_seconds,
            strategy: spec.strategy.clone(),
            paused: spec.paused,
            paused_by: paused::itself(deployment),
            deleting: deployment.metadata.deletion_timestamp.is_some(),
            selector: spec.selector.clone(),
            template: spec.template.clone(),
            provider_spec,
            gate: None,
            work_since: deployment
                .status
                .as_ref()
                .and_then(|status| Some(status.work_since.as_ref()?.0)),
            taken: all.iter().map(|set| set.name.clone()).collect(),
            sets: all
                .into_iter()
                .filter(|set| set.owner != Owner::Other)
                .collect(),
            orphans: Vec::new(),
            uid,
        }
    }
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
