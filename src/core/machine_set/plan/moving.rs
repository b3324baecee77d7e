//! A Machine that moves to another set of its deployment.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::observed::Observed;
use super::create;
use crate::api::Machine;

/// The merge patch with which a Machine becomes one of this set: owner, labels, versions, and where its software comes from.
/// Name, place and everything else stay.
pub fn moved(machine: &Machine, to: &Observed) -> Value {
    let is_controller = |owner: &&_| {
        let owner: &k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference = owner;
        owner.controller == Some(true)
    };
    let others = machine.owner_references().iter();
    let mut owners: Vec<_> = others
        .filter(|owner| !is_controller(owner))
        .cloned()
        .collect();
    owners.push(create::controller_reference(to));
    let template = &to.template.spec;
    let mut spec = json!({ "versions": template.versions });
    let software = |value: &Option<Value>| value.as_ref()?.get("node")?.get("software").cloned();
    let (have, want) = (
        software(&machine.spec.provider_spec.value),
        software(&template.provider_spec.value),
    );
    if have != want {
        let replaced = replacement(have.as_ref(), want);
        spec["providerSpec"] = json!({ "value": { "node": { "software": replaced } } });
    }
    json!({
        "metadata": { "ownerReferences": owners, "labels": create::labels(to) },
        "spec": spec,
    })
}

/// A merge patch merges objects: what the new one does not have is removed by null.
fn replacement(have: Option<&Value>, want: Option<Value>) -> Value {
    let Some(mut want) = want else {
        return Value::Null;
    };
    let gone = have.and_then(Value::as_object).into_iter().flatten();
    for (key, _) in gone {
        if want.get(key).is_none() {
            want[key] = Value::Null;
        }
    }
    want
}
