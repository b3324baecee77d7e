//! SSH keys of Secrets, decoded once per version of the Secret: a passphrase costs time to check.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::ContactError;
use crate::remote::Credential;

/// Decoded keys, by namespace and name of the Secret.
#[derive(Default)]
pub struct Credentials(Mutex<HashMap<(String, String), Decoded>>);

struct Decoded {
    version: Option<String>,
    credential: Result<Arc<Credential>, ContactError>,
}

impl Credentials {
    /// Forgets the key of a Secret that is gone.
    pub fn forget(&self, namespace: &str, name: &str) {
        let mut decoded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decoded.remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// The key of a Secret of type `kubernetes.io/ssh-auth`.
    pub fn of(
        &self,
        namespace: &str,
        name: &str,
        secret: Option<&Secret>,
    ) -> Result<Arc<Credential>, ContactError> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut decoded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(secret) = secret else {
            decoded.remove(&key);
            return Err(ContactError {
                reason: "CredentialMissing",
                message: format!(
                    "credentialsRef names Secret {name}, and {namespace} has none of that name with type \
                     kubernetes.io/ssh-auth; create it: kubectl -n {namespace} create secret generic {name} \
                     --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=KEYFILE"
                ),
                transient: false,
            });
        };
        let version = secret.resource_version();
        let entry = decoded.entry(key);
        let fresh = || Decoded {
            version: version.clone(),
            credential: decode(namespace, name, secret),
        };
        let entry = entry.or_insert_with(fresh);
        if entry.version != version {
            *entry = fresh();
        }
        entry.credential.clone()
    }
}

fn decode(namespace: &str, name: &str, secret: &Secret) -> Result<Arc<Credential>, ContactError> {
    let data = |key: &str| {
        secret
            .data
            .as_ref()
            .and_then(|data| data.get(key))
            .map(|b| b.0.as_slice())
    };
    let malformed = |message: String| ContactError {
        reason: "CredentialMalformed",
        message: format!("Secret {namespace}/{name}: {message}"),
        transient: false,
    };
    let Some(pem) = data("ssh-privatekey") else {
        return Err(malformed(
            "has no key ssh-privatekey; put the private key there".into(),
        ));
    };
    Credential::parse(pem, data("passphrase"))
        .map(Arc::new)
        .map_err(|error| malformed(error.to_string()))
}
