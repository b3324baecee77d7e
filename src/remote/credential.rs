//! A private SSH key: decoded once, never displayed.

use std::fmt;
use std::sync::Arc;
use tatara_core::api::conditions::Reason;

use russh::keys::signature::{Signer as _, Verifier as _};
use russh::keys::ssh_encoding::Encode as _;
use russh::keys::ssh_key::Error as SshKeyError;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{Algorithm, Error as KeyError, HashAlg, PrivateKey, decode_secret_key};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest as _, Sha256};

use super::key_cost;

/// A user's private key, decoded.
///
/// The PEM and the passphrase are not kept: the decoded key wipes itself when dropped.
pub struct Credential {
    key: Arc<PrivateKey>,
    fingerprint: String,
    digest: Digest,
}

/// SHA-256 of both halves of a private key.
pub(super) type Digest = [u8; 32];

/// The largest RSA key that the library computes with, and the length of all its numbers: others
/// could take hours.
const RSA_BITS: u32 = 8192;
const RSA_LENGTH: usize = 4096;

/// Why the key of a Secret of type `kubernetes.io/ssh-auth` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// It is not a private key, or it is damaged.
    #[error(
        "ssh-privatekey is not a private key: {detail}; store the file that ssh-keygen creates \
         without the extension .pub"
    )]
    NotAPrivateKey {
        /// What it is instead, without any part of the key.
        detail: &'static str,
    },
    /// Its public half is of another key.
    #[error(
        "ssh-privatekey has the public half of another key: what its private half signs does not verify; store the \
         file that ssh-keygen created unchanged, or create a key (ssh-keygen -t ed25519 -f KEYFILE), store it, and put KEYFILE.pub into authorized_keys of the user"
    )]
    HalvesDiffer,
    /// The key is encrypted, and the Secret has no passphrase.
    #[error("ssh-privatekey is encrypted; add its passphrase to the Secret as key passphrase")]
    PassphraseRequired,
    /// The passphrase does not decrypt the key.
    #[error("the passphrase does not decrypt ssh-privatekey; correct key passphrase of the Secret")]
    WrongPassphrase,
    /// Decrypting it would take too long.
    #[error(
        "ssh-privatekey needs {found} {what} to decrypt, but the limit is {most}; rewrite it with fewer, \
         and store it again: ssh-keygen -p -a 24 -f KEYFILE"
    )]
    TooCostly {
        /// The number in its header.
        found: u64,
        /// The limit.
        most: u64,
        /// The unit.
        what: &'static str,
    },
    /// The type of key is not supported.
    #[error(
        "ssh-privatekey is of the unsupported type {found}; use ed25519, ECDSA or RSA, in the \
         format that ssh-keygen writes (ssh-keygen -p -f KEYFILE rewrites an old one, which is then stored again)"
    )]
    UnsupportedType {
        /// The type or encryption.
        found: String,
    },
}

impl CredentialError {
    /// The reason for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotAPrivateKey { .. } | Self::HalvesDiffer => Reason::CredentialMalformed,
            Self::PassphraseRequired => Reason::PassphraseRequired,
            Self::WrongPassphrase => Reason::WrongPassphrase,
            Self::TooCostly { .. } => Reason::CredentialTooCostly,
            Self::UnsupportedType { .. } => Reason::CredentialUnsupported,
        }
    }
}

impl Credential {
    /// Decodes `pem` (OpenSSH, PKCS#8, PKCS#1 or SEC1), with `passphrase` if it is encrypted.
    ///
    /// A line end after the passphrase is removed (files have one), and a passphrase that the key
    /// does not need is ignored. Deriving the key of an encrypted one takes CPU time by design,
    /// seconds at most: keep the result, and call this where blocking is allowed.
    ///
    /// # Errors
    /// The key cannot be decoded or decrypted, or its type is not supported.
    pub fn parse(pem: &[u8], passphrase: Option<&[u8]>) -> Result<Self, CredentialError> {
        let pem = text(pem).ok_or(CredentialError::NotAPrivateKey { detail: "not text" })?;
        let pem = pem.expose_secret();
        check_armour(pem)?;
        let key = match open_plain(pem) {
            Err(CredentialError::PassphraseRequired) => {
                let passphrase = passphrase.ok_or(CredentialError::PassphraseRequired)?;
                let passphrase = text(passphrase).ok_or(CredentialError::WrongPassphrase)?;
                key_cost::check(pem)?;
                open_encrypted(pem, &passphrase)?
            }
            other => other?,
        };
        check_type(&key.algorithm())?;
        check_halves(&key)?;
        let fingerprint = key.public_key().fingerprint(HashAlg::Sha256).to_string();
        let digest = digest_of(&key).map_err(|_| CredentialError::NotAPrivateKey {
            detail: "it is damaged",
        })?;
        Ok(Self {
            digest,
            key: Arc::new(key),
            fingerprint,
        })
    }

