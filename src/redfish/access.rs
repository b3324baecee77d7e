//! What it takes to talk to a BMC.

use reqwest::Url;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::SecretString;

/// A user of a BMC. Its debug form has no password.
#[derive(Clone, Debug)]
pub struct Login {
    /// Name of the user.
    pub username: String,
    /// Its password.
    pub password: SecretString,
}

/// How the certificate of a BMC is recognised. The system's roots have no say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is signed, for the BMC's address, by one of these authorities.
    Authority(Vec<CertificateDer<'static>>),
    /// The certificate itself has this SHA-256.
    Fingerprint([u8; 32]),
}

/// Why what was given cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The address is no `https://` URL.
    #[error(
        "spec.bmc.address {0:?} is no URL of a BMC; write one such as https://192.0.2.20, without user and path"
    )]
    Address(String),
    /// The fingerprint is none.
    #[error(
        "spec.bmc.tls.fingerprint {0:?} is no SHA-256 fingerprint; write sha256: and the 64 hexadecimal digits \
         that openssl x509 -noout -fingerprint -sha256 prints"
    )]
    Fingerprint(String),
    /// There is no certificate in what should be an authority.
    #[error("ca.crt holds no certificate; put the authority's certificate there, in PEM")]
    Authority,
}

impl Trust {
    /// An authority's certificates, in PEM.
    pub fn authority(pem: &[u8]) -> Result<Self, AccessError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match found {
            Ok(certificates) if !certificates.is_empty() => Ok(Self::Authority(certificates)),
            _ => Err(AccessError::Authority),
        }
    }

    /// `sha256:` and 64 hexadecimal digits, with or without colons between the bytes.
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

/// What it takes to talk to a BMC.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where it is.
    pub(super) address: Url,
    /// Who we are.
    pub(super) login: Login,
    /// How it is recognised.
    pub(super) trust: Trust,
    /// Which of its systems is meant, when it has several: Id, UUID or serial number.
    pub(super) system: Option<String>,
}

impl Access {
    /// Checks the address: `https`, a host, and nothing behind it.
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
