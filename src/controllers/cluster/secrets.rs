//! The Secrets of a cluster: read when the Secret watch shows a change, and protected with
//! finalizers until the Cluster is deleted. Deleting the namespace, or a foreground deletion, would
//! remove them first, and a restarted manager could not complete what was started; a CA deleted by
//! mistake remains readable.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{Clusters, seen};
use crate::controllers::cluster_cache::Kubeconfig;
use crate::controllers::machine::turn;
use crate::engine::{Chain, ReconcileError, patch};
use crate::pki::{Authorities, AuthoritySecret, PkiError, kubeconfig};
use crate::workload::{given, manifests};
use tatara_core::api::Cluster;
use tatara_core::api::cluster_provider_spec::{Addon, AddonKind};
use tatara_core::api::names::{
    ANNOTATION_INITIALIZED, FINALIZER_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY, kubeconfig_secret,
};
use tatara_core::cluster::Certificates;
use tatara_core::cluster::live::end::{Holding, holding, other_cluster};
use tatara_core::cluster_profile::Server;
use tatara_core::control_plane::turn::Marks;

/// Reads the Secrets of a Cluster that is not being deleted, unless the cached ones are current.
///
/// # Errors
/// Those of [`read`].
pub async fn observe(
    controller: &Clusters,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    if !cluster.finalizers().iter().any(|f| f == FINALIZER_CLUSTER) {
        return Ok(()); // nothing is done before it is written
    }
    let uid = cluster.uid().unwrap_or_default();
    controller
        .secrets
        .follow(cluster, &watched(&cluster.name_any()));
    let revision = controller.secrets.revision(&uid);
    let known = controller.workloads.known.get(&uid);
    if known.secrets_at == Some(revision) && known.certificates == Certificates::Ready {
        return Ok(());
    }
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let secret = read(controller, &namespace, &kubeconfig_secret(&name)).await?;
    seen::read(
        &controller.workloads.known,
        cluster,
        &kubeconfig_secret(&name),
        secret.as_ref(),
    );
    let kubeconfig = understood(cluster, secret.as_ref()).await;
    let is_external = kubeconfig.external;
    controller.workloads.known.update(&uid, |known| {
        let is_new = kubeconfig.digest != known.connected_with;
        known.unused = secret
            .as_ref()
            .and_then(text)
            .filter(|_| is_new)
            .map(Into::into);
        known.kubeconfig = kubeconfig;
        // a Secret that was created again has no finalizer yet
        known.secrets_held &= known.secrets_at == Some(revision);
        known.secrets_at = Some(revision);
    });
    if is_external {
        controller
            .workloads
            .known
            .update(&uid, |known| known.certificates = Certificates::Ready);
        turn::remember(&controller.turns, cluster, None);
        return Ok(());
    }
    let judged = certificates(controller, cluster, now).await;
    if judged.is_err() {
        seen::read_again(&controller.workloads.known, cluster);
    }
    judged
}

/// Names of the Secrets that a cluster has.
fn names(cluster: &str) -> impl Iterator<Item = String> {
    let authorities = AuthoritySecret::ALL.map(|which| which.name(cluster));
    authorities.into_iter().chain([kubeconfig_secret(cluster)])
}

fn watched(cluster: &str) -> Vec<Addon> {
    let secret = |name| Addon {
        kind: AddonKind::Secret,
        name,
    };
    names(cluster).map(secret).collect()
}

/// Reads the authorities. Those of an existing control plane stay cached when their Secret is lost:
/// only users can restore it, and the cluster keeps running.
async fn certificates(
    controller: &Clusters,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let name = cluster.name_any();
    let uid = cluster.uid().unwrap_or_default();
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    let made_with = controller.workloads.known.get(&uid).kubeconfig.made_with;
    let made_with = made_with.filter(|_| is_made);
    let AuthorityState { data, marks } = read_authorities(controller, cluster, is_made).await?;
    let (state, authorities) = match Authorities::load_or_generate(&name, &data, now) {
        Err(error @ (PkiError::Expired { .. } | PkiError::NotYetValid { .. })) => {
            (Certificates::OutOfValidity(error.to_string()), None)
        }
        Err(error) => (Certificates::Broken(Chain(&error).to_string()), None),
        Ok((authorities, missing)) if missing.is_empty() => judged(&name, authorities, made_with),
        Ok((_, missing)) => {
            let names = missing.iter().map(|which| which.name(&name));
            (Certificates::Missing(names.collect()), None)
        }
    };
    let is_replaced = matches!(state, Certificates::Replaced(_));
    controller.workloads.known.update(&uid, |known| {
        known.certificates = state;
        if authorities.is_some() || !is_made || is_replaced {
            known.authorities = authorities;
        }
    });
    turn::remember(&controller.turns, cluster, marks);
    Ok(())
}

