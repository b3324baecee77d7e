//! Credentials of hosts and of their BMCs: kept while a host that a Machine holds needs them. Without them
//! nobody could reset that host any more, or switch it on for that, whatever was deleted first.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::{ReconcileError, patch};
use crate::manager::Context;
use crate::store::Key;

/// One pass over a Secret of type `kubernetes.io/ssh-auth` or `kubernetes.io/basic-auth`.
pub async fn reconcile(
    secret: Arc<Secret>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let key = Key::Secret(secret.namespace().unwrap_or_default(), secret.name_any());
    let hosts = context.stores.hosts.by(&key);
    let needed = hosts.iter().any(|host| host.spec.consumer_ref.is_some());
    patch::hold(&context.client, secret.as_ref(), needed).await?;
    Ok(Action::await_change())
}

/// One pass over a Secret of type `tatara.dev/gateway`: kept while a Hypervisor that Machines are on needs
/// it. Without it nobody could end their virtual machines any more.
pub async fn reconcile_gateway(
    secret: Arc<Secret>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    let hypervisors = context
        .stores
        .hypervisors
        .by(&Key::Secret(namespace.clone(), name));
    let has_machines = |name: String| {
        let placed = Key::Hypervisor(namespace.clone(), name);
        !context.stores.machines.by(&placed).is_empty()
    };
    let needed = hypervisors
        .iter()
        .any(|hypervisor| has_machines(hypervisor.name_any()));
    patch::hold(&context.client, secret.as_ref(), needed).await?;
    Ok(Action::await_change())
}
