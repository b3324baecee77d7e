//! MachineClass: resolved by those who use it; kept from deletion while they do.

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;
use serde_json::{Value, json};

use super::machine::SpecProblem;
use super::{ReconcileError, patch};
use crate::api::names::LABEL_CLASS_IN_USE;
use crate::api::{MachineClass, ProviderSpec};
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
    let problem = |reason, message| SpecProblem {
        foreign: false,
        reason,
        message,
    };
    let reference = spec
        .value_from
        .as_ref()
        .and_then(|source| source.machine_class.as_ref())
        .ok_or_else(|| {
            problem(
                "InvalidConfiguration",
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
            "InvalidConfiguration",
            format!(
                "spec.providerSpec.valueFrom.machineClass.namespace is {:?}; references stay in their own namespace ({namespace}): leave it out",
                reference.namespace.as_deref().unwrap_or_default()
            ),
        ));
    }
    let class = stores.machine_classes.get(namespace, &reference.name).ok_or_else(|| {
        problem("MachineClassMissing", format!(
            "MachineClass {}, named by spec.providerSpec.valueFrom.machineClass, does not exist in namespace {namespace}; create it",
            reference.name
        ))
    })?;
    Ok(class.value().clone())
}

/// One pass over a MachineClass: the label that an admission policy reads says whether it is in use. The
/// finalizer says it to namespace deletion, which that policy lets pass.
pub async fn reconcile(
    class: Arc<MachineClass>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
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
