//! What is written on each set: its number, its annotations, and what needs no new Machines.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::core::ObjectMeta;
use serde_json::Value;

use super::super::observed::{Observed, ObservedSet};
use super::super::revision::{Revision, set_name};
use super::roll::{Roll, Target, Targets};
use super::{Action, NewSet, SetUpdate, hand_over, revision};
use crate::api::machine_deployment::StrategyType;
use crate::api::names::{
    ANNOTATION_DESIRED_REPLICAS, ANNOTATION_DISABLE_CREATE, ANNOTATION_MAX_REPLICAS,
    ANNOTATION_MOVES_TO, ANNOTATION_RESTARTED_AT, LABEL_CLUSTER, LABEL_MACHINE_DEPLOYMENT,
    LABEL_MACHINE_DEPLOYMENT_X, LABEL_TEMPLATE_HASH,
};
use crate::api::{
    MachineDeployment, MachineSet, MachineSetSpec, MachineTemplate, MachineVersions, ProviderSpec,
};

/// Longest value of a label.
const MAX_LABEL: usize = 63;

/// Everything that is to be written. Old sets come first: were the manager to stop after the
/// current set is made, Machines that the old ones should give up would look like ones to wait for.
pub fn actions(roll: &Roll, targets: &Targets) -> Vec<Action> {
    let mut actions = revision::adopt(roll);
    let old = roll.old.iter().zip(&targets.old);
    let old = old.filter_map(|(set, target)| update(roll, targets, (set, target), false));
    let current = match roll.current {
        Some(set) => update(roll, targets, (set, &targets.current), true),
        None if roll.only_scales() => None,
        None => create(roll, &targets.current),
    };
    if hand_over::current_first(roll, targets) {
        // a set deletes what it did not ask for
        actions.extend(current.into_iter().chain(old));
    } else {
        actions.extend(old.chain(current));
    }
    if is_complete(roll, targets) {
        actions.extend(revision::forget(roll));
    }
    actions
}

/// Whether the roll is over: all Machines are of the current set, and available.
pub fn is_complete(roll: &Roll, targets: &Targets) -> bool {
    let replicas = roll.replicas();
    let counts = &targets.current.counts;
    let old_gone = !roll.old.iter().any(|set| set.is_active());
    let all_there = [counts.wanted, counts.current, counts.available] == [replicas; 3];
    roll.current.is_some() && !targets.changes() && old_gone && all_there
}

fn create(roll: &Roll, target: &Target) -> Option<Action> {
    let observed = roll.observed;
    let wanted = roll.wanted.as_ref()?;
    let nearest = roll.old.iter().max_by_key(|set| set.revision());
    let reason = match nearest {
        None => "there is no MachineSet yet".into(),
        Some(set) => {
            let differences = revision::revision_of(set).differences(wanted);
            format!(
                "no MachineSet has this template; from {}: {}",
                set.name,
                differences.join(", ")
            )
        }
    };
    let new = New {
        revision: wanted,
        versions: observed.template.spec.versions.clone(),
        provider_spec: observed.provider_spec.as_ref().ok().cloned()?,
        replicas: target.to,
        because: [reason].into_iter().chain(target.because.clone()).collect(),
    };
    let mut set = new_set(roll, new);
    let annotations = &observed.template.metadata.annotations;
    if let Some(at) = annotations.get(ANNOTATION_RESTARTED_AT) {
        let key = ANNOTATION_RESTARTED_AT.to_owned();
        set.annotations.insert(key, at.clone());
    }
    Some(Action::CreateSet(Box::new(set)))
}

/// What a new set is made from.
pub struct New<'a> {
    /// The revision that names it.
    pub revision: &'a Revision,
    /// Versions of its Machines.
    pub versions: Option<MachineVersions>,
    /// The provider's object of its Machines.
    pub provider_spec: Value,
    /// Its number of Machines.
    pub replicas: i32,
    /// Why it is made.
    pub because: Vec<String>,
}

