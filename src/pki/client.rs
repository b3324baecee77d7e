//! Certificates that an authority signs for clients.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use secrecy::{ExposeSecret, SecretString};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::authority::Authority;
use super::error::PkiError;
use super::keys::private_key;
use super::x509::{renew_at, set_validity};

/// A certificate for a client, with its private key.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate, PEM.
    pub certificate_pem: String,
    /// Its private key, PEM.
    pub key_pem: SecretString,
    /// From when on it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

impl ClientCertificate {
    /// When it is due for renewal: after two thirds of its life.
    pub fn renew_at(&self) -> Timestamp {
        renew_at(self.not_before, self.not_after)
    }
}

impl Authority {
    /// Signs a certificate for a client, with a new ECDSA P-256 key. It does not outlive the
    /// authority.
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
        let until = self.not_after().min(now + life);
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
        let key = private_key(self.key_pem().expose_secret(), x509.public_key().raw)
            .map_err(unreadable)?;
        Issuer::from_ca_cert_der(&self.certificate, key).map_err(failed())
    }
}
