//! MachineClass: resolved by those who use it; kept from deletion while they do.

use crate::api::conditions::Reason;
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;
use serde_json::{Value, json};

use super::machine::SpecProblem;
use super::{ReconcileError, patch, whose};
use crate::api::names::LABEL_CLASS_IN_USE;
use crate::api::{MachineClass, MachineProviderSpec, MachineSpec, ProviderSpec};
use crate::kubeadm::version;
use crate::manager::Context;
use crate::store::{Key, Stores};

/// The provider's object: `value`, or a copy of the class's. `value` wins.
pub fn resolve(
    stores: &Stores,
    namespace: &str,
    spec: &ProviderSpec,
) -> Result<Value, SpecProblem> {
    if let Some(value) = &spec.value {
        return Ok(value.clone());
    }
    let problem = |reason, message| SpecProblem { reason, message };
    let reference = spec
        .value_from
        .as_ref()
        .and_then(|source| source.machine_class.as_ref())
        .ok_or_else(|| {
            problem(
                Reason::InvalidConfiguration,
                "spec.providerSpec has neither value nor valueFrom.machineClass; set one of them"
                    .into(),
            )
        })?;
    if reference
        .namespace
        .as_deref()
        .is_some_and(|other| !other.is_empty() && other != namespace)
    {
        return Err(problem(
            Reason::InvalidConfiguration,
            format!(
                "spec.providerSpec.valueFrom.machineClass.namespace is {:?}; references stay in their own namespace ({namespace}): leave it out",
                reference.namespace.as_deref().unwrap_or_default()
            ),
        ));
    }
    let class = stores.machine_classes.get(namespace, &reference.name).ok_or_else(|| {
        problem(Reason::MachineClassMissing, format!(
            "MachineClass {}, named by spec.providerSpec.valueFrom.machineClass, does not exist in namespace {namespace}; create it",
            reference.name
        ))
    })?;
    Ok(class.value().clone())
}

/// The provider's object that a template stands for, if Machines can be made from the template.
pub fn usable(
    stores: &Stores,
    namespace: &str,
    template: &MachineSpec,
) -> Result<Value, SpecProblem> {
    let value = resolve(stores, namespace, &template.provider_spec)?;
    match problem(template, &value) {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// Why no Machine of a template could ever be made, if so. Found out before anything is given up for it.
fn problem(template: &MachineSpec, value: &Value) -> Option<SpecProblem> {
    if let Err(error) = MachineProviderSpec::decode(value) {
        return Some(SpecProblem {
            reason: Reason::InvalidConfiguration,
            message: match template.provider_spec.value {
                Some(_) => format!("spec.template.{error}"),
                None => format!("of the MachineClass that spec.template names, {error}"),
            },
        });
    }
    let versions = template.versions.clone().unwrap_or_default();
    let control_plane = versions.control_plane.as_deref();
    let block = "spec.template.spec.versions";
    let refusal = version::check_block(block, &versions.kubelet, control_plane).err()?;
    Some(SpecProblem {
        reason: Reason::UnsupportedVersion,
        message: refusal.to_string(),
    })
}

/// One pass over a MachineClass: the label that an admission policy reads says whether it is in use. The
/// finalizer says it to namespace deletion, which that policy lets pass.
pub async fn reconcile(
    class: Arc<MachineClass>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if !whose::is_ours(&context, &class).await? {
        return Ok(Action::await_change());
    }
    let key = Key::Class(class.namespace().unwrap_or_default(), class.name_any());
    let stores = &context.stores;
    let used = !stores.machine_deployments.by(&key).is_empty()
        || !stores.machine_sets.by(&key).is_empty()
        || !stores.machines.by(&key).is_empty();
    // the label first: once the finalizer is off, a deleted class is gone
    if used != class.labels().contains_key(LABEL_CLASS_IN_USE) {
        let value = if used { json!("true") } else { Value::Null };
        let change = json!({ "metadata": { "labels": { (LABEL_CLASS_IN_USE): value } } });
        patch::write(&context.client, class.as_ref(), change).await?;
    }
    patch::hold(&context.client, class.as_ref(), used).await?;
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(versions: &Value, value: &Value) -> Option<(Reason, String)> {
        let spec = json!({"versions": versions, "providerSpec": {"value": value}});
        let spec: MachineSpec = serde_json::from_value(spec).expect("a spec");
        problem(&spec, value).map(|problem| (problem.reason, problem.message))
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
                "ahead",
            ),
        ];
        for (versions, value, reason, says) in table {
            let (got, message) = refusal(&versions, &value).expect("a refusal");
            assert_eq!(got, reason, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }
}