/// A set that is the newest of its deployment.
pub fn new_set(roll: &Roll, new: New) -> NewSet {
    let observed = roll.observed;
    let name = set_name(&observed.name, new.revision, &observed.taken);
    let mut template = desired_template(observed, Some(&name.hash), None);
    template.spec.versions = new.versions;
    template.spec.provider_spec = ProviderSpec {
        value: Some(new.provider_spec),
        value_from: None,
    };
    let mut selector = observed.selector.clone();
    let labels = selector.match_labels.get_or_insert_default();
    labels.insert(LABEL_TEMPLATE_HASH.into(), name.hash);
    let mut annotations = sizes(roll);
    // beside a newer one it has no number: it is older than all
    if roll.superseding {
        annotations.extend(revision::annotations(roll));
    }
    NewSet {
        name: name.name,
        replicas: new.replicas,
        labels: own_labels(observed, &template),
        annotations: annotations
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
        selector,
        template,
        min_ready_seconds: observed.min_ready_seconds,
        because: new.because,
    }
}

fn update(
    roll: &Roll,
    targets: &Targets,
    (set, target): (&ObservedSet, &Target),
    is_current: bool,
) -> Option<Action> {
    let mut update = SetUpdate {
        replicas: target
            .changes()
            .then_some((target.counts.wanted, target.to)),
        annotations: changed_annotations(roll, targets, (set, target), is_current),
        because: target.because.clone(),
        ..SetUpdate::default()
    };
    if is_current || set.is_active() {
        let template = desired_template(roll.observed, set.hash(), Some(set));
        update.labels = own_labels(roll.observed, &template);
        update
            .labels
            .retain(|key, value| set.labels.get(key) != Some(value));
        update.template = (template != set.template).then(|| Box::new(template));
        let seconds = roll.observed.min_ready_seconds;
        update.min_ready_seconds = (seconds != set.min_ready_seconds).then_some(seconds);
    }
    if update == SetUpdate::default() {
        return None;
    }
    update.name.clone_from(&set.name);
    update.uid.clone_from(&set.uid);
    Some(Action::UpdateSet(Box::new(update)))
}

/// The labels of a set: those of its Machines, and its deployment's name once more.
fn own_labels(observed: &Observed, template: &MachineTemplate) -> BTreeMap<String, String> {
    let mut labels = template.metadata.labels.clone();
    if observed.name.len() <= MAX_LABEL {
        labels.insert(LABEL_MACHINE_DEPLOYMENT_X.into(), observed.name.clone());
    }
    labels
}

