//! Whether a Machine is deleted or given to another set, by what the watch shows when that is done:
//! a pass does it for seconds, and meanwhile the set may have been scaled or paused, or the Machine
//! given to another owner.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

use super::observed::{Observed, Owner};
use super::plan::may_move;
use crate::api::machine::MachineSpec;
use crate::api::names::ANNOTATION_MOVES_TO;
use crate::api::{Machine, MachineSet};

/// What the watch shows now.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// The set.
    pub set: Option<&'a MachineSet>,
    /// The set, or an object above it, is paused.
    pub is_paused: bool,
    /// The Machine.
    pub machine: Option<&'a Machine>,
}

/// Whether it is still decided that the set has one Machine too many, and this one.
pub fn may_go(observed: &Observed, now: Now<'_>) -> bool {
    let is_same = |set: &MachineSet| set.spec.replicas == observed.replicas && !now.is_paused;
    let is_anothers =
        |machine: &Machine| Owner::of(&machine.metadata, &observed.uid) == Owner::Other;
    now.set.is_none_or(is_same) && !now.machine.is_some_and(is_anothers)
}

/// Why a Machine stays in its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// What was decided on is not true any more.
    Changed,
    /// The other set is not of the same MachineDeployment: cause, then remedy.
    Foreign(String),
}

/// The set to which a Machine moves (`to`, if it exists): it was made, and asked for the Machine,
/// before this one was to give it up.
///
/// # Errors
/// The Machine stays.
pub fn destination<'a>(
    observed: &Observed,
    now: Now<'_>,
    to: Option<&'a MachineSet>,
) -> Result<&'a MachineSet, Stays> {
    let to = to.filter(|to| to.metadata.deletion_timestamp.is_none());
    let both = to.zip(now.set).filter(|_| may_go(observed, now));
    let (to, own) = both.ok_or(Stays::Changed)?;
    if may_move(&own.metadata, &to.metadata) {
        return Ok(to);
    }
    Err(Stays::Foreign(format!(
        "annotation {ANNOTATION_MOVES_TO} of MachineSet {} names MachineSet {}, which is not of the same MachineDeployment; remove the annotation",
        observed.name,
        to.name_any()
    )))
}

/// What of a Machine its set, or the one that adopts it, decides on.
pub type Basis = (
    MachineSpec,
    Option<BTreeMap<String, String>>,
    Option<Vec<OwnerReference>>,
);

/// What of a Machine its set, or the one that adopts it, decides on.
pub fn basis(machine: &Machine) -> Basis {
    let meta = &machine.metadata;
    (
        machine.spec.clone(),
        meta.labels.clone(),
        meta.owner_references.clone(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn owners(kind: &str, uid: &str) -> Value {
        json!([{ "apiVersion": "cluster.k8s.io/v1alpha1", "kind": kind, "name": uid, "uid": uid, "controller": true }])
    }

    fn set(uid: &str, deployment: &str, replicas: i32) -> MachineSet {
        let set = json!({
            "metadata": { "name": uid, "namespace": "n", "uid": uid, "ownerReferences": owners("MachineDeployment", deployment) },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": { "a": "b" } },
                "template": { "spec": { "versions": { "kubelet": "v1.36.3" }, "providerSpec": { "value": {} } } },
            },
        });
        serde_json::from_value(set).expect("a set")
    }

    fn machine(owner: Option<&str>) -> Machine {
        let owners = owner.map_or_else(|| json!([]), |uid| owners("MachineSet", uid));
        let machine = json!({
            "metadata": { "name": "m", "namespace": "n", "uid": "m", "ownerReferences": owners },
            "spec": { "versions": { "kubelet": "v1.36.3" } },
        });
        serde_json::from_value(machine).expect("a Machine")
    }

    fn observed() -> Observed {
        Observed::from_api(&set("own", "md", 2), Ok(json!({})), None, Vec::new())
    }

    #[test]
    fn a_machine_goes_only_while_its_set_is_as_it_was_and_has_it() {
        let (same, scaled) = (set("own", "md", 2), set("own", "md", 3));
        let (own, orphan, moved) = (machine(Some("own")), machine(None), machine(Some("x")));
        for (case, set, is_paused, machine, goes) in [
            ("as it was", Some(&same), false, Some(&own), true),
            ("scaled", Some(&scaled), false, Some(&own), false),
            ("paused", Some(&same), true, Some(&own), false),
            ("set gone", None, true, Some(&own), true),
            ("another's", Some(&same), false, Some(&moved), false),
            ("nobody's", Some(&same), false, Some(&orphan), true),
            ("gone", Some(&same), false, None, true),
        ] {
            let now = Now {
                set,
                is_paused,
                machine,
            };
            assert_eq!(may_go(&observed(), now), goes, "{case}");
        }
    }

    #[test]
    fn a_machine_moves_only_to_a_set_of_its_deployment_that_stays() {
        let (own, scaled) = (set("own", "md", 2), set("own", "md", 3));
        let (to, foreign) = (set("new", "md", 0), set("new", "other", 0));
        let mut goes = to.clone();
        let time = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
        let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
        goes.metadata.deletion_timestamp = Some(time);
        let machine = machine(Some("own"));
        for (case, set, to, expected) in [
            ("moves", Some(&own), Some(&to), "new"),
            ("gone", Some(&own), None, "changed"),
            ("goes", Some(&own), Some(&goes), "changed"),
            ("own gone", None, Some(&to), "changed"),
            ("scaled", Some(&scaled), Some(&to), "changed"),
            ("foreign", Some(&own), Some(&foreign), "foreign"),
        ] {
            let now = Now {
                set,
                is_paused: false,
                machine: Some(&machine),
            };
            let came = match destination(&observed(), now, to) {
                Ok(to) => to.name_any(),
                Err(Stays::Changed) => "changed".into(),
                Err(Stays::Foreign(why)) => {
                    assert!(why.contains("remove the annotation"), "{why}");
                    "foreign".into()
                }
            };
            assert_eq!(came, expected, "{case}");
        }
    }

    #[test]
    fn a_write_rests_on_spec_labels_and_owners_of_a_machine() {
        let plain = machine(Some("own"));
        let is_same = |change: fn(&mut Machine)| {
            let mut changed = plain.clone();
            change(&mut changed);
            basis(&changed) == basis(&plain)
        };
        assert!(is_same(|machine| {
            machine.annotations_mut().insert("a".into(), "b".into());
        }));
        assert!(!is_same(|machine| {
            machine.labels_mut().insert("a".into(), "b".into());
        }));
        assert!(!is_same(|machine| machine.metadata.owner_references = None));
        assert!(!is_same(
            |machine| machine.spec.deletion = Some(Default::default())
        ));
    }
}
