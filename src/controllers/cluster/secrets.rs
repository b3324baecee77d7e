//! The Secrets of a cluster: held until it is gone. A namespace, or a foreground deletion, would take
//! them first, and a restarted manager could not finish what was begun; and a CA that somebody deletes
//! by mistake stays readable.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use crate::api::Cluster;
use crate::api::names::kubeconfig_secret;
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;
use crate::pki::AuthoritySecret;

/// Holds them, those that users gave as well, or lets them go.
pub async fn hold(
    context: &Context,
    cluster: &Cluster,
    needed: bool,
) -> Result<(), ReconcileError> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    let authorities = AuthoritySecret::ALL.map(|which| which.name(&name));
    for name in authorities.into_iter().chain([kubeconfig_secret(&name)]) {
        let secret = secrets
            .get_opt(&name)
            .await
            .map_err(ReconcileError::api(format!("read Secret {name}")))?;
        if let Some(secret) = secret {
            patch::hold(&context.client, &secret, needed).await?;
        }
    }
    Ok(())
}
