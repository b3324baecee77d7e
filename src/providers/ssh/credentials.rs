//! SSH keys of Secrets, decoded once per version of the Secret. Decrypting with a passphrase is
//! slow, so it runs on a blocking thread, and requests for other keys do not wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tatara_core::api::conditions::Reason;
use tatara_core::host::ContactError;
use tatara_core::remedy;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::remote::Credential;

/// Decoded keys, by namespace and name of the Secret.
#[derive(Default)]
pub struct Credentials(Mutex<HashMap<(String, String), CachedKey>>);

struct CachedKey {
    version: Option<String>,
    credential: Decoding,
}

/// A key that is being decoded; all callers await the same attempt.
type Decoding = Shared<BoxFuture<'static, Result<Arc<Credential>, ContactError>>>;

impl Credentials {
    /// Forgets the key of a deleted Secret.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// The key of a Secret of type `kubernetes.io/ssh-auth`.
    ///
    /// # Errors
    /// The Secret does not exist, or its key cannot be used.
    pub async fn of(
        &self,
        namespace: &str,
        name: &str,
        secret: Option<&Secret>,
    ) -> Result<Arc<Credential>, ContactError> {
        let Some(secret) = secret else {
            self.forget(namespace, name);
            return Err(ContactError {
                reason: Reason::CredentialMissing,
                message: format!(
                    "credentialsRef names Secret {name}, and {namespace} has none of that name with type \
                     kubernetes.io/ssh-auth; correct the name, or create it, after deleting one of another type: {}",
                    remedy::secret::create_ssh_key(namespace, name)
                ),
                transient: false,
            });
        };
        self.decoding(namespace, name, secret).await
    }

    fn decoding(&self, namespace: &str, name: &str, secret: &Secret) -> Decoding {
        let version = secret.resource_version();
        let mut decoded = self.lock();
        let entry = decoded.entry((namespace.to_owned(), name.to_owned()));
        let fresh = || CachedKey {
            version: version.clone(),
            credential: decode_aside(namespace, name, secret),
        };
        let entry = entry.or_insert_with(fresh);
        if entry.version != version {
            *entry = fresh();
        }
        entry.credential.clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), CachedKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decode_aside(namespace: &str, name: &str, secret: &Secret) -> Decoding {
    let (namespace, name, secret) = (namespace.to_owned(), name.to_owned(), secret.clone());
    let task = tokio::task::spawn_blocking(move || decode(&namespace, &name, &secret));
    let result = async move {
        let decoded = task.await;
        decoded.unwrap_or_else(|error| {
            Err(ContactError {
                reason: Reason::CredentialMalformed,
                message: format!("failed to decode an SSH key: {error}"),
                transient: true,
            })
        })
    };
    result.boxed().shared()
}

fn decode(namespace: &str, name: &str, secret: &Secret) -> Result<Arc<Credential>, ContactError> {
    let data = |key: &str| {
        secret
            .data
            .as_ref()
            .and_then(|data| data.get(key))
            .map(|b| b.0.as_slice())
    };
    let unusable = |reason, message: String| ContactError {
        reason,
        message: format!("Secret {namespace}/{name}: {message}"),
        transient: false,
    };
    let Some(pem) = data("ssh-privatekey") else {
        return Err(unusable(
            Reason::CredentialMalformed,
            "has no key ssh-privatekey; store the private key in it".into(),
        ));
    };
    Credential::parse(pem, data("passphrase"))
        .map(Arc::new)
        .map_err(|error| unusable(error.reason(), error.to_string()))
}
