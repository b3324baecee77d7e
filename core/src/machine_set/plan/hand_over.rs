//! What a set writes on a Machine that becomes one of it: handed over by another one of its
//! deployment, which decides that (`machine_deployment/plan/hand_over.rs`, with a drawing), or
//! adopted, as it had no controller.

use kube::ResourceExt;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::super::observed::Observed;
use super::create;
use crate::api::Machine;
use crate::merge_patch::replacement;

/// The merge patch with which a Machine becomes one of this set: owner, labels, versions, and where
/// its software comes from. Name, place and everything else stay. One that was adopted with
/// `valueFrom` gets the set's copy of its class, as those that the set creates: half a `value`
/// would be used instead of the class.
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
    if machine.spec.provider_spec.value.is_none() {
        spec["providerSpec"] = json!({ "value": template.provider_spec.value });
    } else if have != want {
        let replaced = replacement(&json!(have), &json!(want));
        spec["providerSpec"] = json!({ "value": { "node": { "software": replaced } } });
    }
    json!({
        "metadata": { "ownerReferences": owners, "labels": create::labels(to) },
        "spec": spec,
    })
}

/// The merge patch with which a Machine that has no controller becomes one of this set: owner and
/// labels alone.
pub fn adopted(machine: &Machine, to: &Observed) -> Value {
    let mut owners = machine.owner_references().to_vec();
    owners.push(create::controller_reference(to));
    json!({ "metadata": { "ownerReferences": owners, "labels": create::labels(to) } })
}

/// Whether Machines of one set may move to another: both belong to the same MachineDeployment. The
/// annotation that names the other may have been written by anybody, and an owner in another
/// namespace would cost the Machine its life.
pub fn may_move(from: &ObjectMeta, to: &ObjectMeta) -> bool {
    let controller = |set: &ObjectMeta| {
        let mut owners = set.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        Some((set.namespace.clone(), owner.kind.clone(), owner.uid.clone()))
    };
    controller(from).is_some() && controller(from) == controller(to)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;
    use crate::api::MachineSet;

    fn set(namespace: &str, deployment: Option<&str>) -> ObjectMeta {
        let owner = |uid: &str| OwnerReference {
            kind: "MachineDeployment".into(),
            uid: uid.into(),
            controller: Some(true),
            ..OwnerReference::default()
        };
        ObjectMeta {
            namespace: Some(namespace.into()),
            owner_references: deployment.map(|uid| vec![owner(uid)]),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn an_adopted_machine_with_a_class_gets_its_whole_object() {
        let object = json!({ "kind": "SSHMachineProviderSpec", "node": { "software": { "source": "mirror" } } });
        let set = |value: &Value| -> MachineSet {
            serde_json::from_value(
                json!({ "metadata": { "name": "set", "uid": "set" }, "spec": {
                "replicas": 1, "selector": { "matchLabels": { "a": "b" } },
                "template": { "metadata": { "labels": { "a": "b" } }, "spec": {
                    "versions": { "kubelet": "v1.36.3" }, "providerSpec": { "value": value },
                } },
            } }),
            )
            .expect("a set")
        };
        let machine = |provider_spec: Value| -> Machine {
            serde_json::from_value(json!({ "metadata": { "name": "m" }, "spec": {
                "versions": { "kubelet": "v1.35.4" }, "providerSpec": provider_spec,
            } }))
            .expect("a Machine")
        };
        let to = Observed::from_api(&set(&object), Ok(object.clone()), None, Vec::new());
        let of_class =
            json!({ "valueFrom": { "machineClass": { "name": "c", "provider": "tatara" } } });
        let written = |machine: &Machine| moved(machine, &to)["spec"]["providerSpec"].clone();
        assert_eq!(written(&machine(of_class)), json!({ "value": object }));
        assert_eq!(written(&machine(json!({ "value": object }))), Value::Null);
    }

    #[test]
    fn machines_move_between_sets_of_one_deployment_alone() {
        let from = set("a", Some("md"));
        assert!(may_move(&from, &set("a", Some("md"))));
        for other in [
            set("a", Some("other")),
            set("b", Some("md")),
            set("a", None),
        ] {
            assert!(!may_move(&from, &other), "{other:?}");
        }
        assert!(!may_move(&set("a", None), &set("a", None)));
    }
}
