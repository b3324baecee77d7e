//! How consumers reach a workload cluster: an identity of their own in the workload cluster, and a
//! Secret beside the Cluster with a kubeconfig for it, to which the profile points. Pure.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::input::Server;
use super::observed::{ClusterFacts, Observed};
use super::plan::Action;
use crate::api::cluster_profile::{AccessCluster, AccessExtension, AccessProvider};
use crate::api::names::{LABEL_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY, profile_kubeconfig_secret};
use crate::api::{CLUSTER_GROUP, VERSION};

/// Name under which consumers look for the way in (cluster-inventory-api).
const PROVIDER: &str = "kubeconfig-secretreader";
/// Extension that carries the plugin's settings (client-go).
const EXTENSION: &str = "client.authentication.k8s.io/exec";
/// Key of the kubeconfig in its Secret (Cluster API convention).
pub const KEY: &str = "value";
/// Type of a kubeconfig Secret (Cluster API convention).
const TYPE: &str = "cluster.x-k8s.io/secret";

/// The text of a kubeconfig: compared, and never shown.
#[derive(Clone, Debug)]
pub struct Kubeconfig(pub SecretString);

impl PartialEq for Kubeconfig {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

/// A Secret that has the name of the one for consumers.
#[derive(Clone, Debug)]
pub struct ExistingSecret {
    /// Its UID.
    pub uid: Option<String>,
    /// Whether we wrote it.
    pub is_ours: bool,
    /// The other Cluster that it was made for, if it was.
    pub other: Option<String>,
    /// The kubeconfig in it.
    pub kubeconfig: Option<Kubeconfig>,
}

/// Whether consumers have a way in.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    /// They have, once this is done.
    Open(Box<AccessProvider>, Option<Action>),
    /// There is nothing to give them yet.
    Closed,
    /// Their Secret is the one of this other Cluster.
    Taken(String),
}

/// The way in as it should be. A Secret that somebody else wrote is used as it is, unless it is
/// another Cluster's: `a-profile-kubeconfig` is also the administrators' of Cluster `a-profile`.
pub(super) fn entry(observed: &Observed) -> Entry {
    let Some(server) = &observed.server else {
        return Entry::Closed;
    };
    let found = observed.secret.as_ref();
    let is_ours = found.is_some_and(|found| found.is_ours);
    let other = found.and_then(|found| found.other.as_ref());
    let rival = observed.rival.as_ref().filter(|_| !is_ours);
    if let Some(other) = other.or(rival) {
        return Entry::Taken(other.clone());
    }
    let access = || Box::new(provider(&observed.cluster, server));
    let wanted = observed.kubeconfig.as_ref();
    match (found, wanted) {
        (None, None) => Entry::Closed,
        (Some(found), Some(wanted)) if is_ours && found.kubeconfig.as_ref() != Some(wanted) => {
            let write = Action::WriteSecret {
                uid: found.uid.clone(),
                kubeconfig: wanted.clone(),
            };
            Entry::Open(access(), Some(write))
        }
        (None, Some(wanted)) => {
            let write = Action::WriteSecret {
                uid: None,
                kubeconfig: wanted.clone(),
            };
            Entry::Open(access(), Some(write))
        }
        (Some(_), _) => Entry::Open(access(), None),
    }
}

/// Whether they have it already.
pub fn is_open(observed: &Observed) -> bool {
    matches!(entry(observed), Entry::Open(_, None))
}

/// The Secret of the consumers, with the UID of the one that is there.
pub fn secret(cluster: &ClusterFacts, uid: Option<String>, text: &Kubeconfig) -> Secret {
    let labels = [
        (LABEL_CLUSTER.to_owned(), cluster.name.clone()),
        (LABEL_MANAGED_BY.to_owned(), MANAGED_BY.to_owned()),
    ];
    let text = ByteString(text.0.expose_secret().as_bytes().to_vec());
    Secret {
        metadata: ObjectMeta {
            name: Some(profile_kubeconfig_secret(&cluster.name)),
            namespace: Some(cluster.namespace.clone()),
            uid,
            labels: Some(labels.into()),
            owner_references: Some(vec![owner(cluster)]),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(BTreeMap::from([(KEY.to_owned(), text)])),
        ..Secret::default()
    }
}

/// The Cluster, as owner of what goes with it.
pub(super) fn owner(cluster: &ClusterFacts) -> OwnerReference {
    OwnerReference {
        api_version: format!("{CLUSTER_GROUP}/{VERSION}"),
        kind: "Cluster".to_owned(),
        name: cluster.name.clone(),
        uid: cluster.uid.clone(),
        ..OwnerReference::default()
    }
}

/// The way in, as it stands in the profile: nothing secret, only where the Secret is. The namespace
/// is always named, for plugins differ in what they take for the default.
fn provider(cluster: &ClusterFacts, server: &Server) -> AccessProvider {
    let extension = json!({
        "name": profile_kubeconfig_secret(&cluster.name),
        "namespace": cluster.namespace,
        "key": KEY,
    });
    AccessProvider {
        name: PROVIDER.to_owned(),
        cluster: Some(AccessCluster {
            server: server.url.clone(),
            certificate_authority_data: Some(STANDARD.encode(&server.authority_pem)),
            extensions: vec![AccessExtension {
                name: EXTENSION.to_owned(),
                extension,
            }],
        }),
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
