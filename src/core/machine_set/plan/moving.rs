//! A Machine that moves to another set of its deployment.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::observed::Observed;
use super::create;
use crate::api::Machine;
use crate::core::merge_patch::replacement;

/// The merge patch with which a Machine becomes one of this set: owner, labels, versions, and where its software comes from.
/// Name, place and everything else stay.
pub fn moved(machine: &Machine, to: &Observed) -> Value {
    let mut owners = machine.owner_references().to_vec();
    owners.retain(|owner| owner.controller != Some(true));
    owners.push(create::controller_reference(to));
    let template = &to.template.spec;
    let mut spec = json!({ "versions": template.versions });
    let software = |value: &Option<Value>| value.as_ref()?.get("node")?.get("software").cloned();
    let (have, want) = (
        software(&machine.spec.provider_spec.value),
        software(&template.provider_spec.value),
    );
    if have != want {
        let replaced = replacement(&json!(have), &json!(want));
        spec["providerSpec"] = json!({ "value": { "node": { "software": replaced } } });
    }
    json!({
        "metadata": { "ownerReferences": owners, "labels": create::labels(to) },
        "spec": spec,
    })
}
