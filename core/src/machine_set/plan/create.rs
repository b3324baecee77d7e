//! Which Machines a set makes, and how they look.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use sha2::{Digest, Sha256};

use super::super::observed::Observed;
use super::Action;
use crate::api::names::{LABEL_CLUSTER, LABEL_MACHINE_SET, is_record};
use crate::api::{Machine, MachineSet};
use crate::letters::letters;

/// Longest value of a label, and longest name of a Machine: its host may be called so.
const MAX_LABEL: usize = 63;
/// Letters behind a set's name: names do not come again, however many Machines a set has had.
const SUFFIX: usize = 8;
/// Most Machines that one pass makes. A pass that plans thousands, and makes what it comes to,
/// would plan them again each time.
const AT_ONCE: usize = 256;

/// Machines for what is missing, with names that no Machine had before: who goes by names, as
/// cluster-autoscaler does, takes a second bearer of a name for the first.
pub fn create(observed: &Observed, have: usize, wanted: usize) -> Vec<Action> {
    let missing = wanted.saturating_sub(have).min(AT_ONCE);
    let mut made = Vec::new();
    let mut random = (0..).map(|index| name(observed, index));
    while made.len() < missing {
        let some: Vec<String> = random.by_ref().take(missing - made.len()).collect();
        made.extend(untaken(observed, some));
    }
    let because = format!("{have} Machines < {wanted} spec.replicas");
    let create = |name| Action::Create {
        name,
        because: because.clone(),
    };
    made.into_iter().map(create).collect()
}

/// Those of a few names that no Machine has. There are thousands of these: what is looked up is
/// made from the few.
fn untaken(observed: &Observed, mut names: Vec<String>) -> Vec<String> {
    let few: HashSet<&str> = names.iter().map(String::as_str).collect();
    let machines = observed.machines.iter().map(|one| one.name.as_str());
    let taken: HashSet<&str> = machines.filter(|name| few.contains(name)).collect();
    names.retain(|name| !taken.contains(name.as_str()));
    names
}

/// The set's name, shortened where the whole would be too long, and letters that this pass' random
/// bytes give.
fn name(observed: &Observed, index: u64) -> String {
    let mut digest = Sha256::new();
    digest.update(observed.seed);
    digest.update(index.to_be_bytes());
    let set = &observed.name;
    let set = set.get(..MAX_LABEL - 1 - SUFFIX).unwrap_or(set);
    let set = set.trim_end_matches(['-', '.']);
    format!("{set}-{}", letters(&digest.finalize(), SUFFIX))
}

/// The Machine of this name that the set wants. A Node name in the template is not taken over: all
/// of the set's Machines would have it.
pub fn desired_machine(observed: &Observed, name: &str) -> Machine {
    let mut spec = observed.template.spec.clone();
    spec.provider_id = None;
    spec.metadata.name = None;
    let mut machine = Machine::new(name, spec);
    machine.metadata.namespace = Some(observed.namespace.clone());
    machine.metadata.labels = Some(labels(observed));
    let annotations = annotations(observed);
    machine.metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    machine.metadata.owner_references = Some(vec![controller_reference(observed)]);
    machine
}

/// The annotations that every Machine of the set has: those of the template, and no records, as
/// they come with a template that was pasted from a Machine. By them the set's Machines would be
/// looked for where that one runs.
pub fn annotations(observed: &Observed) -> BTreeMap<String, String> {
    let mut annotations = observed.template.metadata.annotations.clone();
    annotations.retain(|key, _| !is_record(key));
    annotations
}

/// The labels that every Machine of the set has.
pub fn labels(observed: &Observed) -> BTreeMap<String, String> {
    let mut labels = observed.template.metadata.labels.clone();
    if let Some(cluster) = observed.labels.get(LABEL_CLUSTER) {
        labels
            .entry(LABEL_CLUSTER.into())
            .or_insert_with(|| cluster.clone());
    }
    if observed.name.len() <= MAX_LABEL {
        labels.insert(LABEL_MACHINE_SET.into(), observed.name.clone());
    }
    labels
}

/// The set, as the controller of a Machine.
pub fn controller_reference(observed: &Observed) -> OwnerReference {
    OwnerReference {
        api_version: MachineSet::api_version(&()).into_owned(),
        kind: MachineSet::kind(&()).into_owned(),
        name: observed.name.clone(),
        uid: observed.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
