//! How consumers reach a member: an identity of their own in the member, and a Secret beside the
//! Cluster with a kubeconfig for it, to which the profile points.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource, ResourceExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::input::{Error, Input, Server};
use crate::api::Cluster;
use crate::api::cluster_profile::{AccessCluster, AccessExtension, AccessProvider};
use crate::api::names::{
    FIELD_MANAGER, LABEL_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY, profile_kubeconfig_secret,
};
use crate::controllers::cluster::other_cluster;
use crate::pki::kubeconfig;
use crate::workload::properties::Properties;
use crate::workload::{consumer, properties};

/// Name under which consumers look for the way in (cluster-inventory-api).
const PROVIDER: &str = "kubeconfig-secretreader";
/// Extension that carries the plugin's settings (client-go).
const EXTENSION: &str = "client.authentication.k8s.io/exec";
/// Key of the kubeconfig in its Secret (Cluster API convention).
const KEY: &str = "value";
/// Type of a kubeconfig Secret (Cluster API convention).
const TYPE: &str = "cluster.x-k8s.io/secret";
/// User in the kubeconfig.
const USER: &str = "tatara-profile-consumer";
/// How long a member may take over what we ask of it.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(10);

/// What a member told us.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) properties: Option<Properties>,
    pub(super) token: Option<SecretString>,
    /// Why it did not tell all, for people.
    pub(super) problem: Option<String>,
}

impl Told {
    /// Whether this says what the other says.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let token = |told: &Self| {
            told.token
                .as_ref()
                .map(|token| token.expose_secret().to_owned())
        };
        self.properties == other.properties && token(self) == token(other)
    }
}

/// Asks a member for its properties and for the token of its consumers, whose account is made if need
/// be. A member that does not answer tells nothing: its profile still says so.
pub(super) async fn ask(member: &Client, cluster: &str) -> Told {
    let asking = async {
        let properties = properties::list(member).await?;
        let documents = consumer::documents().unwrap_or_default();
        let outcome = consumer::ensure(member, documents).await?;
        let problem = outcome.failed.iter().chain(&outcome.pending).next();
        let problem = problem
            .map(|problem| format!("failed to make the account of its consumers: {problem}"));
        let token = consumer::token(member).await?;
        Ok::<_, crate::workload::Error>(Told {
            properties: Some(properties),
            token,
            problem,
        })
    };
    match tokio::time::timeout(MEMBER_TIMEOUT, asking).await {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => {
            tracing::debug!(
                cluster,
                error = error.sentence(),
                "workload API query failed"
            );
            Told {
                problem: Some(error.sentence()),
                ..Told::default()
            }
        }
        Err(_) => Told {
            problem: Some(format!(
                "its API did not answer within {} s",
                MEMBER_TIMEOUT.as_secs()
            )),
            ..Told::default()
        },
    }
}

/// What became of the Secret of the consumers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is there.
    There,
    /// There is nothing to put into it yet.
    NotYet,
    /// It is the one of this other Cluster.
    Taken(String),
}

/// Keeps the kubeconfig Secret of the consumers. A Secret of this name that somebody else wrote is used as it
/// is, unless it is another Cluster's: `a-profile-kubeconfig` is also the administrators' of Cluster `a-profile`.
pub(super) async fn keep_secret(
    client: &Client,
    input: &Input,
    server: &Server,
    token: Option<&SecretString>,
) -> Result<Kept, Error> {
    let cluster = input.cluster.as_ref();
    let namespace = cluster.namespace().unwrap_or_default();
    let name = profile_kubeconfig_secret(&cluster.name_any());
    let what = |verb: &str| format!("{verb} Secret {namespace}/{name}");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let existing = secrets.get_opt(&name).await;
    let existing = existing.map_err(|error| Error::api(what("read"), error))?;
    let is_ours = |secret: &Secret| {
        secret
            .labels()
            .get(LABEL_MANAGED_BY)
            .is_some_and(|manager| manager == MANAGED_BY)
    };
    let other = existing
        .as_ref()
        .and_then(|secret| other_cluster(secret, cluster));
    let rival = input.rival.clone();
    let rival = rival.filter(|_| !existing.as_ref().is_some_and(is_ours));
    if let Some(other) = other.or(rival) {
        return Ok(Kept::Taken(other));
    }
    let Some(token) = token.filter(|_| existing.as_ref().is_none_or(is_ours)) else {
        return Ok(existing.map_or(Kept::NotYet, |_| Kept::There));
    };
    let (url, authority) = (&server.url, &server.authority_pem);
    let text = kubeconfig::with_token(&cluster.name_any(), url, authority, USER, token)
        .map_err(|error| Error::other(what("make"), error))?;
    let wanted = ByteString(text.expose_secret().as_bytes().to_vec());
    let present = existing
        .as_ref()
        .and_then(|secret| secret.data.as_ref()?.get(KEY));
    if present == Some(&wanted) {
        return Ok(Kept::There);
    }
    let secret = secret(
        cluster,
        &name,
        existing.and_then(|secret| secret.metadata.uid),
        wanted,
    );
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = secrets.patch(&name, &params, &Patch::Apply(&secret)).await;
    applied.map_err(|error| Error::api(what("apply"), error))?;
    Ok(Kept::There)
}

fn secret(cluster: &Cluster, name: &str, uid: Option<String>, kubeconfig: ByteString) -> Secret {
    let labels = [
        (LABEL_CLUSTER.to_owned(), cluster.name_any()),
        (LABEL_MANAGED_BY.to_owned(), MANAGED_BY.to_owned()),
    ];
    let owner = OwnerReference {
        api_version: Cluster::api_version(&()).into_owned(),
        kind: Cluster::kind(&()).into_owned(),
        name: cluster.name_any(),
        uid: cluster.uid().unwrap_or_default(),
        ..OwnerReference::default()
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: cluster.namespace(),
            uid,
            labels: Some(labels.into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(BTreeMap::from([(KEY.to_owned(), kubeconfig)])),
        ..Secret::default()
    }
}

/// The way in, as it stands in the profile: nothing secret, only where the Secret is. The namespace is
/// always named, for plugins differ in what they take for the default.
pub(super) fn provider(cluster: &Cluster, server: &Server) -> AccessProvider {
    let extension = json!({
        "name": profile_kubeconfig_secret(&cluster.name_any()),
        "namespace": cluster.namespace(),
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
