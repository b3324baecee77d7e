//! The identity of consumers of a ClusterProfile (KEP-4322) in a workload cluster: a
//! `ServiceAccount` with a token in a Secret of the workload cluster. Deleting that Secret revokes
//! the token at once, whereas a client certificate cannot be revoked.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use secrecy::SecretString;

use super::addons::{self, Outcome};
use super::error::Error;
use super::manifests::{self, Document, ManifestError};

/// Namespace of the `ServiceAccount` and its token.
const NAMESPACE: &str = "kube-system";
/// Name of the Secret with the token.
const SECRET: &str = "tatara-profile-consumer";

/// The manifests of the identity.
///
/// # Errors
/// An embedded manifest is malformed.
pub fn documents() -> Result<Vec<Document>, ManifestError> {
    let text = include_str!("../../templates/member/profile-consumer.yaml");
    manifests::parse("profile-consumer.yaml", text)
}

/// Creates or repairs the identity in a workload cluster; changes nothing if it exists.
///
/// # Errors
/// The workload cluster does not answer.
pub async fn ensure(client: &Client, documents: Vec<Document>) -> Result<Outcome, Error> {
    addons::apply(client, documents).await
}

/// The token of the identity; `None` until the workload cluster's token controller has created it.
///
/// # Errors
/// The Secret cannot be read.
pub async fn token(client: &Client) -> Result<Option<SecretString>, Error> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let secret = secrets.get_opt(SECRET).await;
    let secret =
        secret.map_err(|error| Error::new(format!("read Secret {NAMESPACE}/{SECRET}"), error))?;
    let mut data = secret.and_then(|secret| secret.data).unwrap_or_default();
    let token = data
        .remove("token")
        .and_then(|token| String::from_utf8(token.0).ok());
    Ok(token
        .filter(|token| !token.is_empty())
        .map(SecretString::from))
}
