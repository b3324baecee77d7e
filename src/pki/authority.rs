//! One certificate authority, generated or provided by a user.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::error::PkiError;
use super::keys::{KeyProblem, PRIVATE_KEY, private_key};
use super::x509::{renew_at, set_validity, sha256, timestamp};

/// Validity of generated authorities: ten years, as with kubeadm.
const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
/// Key of the certificate in a Secret's data.
pub const TLS_CRT: &str = "tls.crt";
/// Key of the private key in a Secret's data.
pub const TLS_KEY: &str = "tls.key";

const CERTIFICATE: &str = "a certificate in PEM form";

/// A certificate authority with its private key.
#[derive(Clone, Debug)]
pub struct Authority {
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    key_pem: SecretString,
    not_after: Timestamp,
}

fn public_key_hashes(certificates_pem: &str) -> Vec<String> {
    CertificateDer::pem_slice_iter(certificates_pem.as_bytes())
        .filter_map(Result::ok)
        .filter_map(|der| {
            let (_, x509) = X509Certificate::from_der(&der).ok()?;
            Some(sha256(x509.public_key().raw))
        })
        .collect()
}

/// A certificate for a client, with its private key.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate, PEM.
    pub certificate_pem: String,
    /// Its private key, PEM.
    pub key_pem: SecretString,
    /// Start of its validity.
    pub not_before: Timestamp,
    /// End of its validity.
    pub not_after: Timestamp,
}

impl ClientCertificate {
    /// When it is due for renewal: after two thirds of its validity.
    pub fn renew_at(&self) -> Timestamp {
        renew_at(self.not_before, self.not_after)
    }
}

impl Authority {
    /// Generates an authority with a new ECDSA P-256 key, valid for ten years.
    ///
    /// # Errors
    /// The key or certificate cannot be generated.
    pub fn generate(common_name: &str, now: Timestamp) -> Result<Self, PkiError> {
        let failed = || PkiError::make("a certificate authority");
        let key = KeyPair::generate().map_err(failed())?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let (_, not_after) = set_validity(&mut params, now, now + AUTHORITY_LIFE)?;
        let certificate = params.self_signed(&key).map_err(failed())?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            certificate: certificate.der().clone(),
            key_pem: key.serialize_pem().into(),
            not_after,
        })
    }

    /// Loads an authority from the data of a Secret (`tls.crt`, `tls.key`) and checks that it can
    /// sign. If `tls.crt` has several certificates, the first one signs, and all are trusted.
    ///
    /// # Errors
    /// The certificate or key is missing, malformed, not a pair, not valid now, or may not sign.
    pub fn load(
        secret: &str,
        data: &BTreeMap<String, ByteString>,
        now: Timestamp,
    ) -> Result<Self, PkiError> {
        let certificate_pem = text(secret, data, TLS_CRT, CERTIFICATE)?;
        let key_pem = SecretString::from(text(secret, data, TLS_KEY, PRIVATE_KEY)?);
        let malformed = |field, wanted| PkiError::Malformed {
            secret: secret.to_owned(),
            field,
            wanted,
        };
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|_| malformed(TLS_CRT, CERTIFICATE))?;
        let (_, x509) =
            X509Certificate::from_der(&certificate).map_err(|_| malformed(TLS_CRT, CERTIFICATE))?;
        private_key(key_pem.expose_secret(), x509.public_key().raw).map_err(|why| match why {
            KeyProblem::Unreadable => malformed(TLS_KEY, PRIVATE_KEY),
            KeyProblem::Mismatch => PkiError::KeyMismatch {
                secret: secret.to_owned(),
            },
        })?;
        check_may_sign(secret, &x509, now)?;
        let not_after = timestamp(x509.validity().not_after);
        let authority = Self {
            certificate_pem,
            certificate: certificate.clone(),
            key_pem,
            not_after,
        };
        authority.check_name(secret, &x509, now)?;
        Ok(authority)
    }

    /// The certificate, or the bundle that begins with it, in PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The private key, PEM.
    pub fn key_pem(&self) -> &SecretString {
        &self.key_pem
    }

    /// End of the certificate's validity.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// `sha256:<hex>` of the public key of every certificate, for kubeadm's `caCertHashes`.
    pub fn public_key_hashes(&self) -> Vec<String> {
        public_key_hashes(&self.certificate_pem)
    }

    /// Whether it differs from these certificates: no public key is in both. A bundle with the
    /// former and the next authority does not differ from either, and unreadable text does not
    /// count as different.
    pub fn is_other_than(&self, certificates_pem: &str) -> bool {
        let theirs = public_key_hashes(certificates_pem);
        let mut own = self.public_key_hashes().into_iter();
        !theirs.is_empty() && !own.any(|hash| theirs.contains(&hash))
    }

    /// `sha256:<hex>` of its certificate file on a control-plane host.
    pub fn fingerprint(&self) -> String {
        sha256(self.certificate_pem.as_bytes())
    }

    /// The data of its Secret.
    pub fn secret_data(&self) -> BTreeMap<String, ByteString> {
        pair(&self.certificate_pem, &self.key_pem)
    }

    /// Signs a client certificate with a new ECDSA P-256 key. Its validity ends with the
    /// authority's at the latest.
    ///
    /// # Errors
    /// The key or certificate cannot be generated.
    pub fn client_certificate(
        &self,
        common_name: &str,
        organization: Option<&str>,
        life: SignedDuration,
        now: Timestamp,
    ) -> Result<ClientCertificate, PkiError> {
        let failed = || PkiError::make("a client certificate");
        let key = KeyPair::generate().map_err(failed())?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        if let Some(organization) = organization {
            params
                .distinguished_name
                .push(DnType::OrganizationName, organization);
        }
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        let until = self.not_after.min(now + life);
        let (not_before, not_after) = set_validity(&mut params, now, until)?;
        let certificate = params.signed_by(&key, &self.issuer()?).map_err(failed())?;
        Ok(ClientCertificate {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem().into(),
            not_before,
            not_after,
        })
    }

    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, PkiError> {
        let failed = || PkiError::make("a signature of the certificate authority");
        let unreadable = |_| failed()(rcgen::Error::CouldNotParseKeyPair);
        let (_, x509) = X509Certificate::from_der(&self.certificate)
            .map_err(|_| failed()(rcgen::Error::CouldNotParseCertificate))?;
        let key =
            private_key(self.key_pem.expose_secret(), x509.public_key().raw).map_err(unreadable)?;
        Issuer::from_ca_cert_der(&self.certificate, key).map_err(failed())
    }

    /// Verifiers compare an issuer's name byte by byte, so a trial signature must contain the same
    /// one.
    fn check_name(
        &self,
        secret: &str,
        x509: &X509Certificate<'_>,
        now: Timestamp,
    ) -> Result<(), PkiError> {
        let subject = || PkiError::Subject {
            secret: secret.to_owned(),
        };
        let trial = self
            .client_certificate("trial", None, SignedDuration::from_mins(1), now)
            .map_err(|_| subject())?;
        let trial = CertificateDer::from_pem_slice(trial.certificate_pem.as_bytes())
            .map_err(|_| subject())?;
        let (_, trial) = X509Certificate::from_der(&trial).map_err(|_| subject())?;
        if trial.issuer().as_raw() == x509.subject().as_raw() {
            Ok(())
        } else {
            Err(subject())
        }
    }
}

