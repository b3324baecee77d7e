//! Resolves MachineClasses for the objects that use them.

use tatara_core::Why;
use tatara_core::api::conditions::Reason;

use serde_json::Value;

use crate::store::Stores;
use tatara_core::api::{MachineProviderSpec, MachineSpec, ProviderSpec};
use tatara_core::kubeadm::version;

/// The provider's object: `value`, or a copy of the class's. `value` has precedence.
///
/// # Errors
/// `Why` when neither is set, the class is in another namespace, or it does not exist.
pub fn resolve(stores: &Stores, namespace: &str, spec: &ProviderSpec) -> Result<Value, Why> {
    if let Some(value) = &spec.value {
        return Ok(value.clone());
    }
    let reference = spec
        .value_from
        .as_ref()
        .and_then(|source| source.machine_class.as_ref())
        .ok_or_else(|| {
            Why::new(
                Reason::InvalidConfiguration,
                "spec.providerSpec has neither value nor valueFrom.machineClass",
            )
            .remedied("set one of them")
        })?;
    if reference
        .namespace
        .as_deref()
        .is_some_and(|other| !other.is_empty() && other != namespace)
    {
        return Err(Why::new(Reason::InvalidConfiguration,
            format!(
                "spec.providerSpec.valueFrom.machineClass.namespace is {:?}; references stay in their own namespace ({namespace}):",
                reference.namespace.as_deref().unwrap_or_default()
            ),
        )
        .remedied("leave it out"));
    }
    let class = stores.machine_classes.get(namespace, &reference.name).ok_or_else(|| {
        let cause = format!(
            "MachineClass {}, named by spec.providerSpec.valueFrom.machineClass, does not exist in namespace {namespace}",
            reference.name
        );
        Why::new(Reason::MachineClassMissing, cause).remedied("create it, or correct the name")
    })?;
    Ok(class.value().clone())
}

/// The provider's object of a template, if Machines can be created from the template.
///
/// # Errors
/// Those of [`resolve`]; `Why` when the object cannot be decoded or a version is not supported.
pub fn usable(stores: &Stores, namespace: &str, template: &MachineSpec) -> Result<Value, Why> {
    let value = resolve(stores, namespace, &template.provider_spec)?;
    match problem(template, &value) {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// Why no Machine of a template could ever be created. Checked before existing Machines are
/// replaced.
fn problem(template: &MachineSpec, value: &Value) -> Option<Why> {
    if let Err(error) = MachineProviderSpec::decode(value) {
        let error = error.to_string();
        let source = template.provider_spec.value_from.as_ref();
        let class = source.and_then(|source| source.machine_class.as_ref());
        let class = class.filter(|_| template.provider_spec.value.is_none());
        return Some(Why::new(
            Reason::InvalidConfiguration,
            class.map_or_else(
                || format!("spec.template.{error}"),
                |class| {
                    let error = error.strip_prefix("spec.").unwrap_or(&error);
                    format!("MachineClass {}: {error}", class.name)
                },
            ),
        ));
    }
    let versions = template.versions.clone().unwrap_or_default();
    let control_plane = versions.control_plane.as_deref();
    let block = "spec.template.spec.versions";
    let refusal = version::check_block(block, &versions.kubelet, control_plane).err()?;
    Some(Why::new(Reason::UnsupportedVersion, refusal.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(versions: &Value, value: &Value) -> Option<(Reason, String)> {
        let spec = json!({"versions": versions, "providerSpec": {"value": value}});
        let spec: MachineSpec = serde_json::from_value(spec).expect("a spec");
        problem(&spec, value).map(|problem| (problem.reason, problem.message()))
    }

    #[test]
    fn a_template_that_no_machine_could_be_made_from_is_refused_with_the_field() {
        let ours = |kind: &str| json!({"apiVersion": "tatara.dev/v1alpha1", "kind": kind});
        let good = (
            json!({"kubelet": "v1.36.3"}),
            ours("SSHMachineProviderSpec"),
        );
        assert_eq!(refusal(&good.0, &good.1), None);
        let mut typo = good.1.clone();
        typo["hostselector"] = json!({});
        let table = [
            (
                good.0.clone(),
                ours("Nonsense"),
                "InvalidConfiguration",
                "Nonsense",
            ),
            (good.0.clone(), typo, "InvalidConfiguration", "hostselector"),
            (
                json!({"kubelet": "banana"}),
                good.1.clone(),
                "UnsupportedVersion",
                "kubelet",
            ),
            (
                json!({"kubelet": "v1.20.0"}),
                good.1.clone(),
                "UnsupportedVersion",
                "too old",
            ),
            (
                json!({"kubelet": "v1.36.3", "controlPlane": "v9.0.0"}),
                good.1.clone(),
                "UnsupportedVersion",
                "controlPlane",
            ),
            (
                json!({"kubelet": "v1.36.3", "controlPlane": "v1.35.0"}),
                good.1,
                "UnsupportedVersion",
                "newer than spec.versions.controlPlane v1.35.0 of the same Machine",
            ),
        ];
        for (versions, value, reason, says) in table {
            let (got, message) = refusal(&versions, &value).expect("a refusal");
            assert_eq!(got.as_str(), reason, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }
}
