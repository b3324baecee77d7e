//! Control-plane Machines without a controller that a MachineDeployment takes in before it creates
//! any: one control plane becomes three without being replaced.
//!
//! A Machine is adopted as it is, into the set of its own versions. Another difference from the
//! template would be no reason to replace the only control plane at once, so it is not adopted, and
//! a person decides.

use super::super::observed::{ObservedSet, Orphan};
use super::super::revision::Revision;
use super::roll::Roll;
use super::sets::{self, New};
use super::{Action, SetUpdate, revision};
use crate::api::names::ANNOTATION_DISABLE_CREATE;
use crate::remedy;
use crate::words::counted;

/// What is to be done about the Machines that nobody controls.
#[derive(Debug, Default)]
pub struct Adoption {
    /// The next steps, before anything else.
    pub actions: Vec<Action>,
    /// Why a Machine is not adopted, which keeps a deployment without Machines from creating any.
    pub refused: Option<String>,
}

/// What is to be done about the Machines that nobody controls. A set expects what it is given, and
/// creates none meanwhile, or it would have too many.
pub fn plan(roll: &Roll) -> Adoption {
    let Some(wanted) = roll.wanted.as_ref().filter(|_| roll.free) else {
        return Adoption::default();
    };
    let mut adoption = Adoption::default();
    let mut sets: Vec<(Revision, Vec<&Orphan>)> = Vec::new();
    let mut room = roll.replicas() - roll.sets().map(ObservedSet::machines).sum::<i32>();
    for orphan in &roll.observed.orphans {
        let is = Revision::new(orphan.versions.as_ref(), &orphan.provider_spec);
        let differs = is.needs_replacement(&wanted.without_restart());
        if orphan.is_paused {
            adoption
                .refused
                .get_or_insert_with(|| paused(&roll.observed.namespace, orphan));
            continue;
        }
        if !differs.is_empty() {
            adoption
                .refused
                .get_or_insert_with(|| refused(&roll.observed.namespace, orphan, &differs));
            continue;
        }
        if room <= 0 {
            // another one would be deleted for it
            adoption
                .refused
                .get_or_insert_with(|| one_too_many(roll, orphan));
            continue;
        }
        room -= 1;
        if let Some((_, group)) = sets.iter_mut().find(|(other, _)| *other == is) {
            group.push(orphan);
        } else {
            sets.push((is, vec![orphan]));
        }
    }
    for (is, group) in sets {
        let set = roll.sets().find(|set| revision::revision_of(set) == is);
        adoption.actions.extend(match set {
            None => create(roll, &is, &group).into_iter().collect(),
            Some(set) => adopt(set, &group),
        });
        // one set at a time: the next one has another revision number
        if adoption
            .actions
            .iter()
            .any(|action| matches!(action, Action::CreateSet(_)))
        {
            break;
        }
    }
    adoption
}

fn refused(namespace: &str, orphan: &Orphan, differs: &[String]) -> String {
    let name = &orphan.name;
    format!(
        "Machine {name} matches spec.selector and has no controller; it is not adopted, because it differs from the template in {}. Set the template to what the Machine has ({}), or remove from the Machine the label that spec.selector names",
        differs
            .iter()
            .map(|field| path(field))
            .collect::<Vec<_>>()
            .join(", "),
        remedy::machine::manifest(namespace, name)
    )
}

/// A differing field, as it stands in the template.
fn path(field: &str) -> String {
    match field.strip_prefix("providerSpec") {
        Some(rest) => format!("spec.template.spec.providerSpec.value{rest}"),
        None => format!("spec.template.spec.{field}"),
    }
}

fn one_too_many(roll: &Roll, orphan: &Orphan) -> String {
    let (name, replicas) = (&orphan.name, roll.replicas());
    format!(
        "Machine {name} matches spec.selector and has no controller; it is not adopted, because spec.replicas is {replicas} and there are as many Machines. Raise spec.replicas, or remove from the Machine the label that spec.selector names"
    )
}

fn paused(namespace: &str, orphan: &Orphan) -> String {
    format!(
        "Machine {} matches spec.selector and has no controller; it is not adopted while it has the annotation cluster.k8s.io/paused: {}",
        orphan.name,
        remedy::resume("machine", namespace, &orphan.name)
    )
}

fn create(roll: &Roll, is: &Revision, group: &[&Orphan]) -> Option<Action> {
    let orphan = group.first()?;
    let names: Vec<&str> = group.iter().map(|orphan| orphan.name.as_str()).collect();
    let mut new = sets::new_set(
        roll,
        New {
            revision: is,
            versions: orphan.versions.clone(),
            provider_spec: orphan.provider_spec.clone(),
            replicas: count(group),
            because: vec![format!("it adopts Machine {}", names.join(", "))],
        },
    );
    new.annotations
        .insert(ANNOTATION_DISABLE_CREATE.into(), "true".into());
    Some(Action::CreateSet(Box::new(new)))
}

/// The set expects them first. What it counts late would be taken for lost.
fn adopt(set: &ObservedSet, group: &[&Orphan]) -> Vec<Action> {
    let to = set.machines() + count(group);
    let is_disabled = set
        .annotations
        .get(ANNOTATION_DISABLE_CREATE)
        .map(String::as_str)
        == Some("true");
    if set.counts.wanted < to || !is_disabled {
        return vec![Action::UpdateSet(Box::new(SetUpdate {
            name: set.name.clone(),
            uid: set.uid.clone(),
            replicas: (set.counts.wanted < to).then_some((set.counts.wanted, to)),
            annotations: [(
                ANNOTATION_DISABLE_CREATE.to_owned(),
                Some("true".to_owned()),
            )]
            .into(),
            because: vec![format!("it adopts {}", counted(group.len(), "Machine"))],
            ..SetUpdate::default()
        }))];
    }
    let adopt = |orphan: &&Orphan| Action::AdoptMachine {
        name: orphan.name.clone(),
        uid: orphan.uid.clone(),
        set: set.name.clone(),
        set_uid: set.uid.clone(),
    };
    group.iter().map(adopt).collect()
}

fn count(group: &[&Orphan]) -> i32 {
    i32::try_from(group.len()).unwrap_or(i32::MAX)
}