/// A text of a Secret's data.
pub(super) fn text(
    secret: &str,
    data: &BTreeMap<String, ByteString>,
    field: &'static str,
    wanted: &'static str,
) -> Result<String, PkiError> {
    let bytes = data.get(field).filter(|bytes| !bytes.0.is_empty());
    let bytes = bytes.ok_or_else(|| PkiError::Missing {
        secret: secret.to_owned(),
        field,
        wanted,
    })?;
    String::from_utf8(bytes.0.clone()).map_err(|_| PkiError::Malformed {
        secret: secret.to_owned(),
        field,
        wanted,
    })
}

/// The data of a Secret with a certificate, or a public key, and its private key.
pub(super) fn pair(public: &str, key: &SecretString) -> BTreeMap<String, ByteString> {
    BTreeMap::from([
        (TLS_CRT.to_owned(), ByteString(public.as_bytes().to_vec())),
        (
            TLS_KEY.to_owned(),
            ByteString(key.expose_secret().as_bytes().to_vec()),
        ),
    ])
}

fn check_may_sign(
    secret: &str,
    x509: &X509Certificate<'_>,
    now: Timestamp,
) -> Result<(), PkiError> {
    let secret = secret.to_owned();
    if !x509.is_ca() {
        let lack = "its basic constraints do not say CA:TRUE";
        return Err(PkiError::NotAnAuthority { secret, lack });
    }
    let usage = x509.key_usage().ok().flatten();
    if usage.is_some_and(|usage| !usage.value.key_cert_sign()) {
        let lack = "its key usage does not include certificate signing";
        return Err(PkiError::NotAnAuthority { secret, lack });
    }
    let (from, until) = (x509.validity().not_before, x509.validity().not_after);
    let (from, until) = (timestamp(from), timestamp(until));
    if until <= now {
        return Err(PkiError::Expired { secret, at: until });
    }
    if from > now {
        return Err(PkiError::NotYetValid { secret, at: from });
    }
    Ok(())
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
