//! Bootstrap tokens of joining machines: one per machine, valid for a short time.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use rustls::crypto::SecureRandom;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::error::PkiError;

/// Group that kubeadm allows to request certificates for new nodes.
const JOIN_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;

/// A bootstrap token (Kubernetes documentation, "Authenticating with Bootstrap Tokens").
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    id: String,
    secret: SecretString,
}

impl BootstrapToken {
    /// Generates a token from the operating system's random numbers.
    ///
    /// # Errors
    /// The operating system provides no random numbers.
    pub fn generate() -> Result<Self, PkiError> {
        let random = rustls::crypto::ring::default_provider().secure_random;
        Ok(Self {
            id: characters(random, ID_LENGTH)?.to_string(),
            secret: characters(random, SECRET_LENGTH)?.to_string().into(),
        })
    }

    /// Its public part, which names its Secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// `id.secret`, the form that kubeadm accepts.
    pub fn text(&self) -> SecretString {
        format!("{}.{}", self.id, self.secret.expose_secret()).into()
    }

    /// The Secret with which the cluster accepts it until `expires`, in the form of `kubeadm token
    /// create`. The description names its machine.
    pub fn secret(&self, machine: &str, expires: Timestamp) -> Secret {
        let data = [
            ("token-id", self.id.clone()),
            ("token-secret", self.secret.expose_secret().to_owned()),
            (
                "expiration",
                expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            ),
            (
                "description",
                format!("Tatara: machine {machine} joins with it"),
            ),
            ("usage-bootstrap-authentication", "true".to_owned()),
            ("usage-bootstrap-signing", "true".to_owned()),
            ("auth-extra-groups", JOIN_GROUP.to_owned()),
        ];
        let data: BTreeMap<_, _> = data
            .into_iter()
            .map(|(field, value)| (field.to_owned(), ByteString(value.into_bytes())))
            .collect();
        Secret {
            metadata: ObjectMeta {
                name: Some(secret_name(&self.id)),
                namespace: Some("kube-system".to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some("bootstrap.kubernetes.io/token".to_owned()),
            data: Some(data),
            ..Secret::default()
        }
    }
}

/// Name of a token's Secret in kube-system.
pub fn secret_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

/// Random characters of equal probability: bytes beyond a multiple of 36 are discarded.
fn characters(random: &dyn SecureRandom, count: usize) -> Result<Zeroizing<String>, PkiError> {
    let fair = u8::MAX - u8::MAX % 36;
    let mut text = Zeroizing::new(String::with_capacity(count));
    while text.len() < count {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        random.fill(bytes.as_mut()).map_err(|_| PkiError::Random)?;
        for byte in bytes.iter().filter(|byte| **byte < fair) {
            if text.len() < count {
                text.push(char::from(ALPHABET[usize::from(byte % 36)]));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_lower_alphanumeric(text: &str) -> bool {
        text.bytes().all(|byte| ALPHABET.contains(&byte))
    }

    #[test]
    fn a_token_has_the_form_that_kubeadm_reads_and_no_two_are_equal() {
        let tokens: Vec<_> = (0..50)
            .map(|_| BootstrapToken::generate().unwrap())
            .collect();
        let mut texts: Vec<_> = tokens
            .iter()
            .map(|token| token.text().expose_secret().to_owned())
            .collect();
        for text in &texts {
            let (id, secret) = text.split_once('.').unwrap();
            assert_eq!((id.len(), secret.len()), (6, 16));
            assert!(
                is_lower_alphanumeric(id) && is_lower_alphanumeric(secret),
                "{text}"
            );
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), tokens.len());
    }

    #[test]
    fn every_character_of_the_alphabet_comes_about_equally_often() {
        let random = rustls::crypto::ring::default_provider().secure_random;
        let text = characters(random, 36_000).unwrap();
        for letter in ALPHABET {
            let count = text.bytes().filter(|byte| byte == letter).count();
            assert!(
                (700..1300).contains(&count),
                "{}: {count}",
                char::from(*letter)
            );
        }
    }

    #[test]
    fn its_secret_is_the_one_that_kubeadm_would_make() {
        let token = BootstrapToken {
            id: "abcdef".into(),
            secret: "0123456789abcdef".into(),
        };
        let secret = token.secret("forge-worker-0", "2026-11-21T10:20:30.5Z".parse().unwrap());
        insta::assert_yaml_snapshot!(secret.metadata);
        assert_eq!(
            secret.type_.as_deref(),
            Some("bootstrap.kubernetes.io/token")
        );
        let data: BTreeMap<_, _> = secret
            .data
            .unwrap()
            .into_iter()
            .map(|(field, value)| (field, String::from_utf8(value.0).unwrap()))
            .collect();
        insta::assert_yaml_snapshot!(data);
    }

    #[test]
    fn debug_shows_no_secret() {
        let token = BootstrapToken::generate().unwrap();
        assert!(!format!("{token:?}").contains(token.secret.expose_secret()));
    }
}
