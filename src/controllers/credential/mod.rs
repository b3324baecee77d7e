//! SSH credentials: kept while a host that a Machine holds needs them. Without them nobody could reset
//! that host any more, whatever was deleted first.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::{ReconcileError, patch};
use crate::manager::Context;
use crate::store::Key;

/// One pass over a Secret of type `kubernetes.io/ssh-auth`.
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
