//! Why there is no certificate, key or token.

use k8s_openapi::jiff::Timestamp;

/// Why something could not be made, or what a user brought cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The Secret lacks a field.
    #[error("Secret {secret} has no {field}; it must hold {wanted}")]
    Missing {
        /// Name of the Secret.
        secret: String,
        /// Key in its data.
        field: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A field of the Secret does not hold what it must.
    #[error("Secret {secret}: {field} does not hold {wanted}")]
    Malformed {
        /// Name of the Secret.
        secret: String,
        /// Key in its data.
        field: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// Key and certificate are not a pair.
    #[error(
        "Secret {secret}: the private key in tls.key does not belong to tls.crt; put the two parts of one pair there"
    )]
    KeyMismatch {
        /// Name of the Secret.
        secret: String,
    },
    /// The certificate may not sign others.
    #[error(
        "Secret {secret}: the certificate in tls.crt is no certificate authority ({lack}); bring one that may sign certificates"
    )]
    NotAnAuthority {
        /// Name of the Secret.
        secret: String,
        /// What it lacks.
        lack: &'static str,
    },
    /// The certificate is too old.
    #[error("Secret {secret}: the certificate in tls.crt expired at {at}; bring one that is valid")]
    Expired {
        /// Name of the Secret.
        secret: String,
        /// When it did.
        at: Timestamp,
    },
    /// The certificate is too young.
    #[error(
        "Secret {secret}: the certificate in tls.crt is not valid before {at}; bring one that is valid, or set the clock"
    )]
    NotYetValid {
        /// Name of the Secret.
        secret: String,
        /// From when on it is.
        at: Timestamp,
    },
    /// The subject cannot be repeated byte by byte as the issuer of what we sign.
    #[error(
        "Secret {secret}: the subject of the certificate in tls.crt has an attribute more than once, or several in one place, and Tatara cannot sign with such a name; bring an authority whose subject has each attribute once"
    )]
    Subject {
        /// Name of the Secret.
        secret: String,
    },
    /// A certificate or key could not be made.
    #[error("failed to make {what}")]
    Make {
        /// What was to be made.
        what: &'static str,
        /// What the library said.
        #[source]
        source: rcgen::Error,
    },
    /// A time that no certificate can hold.
    #[error("failed to write {at} into a certificate; its years end at 9999")]
    Time {
        /// The time.
        at: Timestamp,
    },
    /// A kubeconfig could not be written.
    #[error("failed to write the kubeconfig as YAML")]
    Yaml(#[source] serde_saphyr::SerializeError),
    /// The operating system gave no random numbers.
    #[error("failed to read random numbers from the operating system")]
    Random,
}

impl PkiError {
    pub(super) fn make(what: &'static str) -> impl FnOnce(rcgen::Error) -> Self {
        move |source| Self::Make { what, source }
    }
}
