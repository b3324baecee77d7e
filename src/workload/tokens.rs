//! Bootstrap tokens in a workload cluster: Secrets of type `bootstrap.kubernetes.io/token` in
//! kube-system.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use tokio::time::timeout;

use super::error::{Error, code};
use tatara_core::api::names::FIELD_MANAGER;

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

/// Waits until kube-controller-manager has signed `cluster-info` with this token, for so long at
/// most. A node that joins looks for the signature every 5 s (kubeadm's `DiscoveryRetryInterval`),
/// and a new control plane signs a moment after its API answers. Returns whether it is signed.
pub async fn until_signed(client: &Client, id: &str, limit: Duration) -> bool {
    // as kubeadm and the signer name it (KEP-130)
    let key = format!("jws-kubeconfig-{id}");
    let is_signed = move |info: Option<&ConfigMap>| {
        let data = info.and_then(|info| info.data.as_ref());
        data.is_some_and(|data| data.contains_key(&key))
    };
    let infos: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-public");
    let signed = await_condition(infos, "cluster-info", is_signed);
    matches!(timeout(limit, signed).await, Ok(Ok(_)))
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
