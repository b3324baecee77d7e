//! Errors of certificates, keys and tokens.

use k8s_openapi::jiff::Timestamp;

/// Why a certificate, key or token cannot be generated, or a user's cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The Secret lacks a field.
    #[error("Secret {secret} has no {field}; store {wanted} in it")]
    Missing {
        /// Name of the Secret.
        secret: String,
        /// Field of its data.
        field: &'static str,
        /// The expected content.
        wanted: &'static str,
    },
    /// A field of the Secret is malformed.
    #[error("Secret {secret}: {field} is malformed; store {wanted} in it")]
    Malformed {
        /// Name of the Secret.
        secret: String,
        /// Field of its data.
        field: &'static str,
        /// The expected content.
        wanted: &'static str,
    },
    /// Private key and certificate do not match.
    #[error(
        "Secret {secret}: the private key in tls.key does not match tls.crt; store a matching pair"
    )]
    KeyMismatch {
        /// Name of the Secret.
        secret: String,
    },
    /// The certificate may not sign others.
    #[error(
        "Secret {secret}: the certificate in tls.crt is not a certificate authority ({lack}); store one that may sign certificates"
    )]
    NotAnAuthority {
        /// Name of the Secret.
        secret: String,
        /// The missing property.
        lack: &'static str,
    },
    /// The certificate has expired.
    #[error(
        "Secret {secret}: the certificate in tls.crt expired at {at}; if no control plane uses it, store a valid one. Otherwise sign it again with the same key and subject (another key would be another CA), store it in tls.crt, and replace it in /etc/kubernetes/pki of each control plane and in the kubeconfigs: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/"
    )]
    Expired {
        /// Name of the Secret.
        secret: String,
        /// End of its validity.
        at: Timestamp,
    },
    /// The certificate is not valid yet.
    #[error(
        "Secret {secret}: the certificate in tls.crt is not valid before {at}; correct the clock of the manager, or, if no control plane uses it, store a valid one"
    )]
    NotYetValid {
        /// Name of the Secret.
        secret: String,
        /// Start of its validity.
        at: Timestamp,
    },
    /// The subject cannot be repeated byte by byte as the issuer of signed certificates.
    #[error(
        "Secret {secret}: the subject of the certificate in tls.crt repeats an attribute, or has a multi-valued RDN, which Tatara cannot sign with; store an authority whose subject has each attribute once"
    )]
    Subject {
        /// Name of the Secret.
        secret: String,
    },
    /// A certificate or key cannot be generated.
    #[error("failed to generate {what}")]
    Make {
        /// The certificate or key.
        what: &'static str,
        /// Error of the library.
        #[source]
        source: rcgen::Error,
    },
    /// A time beyond the range of certificates.
    #[error("failed to set {at} in a certificate: the last year of certificates is 9999")]
    Time {
        /// The time.
        at: Timestamp,
    },
    /// A kubeconfig cannot be written.
    #[error("failed to write the kubeconfig as YAML")]
    Yaml(#[source] serde_saphyr::SerializeError),
    /// The operating system provides no random numbers.
    #[error("failed to read random numbers from the operating system")]
    Random,
}

impl PkiError {
    pub(super) fn make(what: &'static str) -> impl FnOnce(rcgen::Error) -> Self {
        move |source| Self::Make { what, source }
    }
}
