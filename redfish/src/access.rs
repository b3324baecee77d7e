//! Address, credentials and trusted certificate of a BMC.

use reqwest::Url;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::SecretString;

/// A user of a BMC. The debug form omits the password.
#[derive(Clone, Debug)]
pub struct Login {
    /// Name of the user.
    pub username: String,
    /// Password of the user.
    pub password: SecretString,
}

/// How the certificate of a BMC is verified. The system's trust store is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One of these authorities signed it for the BMC's address.
    Authority(Vec<CertificateDer<'static>>),
    /// The DER form of the certificate has this SHA-256 digest.
    Fingerprint([u8; 32]),
}

/// Why the settings of a BMC cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The address is not an `https://` URL of a host alone.
    #[error(
        "spec.bmc.address {0:?} is not the URL of a BMC; it must be like https://192.0.2.20, without user and path"
    )]
    Address(String),
    /// The fingerprint is malformed.
    #[error(
        "spec.bmc.tls.fingerprint {0:?} is not a SHA-256 fingerprint; it must be sha256: and the 64 hexadecimal digits \
         that openssl x509 -noout -fingerprint -sha256 prints"
    )]
    Fingerprint(String),
    /// The authority's file contains no certificate.
    #[error("ca.crt contains no certificate; store the authority's certificate there, in PEM form")]
    Authority,
}

impl Trust {
    /// Reads the certificates of an authority from PEM.
    ///
    /// # Errors
    /// [`AccessError`] if the text contains no certificate.
    pub fn authority(pem: &[u8]) -> Result<Self, AccessError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match found {
            Ok(certificates) if !certificates.is_empty() => Ok(Self::Authority(certificates)),
            _ => Err(AccessError::Authority),
        }
    }

    /// Reads `sha256:` and 64 hexadecimal digits, with or without colons between the bytes.
    ///
    /// # Errors
    /// [`AccessError`] if the text has another form.
    pub fn fingerprint(text: &str) -> Result<Self, AccessError> {
        let malformed = || AccessError::Fingerprint(text.into());
        let digits = text.strip_prefix("sha256:").ok_or_else(malformed)?;
        let digits: Vec<u8> = digits.bytes().filter(|byte| *byte != b':').collect();
        let byte = |pair: &[u8]| {
            let pair = str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        let bytes = bytes.filter(|_| digits.len() == 64);
        let digest = bytes.and_then(|bytes| bytes.try_into().ok());
        digest.map(Self::Fingerprint).ok_or_else(malformed)
    }
}

/// Address, credentials and trusted certificate of a BMC.
#[derive(Clone, Debug)]
pub struct Access {
    /// URL of the BMC.
    pub(super) address: Url,
    /// User and password.
    pub(super) login: Login,
    /// How its certificate is verified.
    pub(super) trust: Trust,
    /// Id, UUID or serial number of the system, for a BMC with several.
    pub(super) system: Option<String>,
}

impl Access {
    /// URL of the BMC, for errors.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Checks the address: `https`, a host, and no path or user.
    ///
    /// # Errors
    /// [`AccessError`] if the address has another form.
    pub fn new(
        address: &str,
        login: Login,
        trust: Trust,
        system: Option<String>,
    ) -> Result<Self, AccessError> {
        let url = Url::parse(address).ok().filter(|url| {
            url.scheme() == "https"
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && matches!(url.path(), "" | "/")
                && url.query().is_none()
                && url.fragment().is_none()
        });
        let address = url.ok_or_else(|| AccessError::Address(address.into()))?;
        Ok(Self {
            address,
            login,
            trust,
            system,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Result<Access, AccessError> {
        let login = Login {
            username: "admin".into(),
            password: "canary-password".into(),
        };
        Access::new(address, login, Trust::Fingerprint([0; 32]), None)
    }

    #[test]
    fn an_address_is_https_with_a_host_and_nothing_else() {
        for good in [
            "https://192.0.2.20",
            "https://bmc.example:8443/",
            "https://[2001:db8::1]",
        ] {
            assert!(access(good).is_ok(), "{good}");
        }
        for bad in [
            "http://192.0.2.20",
            "192.0.2.20",
            "https://admin:secret@192.0.2.20",
            "https://192.0.2.20/redfish/v1",
            "https://192.0.2.20?x=1",
            "",
        ] {
            assert_eq!(access(bad).err(), Some(AccessError::Address(bad.into())));
        }
    }

    #[test]
    fn a_fingerprint_is_read_with_and_without_colons() {
        let plain = format!("sha256:{}", "0a".repeat(32));
        let colons = format!("sha256:{}", ["0A"; 32].join(":"));
        for text in [plain, colons] {
            assert_eq!(Trust::fingerprint(&text), Ok(Trust::Fingerprint([10; 32])));
        }
        for bad in ["0a", "sha256:0a", &format!("sha256:{}", "0g".repeat(32))] {
            let error = Trust::fingerprint(bad).expect_err(bad).to_string();
            assert!(
                error.contains(bad) && error.contains("openssl x509"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_authority_without_a_certificate_is_refused() {
        assert_eq!(Trust::authority(b"none"), Err(AccessError::Authority));
    }

    #[test]
    fn the_debug_form_has_no_password() {
        let access = access("https://192.0.2.20").expect("an address");
        assert!(!format!("{access:?}").contains("canary"));
    }
}
