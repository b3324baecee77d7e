//! The key pair that signs the tokens of service accounts.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use rcgen::KeyPair;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};

use super::authority::{TLS_CRT, TLS_KEY, pair, text};
use super::error::PkiError;
use super::keys::{KeyProblem, PRIVATE_KEY, private_key};

const PUBLIC_KEY: &str = "the public key in PEM form (BEGIN PUBLIC KEY)";

/// A key pair without a certificate; kube-apiserver accepts RSA and ECDSA.
#[derive(Clone, Debug)]
pub struct ServiceAccountKey {
    public_pem: String,
    key_pem: SecretString,
}

impl ServiceAccountKey {
    /// Generates an ECDSA P-256 pair.
    ///
    /// # Errors
    /// The key cannot be generated.
    pub fn generate() -> Result<Self, PkiError> {
        let key = KeyPair::generate().map_err(PkiError::make("a service-account key"))?;
        Ok(Self {
            public_pem: key.public_key_pem(),
            key_pem: key.serialize_pem().into(),
        })
    }

    /// Loads a pair from the data of a Secret: the public key in `tls.crt`, the private key in
    /// `tls.key`.
    ///
    /// # Errors
    /// A key is missing or malformed, or they are not a pair.
    pub fn load(secret: &str, data: &BTreeMap<String, ByteString>) -> Result<Self, PkiError> {
        let public_pem = text(secret, data, TLS_CRT, PUBLIC_KEY)?;
        let key_pem = SecretString::from(text(secret, data, TLS_KEY, PRIVATE_KEY)?);
        let malformed = |field, wanted| PkiError::Malformed {
            secret: secret.to_owned(),
            field,
            wanted,
        };
        let public = SubjectPublicKeyInfoDer::from_pem_slice(public_pem.as_bytes())
            .map_err(|_| malformed(TLS_CRT, PUBLIC_KEY))?;
        private_key(key_pem.expose_secret(), &public).map_err(|why| match why {
            KeyProblem::Unreadable => malformed(TLS_KEY, PRIVATE_KEY),
            KeyProblem::Mismatch => PkiError::KeyMismatch {
                secret: secret.to_owned(),
            },
        })?;
        Ok(Self {
            public_pem,
            key_pem,
        })
    }

    /// The public key, PEM.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The private key, PEM.
    pub fn key_pem(&self) -> &SecretString {
        &self.key_pem
    }

    /// The data of its Secret.
    pub fn secret_data(&self) -> BTreeMap<String, ByteString> {
        pair(&self.public_pem, &self.key_pem)
    }
}
