//! Kubeconfigs with a client certificate or token: written for a Secret, and parsed to check their
//! validity.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::authority::ClientCertificate;
use super::error::PkiError;
use super::x509::{renew_at, timestamp};

/// The group that `kubeadm init` binds to cluster-admin; unlike `system:masters` it can be revoked.
pub const ADMIN_GROUP: &str = "kubeadm:cluster-admins";
/// Common name of our client certificates, which the cluster's audit log shows.
pub const ADMIN_USER: &str = "tatara-admin";
/// Validity of our client certificates: one year.
pub const ADMIN_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);

/// The content of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeconfig {
    /// URL of the API.
    pub server: String,
    /// Certificates that verify the API, in PEM.
    pub authority_pem: String,
    /// Start of the client certificate's validity.
    pub not_before: Timestamp,
    /// End of the client certificate's validity.
    pub not_after: Timestamp,
}

/// Why a kubeconfig cannot be parsed, without any text of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// Not a kubeconfig.
    #[error("failed to read the kubeconfig: it is not YAML of a kubeconfig")]
    Malformed,
    /// A field that our kubeconfigs always have is missing or malformed.
    #[error("failed to read the kubeconfig: {0} is missing or malformed")]
    Part(&'static str),
}

impl Kubeconfig {
    /// When its client certificate is due for renewal.
    pub fn renew_at(&self) -> Timestamp {
        renew_at(self.not_before, self.not_after)
    }
}

/// The text of a kubeconfig with this client certificate. `server` is a URL, `authority_pem` the
/// certificates that verify it.
///
/// # Errors
/// The kubeconfig cannot be written as YAML.
pub fn admin(
    cluster: &str,
    server: &str,
    authority_pem: &str,
    certificate: &ClientCertificate,
) -> Result<SecretString, PkiError> {
    let credentials = json!({
        "client-certificate-data": STANDARD.encode(&certificate.certificate_pem),
        "client-key-data": STANDARD.encode(certificate.key_pem.expose_secret()),
    });
    let user = format!("{cluster}-admin");
    render(cluster, server, authority_pem, &user, &credentials)
}

/// The text of a kubeconfig with this bearer token.
///
/// # Errors
/// The kubeconfig cannot be written as YAML.
pub fn with_token(
    cluster: &str,
    server: &str,
    authority_pem: &str,
    user: &str,
    token: &SecretString,
) -> Result<SecretString, PkiError> {
    let credentials = json!({"token": token.expose_secret()});
    render(cluster, server, authority_pem, user, &credentials)
}

fn render(
    cluster: &str,
    server: &str,
    authority_pem: &str,
    user: &str,
    credentials: &Value,
) -> Result<SecretString, PkiError> {
    let context = format!("{user}@{cluster}");
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority_pem),
        }}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
    });
    serde_saphyr::to_string(&document)
        .map(SecretString::from)
        .map_err(PkiError::Yaml)
}

/// Parses a kubeconfig with one cluster and one user.
///
/// # Errors
/// It is not a kubeconfig, or a field is missing or malformed.
pub fn parse(text: &str) -> Result<Kubeconfig, KubeconfigError> {
    use KubeconfigError::{Malformed, Part};
    let config = kube::config::Kubeconfig::from_yaml(text).map_err(|_| Malformed)?;
    let cluster = config.clusters.into_iter().next();
    let cluster = cluster.and_then(|named| named.cluster).unwrap_or_default();
    let user = config.auth_infos.into_iter().next();
    let user = user.and_then(|named| named.auth_info).unwrap_or_default();
    let decode = |data: Option<String>, part: &'static str| {
        data.and_then(|data| STANDARD.decode(data).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or(Part(part))
    };
    let certificate = "client-certificate-data";
    let pem = decode(user.client_certificate_data, certificate)?;
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| Part(certificate))?;
    let (_, x509) = X509Certificate::from_der(&der).map_err(|_| Part(certificate))?;
    Ok(Kubeconfig {
        server: cluster.server.ok_or(Part("server"))?,
        authority_pem: decode(
            cluster.certificate_authority_data,
            "certificate-authority-data",
        )?,
        not_before: timestamp(x509.validity().not_before),
        not_after: timestamp(x509.validity().not_after),
    })
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