/// Judges a complete set of authorities. A CA that replaces the one of the existing control plane
/// is unusable: TLS verification fails for nodes that join with it and for kubeconfigs that contain
/// it. The original CA is taken from the kubeconfig that was written with it, so a restarted
/// manager detects this as well.
fn judged(
    cluster: &str,
    authorities: Authorities,
    made_with: Option<String>,
) -> (Certificates, Option<Arc<Authorities>>) {
    if made_with.is_some_and(|pem| authorities.cluster.is_other_than(&pem)) {
        let secret = AuthoritySecret::Cluster.name(cluster);
        return (Certificates::Replaced(secret), None);
    }
    (Certificates::Ready, Some(Arc::new(authorities)))
}

/// Records authorities that were generated as a whole: they need not be read.
pub fn made(
    controller: &Clusters,
    cluster: &Cluster,
    authorities: Authorities,
    secrets: &[Secret],
) {
    let (uid, name) = (cluster.uid().unwrap_or_default(), cluster.name_any());
    controller.workloads.known.update(&uid, |known| {
        known.certificates = Certificates::Ready;
        known.authorities = Some(Arc::new(authorities));
    });
    let authority = AuthoritySecret::Cluster.name(&name);
    let authority = secrets.iter().find(|secret| secret.name_any() == authority);
    let marks = authority.map(|secret| Marks::of(secret.annotations()));
    turn::remember(&controller.turns, cluster, marks);
}

/// The authorities' Secrets that exist.
#[derive(Default)]
pub struct AuthorityState {
    /// Their data.
    pub data: BTreeMap<AuthoritySecret, BTreeMap<String, ByteString>>,
    /// The control-plane turn recorded on the CA Secret.
    pub marks: Option<Marks>,
}

/// Reads the authorities' Secrets that exist. Unless a control plane exists (`is_made`), those that
/// the watch does not show are not read: they are written with a create request, which fails if one
/// exists.
///
/// # Errors
/// Those of [`read`].
pub async fn read_authorities(
    controller: &Clusters,
    cluster: &Cluster,
    is_made: bool,
) -> Result<AuthorityState, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let mut found = AuthorityState::default();
    for which in AuthoritySecret::ALL {
        let name = which.name(&cluster.name_any());
        let secret = if !is_made && controller.secret_names.is_missing(&namespace, &name) {
            None
        } else {
            read(controller, &namespace, &name).await?
        };
        seen::read(&controller.workloads.known, cluster, &name, secret.as_ref());
        if let Some(secret) = secret {
            if which == AuthoritySecret::Cluster {
                found.marks = Some(Marks::of(secret.annotations()));
            }
            found.data.insert(which, secret.data.unwrap_or_default());
        }
    }
    Ok(found)
}

/// Reads a Secret, if it exists.
///
/// # Errors
/// `ReconcileError::Api` when the API server refuses the request or does not answer.
pub async fn read(
    controller: &Clusters,
    namespace: &str,
    name: &str,
) -> Result<Option<Secret>, ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(controller.base.client(), namespace);
    let secret = secrets.get_opt(name).await;
    let secret = secret.map_err(ReconcileError::api(format!("read Secret {name}")))?;
    if secret.is_some() {
        // the watch may lag
        controller.secret_names.is_there(namespace, name);
    }
    Ok(secret)
}

