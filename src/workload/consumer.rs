//! The identity with which consumers of a ClusterProfile enter a member: an account of its own
//! with a token that lives in a Secret of the member. Deleting that Secret revokes the token at once,
//! which a client certificate would not allow.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use secrecy::SecretString;

use super::addons::{self, Outcome};
use super::error::Error;
use super::manifests::{self, Document, ManifestError};

/// Namespace of the account and its token.
const NAMESPACE: &str = "kube-system";
/// Name of the Secret with the token.
const SECRET: &str = "tatara-profile-consumer";

/// The objects that make up the identity.
pub fn documents() -> Result<Vec<Document>, ManifestError> {
    let text = include_str!("../../templates/member/profile-consumer.yaml");
    manifests::parse("profile-consumer.yaml", text)
}

/// Makes the identity in a member, or repairs it; writes nothing when it is there.
pub async fn ensure(client: &Client, documents: Vec<Document>) -> Result<Outcome, Error> {
    addons::apply(client, documents).await
}

/// The token of the identity; `None` until the member's controller has made one.
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
