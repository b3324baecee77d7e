//! Private keys in the forms that OpenSSL and kubeadm write.

use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::zeroize::Zeroizing;
use x509_parser::asn1_rs::{Any, FromDer};

const INTEGER_ZERO: [u8; 3] = [0x02, 0x01, 0x00];
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// The private key in a PEM text, if it matches this public key (`SubjectPublicKeyInfo`, DER).
/// Supports PKCS#8 and the older forms of RSA and EC keys, which lack the algorithm: the public key
/// has it.
pub(super) fn private_key(pem: &str, public_key: &[u8]) -> Result<KeyPair, KeyProblem> {
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| KeyProblem::Unreadable)?;
    let pkcs8 = match &key {
        PrivateKeyDer::Pkcs8(key) => Zeroizing::new(key.secret_pkcs8_der().to_vec()),
        other => {
            let algorithm = algorithm(public_key).ok_or(KeyProblem::Mismatch)?;
            in_pkcs8(algorithm, other.secret_der())
        }
    };
    let pair = KeyPair::try_from(pkcs8.as_slice()).map_err(|_| match &key {
        PrivateKeyDer::Pkcs8(_) => KeyProblem::Unreadable,
        _ => KeyProblem::Mismatch,
    })?;
    if pair.subject_public_key_info() == public_key {
        Ok(pair)
    } else {
        Err(KeyProblem::Mismatch)
    }
}

/// Why a private key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyProblem {
    /// Not a key, an encrypted one, or one of an unsupported kind.
    Unreadable,
    /// It belongs to another public key.
    Mismatch,
}

/// The supported private keys, for messages.
pub(super) const PRIVATE_KEY: &str =
    "an unencrypted private key in PEM form, RSA of 2048 to 4096 bits or ECDSA on P-256 or P-384";

/// The algorithm of a public key, as DER.
fn algorithm(public_key: &[u8]) -> Option<&[u8]> {
    let (_, info) = Any::from_der(public_key).ok()?;
    let (rest, _) = Any::from_der(info.data).ok()?;
    info.data.get(..info.data.len() - rest.len())
}

/// `PrivateKeyInfo` (RFC 5208) around a key of an older form.
fn in_pkcs8(algorithm: &[u8], key: &[u8]) -> Zeroizing<Vec<u8>> {
    let key = tagged(OCTET_STRING, key);
    let content = Zeroizing::new([&INTEGER_ZERO, algorithm, key.as_slice()].concat());
    tagged(SEQUENCE, &content)
}

fn tagged(tag: u8, content: &[u8]) -> Zeroizing<Vec<u8>> {
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut der = Vec::with_capacity(content.len() + significant.len() + 2);
    der.push(tag);
    match significant.as_slice() {
        [short] if *short < 0x80 => der.push(*short),
        [] => der.push(0),
        long => {
            der.push(0x80 | u8::try_from(long.len()).unwrap_or(u8::MAX));
            der.extend_from_slice(long);
        }
    }
    der.extend_from_slice(content);
    Zeroizing::new(der)
}
