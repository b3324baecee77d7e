//! Bootstrap tokens in a workload cluster: Secrets of type `bootstrap.kubernetes.io/token` in kube-system.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};

use super::error::{Error, code};
use crate::api::names::FIELD_MANAGER;

/// Namespace in which kubeadm and the token authenticator look for bootstrap tokens.
const NAMESPACE: &str = "kube-system";

/// Creates a bootstrap token, or changes its expiration. `secret` is named
/// `bootstrap-token-<id>`.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn apply(client: &Client, secret: &Secret) -> Result<(), Error> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = secrets(client)
        .patch(name, &params, &Patch::Apply(secret))
        .await;
    // the name holds the public half of a token only
    applied.map_err(|error| Error::new(format!("apply Secret {NAMESPACE}/{name}"), error))?;
    Ok(())
}

/// Deletes a bootstrap token, if it exists.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn delete(client: &Client, name: &str) -> Result<(), Error> {
    match secrets(client).delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(error) if code(&error) == Some(404) => Ok(()),
        Err(error) => Err(Error::new(
            format!("delete Secret {NAMESPACE}/{name}"),
            error,
        )),
    }
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::namespaced(client.clone(), NAMESPACE)
}