fn changed_annotations(
    roll: &Roll,
    targets: &Targets,
    (set, target): (&ObservedSet, &Target),
    is_current: bool,
) -> BTreeMap<String, Option<String>> {
    let mut wanted: Vec<(&str, Option<String>)> = Vec::new();
    if is_current || target.to > 0 || target.counts.wanted > 0 {
        wanted.extend(
            sizes(roll)
                .into_iter()
                .map(|(key, value)| (key, Some(value))),
        );
    }
    if is_current && !roll.only_scales() {
        let newest = revision::annotations(roll).into_iter();
        wanted.extend(newest.map(|(key, value)| (key, Some(value))));
    }
    let disabled = is_disabled(roll, targets, set, is_current);
    let destination = hand_over::destination(roll, targets, (set, target), is_current);
    wanted.push((ANNOTATION_MOVES_TO, destination));
    wanted.push((ANNOTATION_DISABLE_CREATE, disabled.then(|| "true".into())));
    let changed = wanted
        .into_iter()
        .filter(|(key, value)| set.annotations.get(*key) != value.as_ref());
    changed
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Whether a set shall create no Machines. While nothing rolls, old sets keep and get their share
/// of the Machines like the current one.
fn is_disabled(roll: &Roll, targets: &Targets, set: &ObservedSet, is_current: bool) -> bool {
    // before a roll may begin, what an old set lost comes back from its own template
    let may_roll = roll.free && roll.gate.is_none();
    let is_rolling = |set: &&ObservedSet| set.is_active() && may_roll;
    if hand_over::receives(roll, set) {
        return true;
    }
    match roll.observed.strategy.type_ {
        StrategyType::RollingUpdate => {
            roll.observed.is_control_plane() && !is_current && is_rolling(&set)
        }
        StrategyType::OnDelete => !is_current && is_rolling(&set),
        StrategyType::InPlace if !is_current => is_rolling(&set),
        StrategyType::InPlace if hand_over::moves(targets) => true,
        // what has just moved to it is not missing: as before, until it has counted that
        StrategyType::InPlace if roll.sets().any(ObservedSet::is_behind) => set.creates_none(),
        StrategyType::InPlace => {
            let rolls = roll.old.iter().copied().any(|old| is_rolling(&old));
            let asked_for: i32 = targets.all().map(|target| target.to).sum();
            // more than there shall be: something is on its way back
            asked_for > roll.replicas() || (rolls && targets.current.missing() == 0)
        }
    }
}

fn sizes(roll: &Roll) -> Vec<(&'static str, String)> {
    vec![
        (ANNOTATION_DESIRED_REPLICAS, roll.replicas().to_string()),
        (ANNOTATION_MAX_REPLICAS, roll.max_total().to_string()),
    ]
}

/// What a set's template shall be. What needs new Machines is the set's own, if there is one: that
/// is what makes it this set.
fn desired_template(
    observed: &Observed,
    hash: Option<&str>,
    set: Option<&ObservedSet>,
) -> MachineTemplate {
    let mut template = observed.template.clone();
    let labels = &mut template.metadata.labels;
    if let Some(cluster) = observed.labels.get(LABEL_CLUSTER) {
        labels
            .entry(LABEL_CLUSTER.into())
            .or_insert_with(|| cluster.clone());
    }
    if observed.name.len() <= MAX_LABEL {
        labels.insert(LABEL_MACHINE_DEPLOYMENT.into(), observed.name.clone());
    }
    if let Some(hash) = hash {
        labels.insert(LABEL_TEMPLATE_HASH.into(), hash.into());
    }
    if let Some(set) = set {
        // A set's selector cannot change; the template must go on to satisfy it.
        labels.extend(set.selector.match_labels.clone().unwrap_or_default());
        template
            .spec
            .versions
            .clone_from(&set.template.spec.versions);
        template
            .spec
            .provider_spec
            .clone_from(&set.template.spec.provider_spec);
    }
    // a record of the set
    template
        .metadata
        .annotations
        .remove(ANNOTATION_RESTARTED_AT);
    template.spec.provider_id = None;
    template.spec.metadata.name = None;
    template
}

/// The deployment, as the controller of a set.
pub fn controller_reference(observed: &Observed) -> OwnerReference {
    OwnerReference {
        api_version: MachineDeployment::api_version(&()).into_owned(),
        kind: MachineDeployment::kind(&()).into_owned(),
        name: observed.name.clone(),
        uid: observed.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The set that a deployment wants.
pub fn desired_set(observed: &Observed, new: &NewSet) -> MachineSet {
    MachineSet {
        metadata: ObjectMeta {
            name: Some(new.name.clone()),
            namespace: Some(observed.namespace.clone()),
            labels: Some(new.labels.clone()),
            annotations: Some(new.annotations.clone()),
            owner_references: Some(vec![controller_reference(observed)]),
            ..ObjectMeta::default()
        },
        spec: MachineSetSpec {
            replicas: new.replicas,
            min_ready_seconds: new.min_ready_seconds,
            selector: new.selector.clone(),
            template: new.template.clone(),
            ..MachineSetSpec::default()
        },
        status: None,
    }
}