/// Interprets the kubeconfig Secret: who wrote it, and until when it is valid. An external control
/// plane does not become ours when its kubeconfig is lost.
pub async fn understood(cluster: &Cluster, secret: Option<&Secret>) -> Kubeconfig {
    let name = kubeconfig_secret(&cluster.name_any());
    let Some(secret) = secret else {
        let external = cluster.was_external();
        let lost = || {
            format!(
                "Secret {name}, by which the control plane is reached, is missing; create it again with the kubeconfig under the key value"
            )
        };
        return Kubeconfig {
            external,
            problem: external.then(lost),
            server: Err(lost()),
            ..Kubeconfig::default()
        };
    };
    if let Some(other) = other_cluster(secret, cluster) {
        return Kubeconfig {
            uid: secret.uid(),
            problem: Some(format!(
                "Secret {name}, in which this Cluster's kubeconfig would be, is that of Cluster {other} and is left alone; make this Cluster under another name"
            )),
            ..Kubeconfig::default()
        };
    }
    let is_ours = secret.labels().get(LABEL_MANAGED_BY).map(String::as_str) == Some(MANAGED_BY);
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    let external = !is_ours && !is_made;
    let text = text(secret);
    let config = match &text {
        None => Err("it has no key value".to_owned()),
        Some(text) => given::config(text).await,
    };
    let server = config
        .as_ref()
        .map_err(Clone::clone)
        .and_then(given::server);
    let server = server.map(|(url, authority_pem)| Server { url, authority_pem });
    let problem = config.err().filter(|_| external);
    let named = |problem: String| format!("Secret {name}: {problem}");
    let parsed = text
        .as_deref()
        .and_then(|text| kubeconfig::parse(text).ok());
    Kubeconfig {
        uid: secret.uid(),
        external,
        renew_at: parsed.as_ref().map(kubeconfig::Kubeconfig::renew_at),
        made_with: parsed
            .filter(|_| is_ours)
            .map(|parsed| parsed.authority_pem),
        digest: text.as_deref().map(digest),
        problem: problem.map(named),
        server: server.map_err(named),
    }
}

/// The kubeconfig in a Secret.
pub fn text(secret: &Secret) -> Option<String> {
    let value = secret.data.as_ref()?.get("value")?;
    Some(String::from_utf8_lossy(&value.0).into_owned())
}

/// Digest that identifies a kubeconfig.
pub fn digest(text: &str) -> String {
    manifests::digest([("value", text)])
}

/// Adds our finalizer to the Secrets, also to those from users, or removes it. The removal also
/// deletes the record of the control plane, so that a Cluster of the same name and CA can be
/// created again.
///
/// # Errors
/// Those of [`read`], [`patch::write`] and [`patch::hold`].
pub async fn hold(
    controller: &Clusters,
    cluster: &Cluster,
    needed: bool,
) -> Result<(), ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let uid = cluster.uid().unwrap_or_default();
    let is_external = controller.workloads.known.get(&uid).kubeconfig.external;
    let kubeconfig = kubeconfig_secret(&cluster.name_any());
    let known = controller.workloads.known.get(&uid);
    let was_read = known.secrets_at.is_some();
    for name in names(&cluster.name_any()) {
        // of an external control plane only the kubeconfig is read
        if needed && is_external && name != kubeconfig {
            continue;
        }
        // a Secret that this process neither read nor wrote, and that the watch does not show, does
        // not exist
        let is_none = was_read
            && !known.secrets.contains_key(&name)
            && controller.secret_names.is_missing(&namespace, &name);
        let secret = if needed || is_none {
            known.secrets.get(&name).cloned()
        } else {
            read(controller, &namespace, &name).await?
        };
        let Some(mut secret) = secret else {
            continue;
        };
        match holding(&secret, cluster, needed) {
            Holding::Anothers => continue,
            Holding::Record => {
                let change =
                    json!({ "metadata": { "annotations": { (ANNOTATION_INITIALIZED): null } } });
                secret = patch::write(&controller.base.engine, &secret, change).await?;
            }
            Holding::Finalizer => (),
        }
        let held = patch::hold(&controller.base.engine, &secret, needed).await;
        if held.is_err() {
            seen::read_again(&controller.workloads.known, cluster);
        }
        if let Some(held) = held? {
            seen::wrote(controller, cluster, &held);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
