//! Verifies the certificate of a BMC: the pinned one, or one of the given authority. The system's
//! trust store is not used.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest as _, Sha256};

use super::Trust;

/// Why a certificate was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// `sha256:` and the digest of the presented certificate.
    pub(super) shown: String,
    /// The pinned fingerprint; none with an authority.
    pub(super) pinned: Option<String>,
    /// Why the verification by the authority fails.
    pub(super) problem: String,
}

/// The last refusal, for messages: the error of a handshake lacks the presented certificate.
pub(super) type RefusalSlot = Arc<Mutex<Option<Refusal>>>;

/// A TLS client that trusts nothing else.
pub(super) fn client(trust: &Trust, refused: RefusalSlot) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let check = match trust {
        Trust::Fingerprint(pinned) => Check::Fingerprint(*pinned),
        Trust::Authority(certificates) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates.iter().cloned());
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            let verifier = verifier
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
            Check::Authority(verifier)
        }
    };
    let verifier = Verifier {
        provider: provider.clone(),
        check,
        refused,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

#[derive(Debug)]
enum Check {
    Fingerprint([u8; 32]),
    Authority(Arc<WebPkiServerVerifier>),
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    check: Check,
    refused: RefusalSlot,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let digest: [u8; 32] = Sha256::digest(shown).into();
        let (result, pinned) = match &self.check {
            Check::Fingerprint(pinned) if *pinned == digest => {
                return Ok(ServerCertVerified::assertion());
            }
            Check::Fingerprint(pinned) => (
                Err(CertificateError::ApplicationVerificationFailure.into()),
                Some(text(pinned)),
            ),
            Check::Authority(verifier) => (
                verifier.verify_server_cert(shown, intermediates, name, ocsp, now),
                None,
            ),
        };
        if let Err(error) = &result {
            let refusal = Refusal {
                shown: text(&digest),
                pinned,
                problem: error.to_string(),
            };
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
        }
        result
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

fn text(digest: &[u8; 32]) -> String {
    let mut text = String::from("sha256:");
    for byte in digest {
        // writing into a String cannot fail
        write!(text, "{byte:02x}").ok();
    }
    text
}