    /// The digest of the whole key, without its comment: what a fingerprint does not prove, that
    /// one has the private half.
    pub(super) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// `SHA256:…` of the public key.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The type as in `authorized_keys`: `ssh-ed25519`, `ecdsa-sha2-nistp256`, `ssh-rsa`.
    pub fn key_type(&self) -> String {
        self.key.algorithm().to_string()
    }

    /// The public key, in the form of `authorized_keys`.
    ///
    /// # Errors
    /// The public key cannot be encoded.
    pub fn public(&self) -> Result<String, SshKeyError> {
        self.key.public_key().to_openssh()
    }

    pub(super) fn key(&self) -> Arc<PrivateKey> {
        Arc::clone(&self.key)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({} {})", self.key_type(), self.fingerprint)
    }
}

fn text(bytes: &[u8]) -> Option<SecretString> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(SecretString::from(text.trim_end_matches(['\r', '\n'])))
}

fn check_armour(pem: &str) -> Result<(), CredentialError> {
    let not_a_key = |detail| Err(CredentialError::NotAPrivateKey { detail });
    if pem.trim().is_empty() {
        return not_a_key("it is empty");
    }
    if pem.trim_start().starts_with("PuTTY-User-Key-File-") {
        return Err(CredentialError::UnsupportedType {
            found: "PuTTY".into(),
        });
    }
    if pem.contains("-----BEGIN DSA PRIVATE KEY-----") {
        return Err(CredentialError::UnsupportedType {
            found: "ssh-dss".into(),
        });
    }
    if pem.contains("PRIVATE KEY-----") {
        return Ok(());
    }
    if pem.trim_start().starts_with("ssh-") || pem.trim_start().starts_with("ecdsa-") {
        return not_a_key("it is a public key");
    }
    not_a_key("it has no line -----BEGIN … PRIVATE KEY-----")
}

fn open_plain(pem: &str) -> Result<PrivateKey, CredentialError> {
    if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        return Err(CredentialError::PassphraseRequired);
    }
    if let Some(cipher) = pem.lines().find_map(|line| line.strip_prefix("DEK-Info: "))
        && !(cipher.starts_with("AES-128-CBC,") && pem.contains("BEGIN RSA PRIVATE KEY"))
    {
        let cipher = cipher.split(',').next().unwrap_or_default();
        return Err(CredentialError::UnsupportedType {
            found: format!("PEM with {cipher}"),
        });
    }
    decode_secret_key(pem, None).map_err(|error| match error {
        KeyError::KeyIsEncrypted => CredentialError::PassphraseRequired,
        KeyError::UnknownAlgorithm(oid) => CredentialError::UnsupportedType {
            found: oid.to_string(),
        },
        KeyError::UnsupportedKeyType {
            key_type_string, ..
        } => CredentialError::UnsupportedType {
            found: key_type_string,
        },
        KeyError::SshKey(SshKeyError::AlgorithmUnsupported { algorithm }) => {
            CredentialError::UnsupportedType {
                found: algorithm.to_string(),
            }
        }
        _ => CredentialError::NotAPrivateKey {
            detail: "it is damaged",
        },
    })
}

fn open_encrypted(pem: &str, passphrase: &SecretString) -> Result<PrivateKey, CredentialError> {
    decode_secret_key(pem, Some(passphrase.expose_secret())).map_err(|error| match error {
        KeyError::UnknownAlgorithm(oid) => CredentialError::UnsupportedType {
            found: oid.to_string(),
        },
        _ => CredentialError::WrongPassphrase,
    })
}

fn check_type(algorithm: &Algorithm) -> Result<(), CredentialError> {
    match algorithm {
        Algorithm::Ed25519 | Algorithm::Ecdsa { .. } | Algorithm::Rsa { .. } => Ok(()),
        other => Err(CredentialError::UnsupportedType {
            found: other.to_string(),
        }),
    }
}

fn digest_of(key: &PrivateKey) -> Result<Digest, russh::keys::ssh_encoding::Error> {
    let halves = Zeroizing::new(key.key_data().encode_vec()?);
    Ok(Sha256::digest(&*halves).into())
}

/// Whether the private half belongs to the public one, which every file states and the decoder
/// believes for RSA and ECDSA. Signing is what the key is for, so that it is also the test.
fn check_halves(key: &PrivateKey) -> Result<(), CredentialError> {
    if let KeypairData::Rsa(pair) = key.key_data()
        && (pair.key_size() > RSA_BITS || pair.encoded_len().is_ok_and(|len| len > RSA_LENGTH))
    {
        return Err(CredentialError::UnsupportedType {
            found: format!("RSA of more than {RSA_BITS} bits"),
        });
    }
    let message = b"tatara: the halves of a key";
    key.key_data()
        .try_sign(message)
        .and_then(|signature| key.public_key().key_data().verify(message, &signature))
        .map_err(|_| CredentialError::HalvesDiffer)
}

#[cfg(test)]
#[path = "credential_tests.rs"]
mod tests;
