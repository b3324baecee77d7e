//! Credentials of a gateway, from a Secret of type `tatara.dev/gateway`.

use std::fmt;
use std::sync::Arc;
use tatara_core::api::conditions::Reason;

use k8s_openapi::api::core::v1::Secret;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretString;

use super::GatewayError;
use tatara_core::api::names::SECRET_TYPE_GATEWAY;
use tatara_core::remedy;

/// Credentials of a gateway.
pub struct Credentials {
    /// Trusts the gateway's authority alone, and presents our certificate if there is one.
    pub tls: ClientConfig,
    /// Our bearer token, if there is one.
    pub token: Option<SecretString>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the Secret of a Hypervisor.
    ///
    /// # Errors
    /// The Secret does not exist, or a key of it is missing or malformed.
    pub fn of(namespace: &str, name: &str, secret: Option<&Secret>) -> Result<Self, GatewayError> {
        let Some(secret) = secret else {
            return Err(GatewayError::Credentials {
                reason: Reason::CredentialMissing,
                message: format!(
                    "credentialsRef names Secret {name}, and {namespace} has none of that name with type {SECRET_TYPE_GATEWAY}; correct the name, or create it, after deleting one of another type: {}",
                    remedy::secret::create_gateway(namespace, name)
                ),
            });
        };
        let malformed = |message: &str| GatewayError::Credentials {
            reason: Reason::CredentialMalformed,
            message: format!("Secret {namespace}/{name}: {message}"),
        };
        let data = |key: &str| {
            secret
                .data
                .as_ref()?
                .get(key)
                .map(|value| value.0.as_slice())
        };
        let ca = data("ca.crt").ok_or_else(|| {
            malformed(
                "has no key ca.crt; store the authority of the gateway's certificate in it, in PEM form",
            )
        })?;
        let roots = roots(ca).map_err(|why| malformed(&format!("ca.crt {why}")))?;
        let token = match data("token") {
            Some(bytes) => {
                let text =
                    std::str::from_utf8(bytes).map_err(|_| malformed("token is not UTF-8 text"))?;
                Some(SecretString::from(text.trim()))
            }
            None => None,
        };
        let own = match (data("tls.crt"), data("tls.key")) {
            (Some(certificate), Some(key)) => {
                Some(identity(certificate, key).map_err(|why| malformed(&why))?)
            }
            (None, None) if token.is_some() => None,
            (None, None) => {
                return Err(malformed(
                    "has neither token nor tls.crt and tls.key; store the credentials that the gateway is configured to accept",
                ));
            }
            _ => return Err(malformed("has only one of tls.crt and tls.key; store both")),
        };
        let tls = config(roots, own).map_err(|why| malformed(&why))?;
        Ok(Self { tls, token })
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn roots(pem: &[u8]) -> Result<RootCertStore, &'static str> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| "is not PEM")?;
        roots
            .add(certificate)
            .map_err(|_| "contains a certificate that is not an authority")?;
    }
    if roots.is_empty() {
        return Err("contains no certificate");
    }
    Ok(roots)
}

fn identity(certificate: &[u8], key: &[u8]) -> Result<Identity, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|_| "tls.crt is not PEM".to_owned())?;
    if chain.is_empty() {
        return Err("tls.crt contains no certificate".into());
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| "tls.key is not a private key in PEM form".to_owned())?;
    Ok((chain, key))
}

fn config(roots: RootCertStore, own: Option<Identity>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    match own {
        None => Ok(builder.with_no_client_auth()),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| format!("tls.crt and tls.key do not match: {error}")),
    }
}
