//! The cost of decrypting a key, from its header: a wrong number there would mean years of
//! computing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use russh::keys::PrivateKey;
use russh::keys::ssh_key::Kdf;
use x509_parser::der_parser::der::{DerObjectContent, parse_der};
use x509_parser::der_parser::oid;

use super::CredentialError;

/// bcrypt rounds of OpenSSH's own format: ssh-keygen writes 24, and a thousand take seconds.
const BCRYPT_ROUNDS: u64 = 1_000;
/// Iterations of PBKDF2 in PKCS#8: openssl writes 2048, OWASP asks for 600,000, and ten million
/// take seconds.
const PBKDF2_ITERATIONS: u64 = 10_000_000;
/// N · r · p of scrypt in PKCS#8: openssl writes 2¹⁷; eight times that takes 128 MiB and seconds.
const SCRYPT_COST: u64 = 1 << 20;

/// Refuses a key that would take too long to decrypt.
pub(super) fn check(pem: &str) -> Result<(), CredentialError> {
    let (found, most, what) = if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        match pkcs8(pem) {
            Some(cost) => cost,
            None => return Ok(()),
        }
    } else {
        match PrivateKey::from_openssh(pem).map(|key| key.kdf().clone()) {
            Ok(Kdf::Bcrypt { rounds, .. }) => (u64::from(rounds), BCRYPT_ROUNDS, "bcrypt rounds"),
            _ => return Ok(()),
        }
    };
    if found <= most {
        return Ok(());
    }
    Err(CredentialError::TooCostly { found, most, what })
}

/// Cost, limit and name of the key derivation (RFC 8018, PBES2); none if it is not supported.
fn pkcs8(pem: &str) -> Option<(u64, u64, &'static str)> {
    let body: String = pem
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("-----BEGIN ENCRYPTED"))
        .skip(1)
        .take_while(|line| !line.starts_with("-----END"))
        .collect();
    let der = STANDARD.decode(body).ok()?;
    let (_, info) = parse_der(&der).ok()?;
    let scheme = info.as_sequence().ok()?.first()?.as_sequence().ok()?;
    let derivation = scheme.get(1)?.as_sequence().ok()?.first()?;
    let [id, parameters, ..] = derivation.as_sequence().ok()?.as_slice() else {
        return None;
    };
    let numbers = parameters.as_sequence().ok()?.iter();
    // a number that does not fit exceeds the limit
    let mut numbers = numbers
        .filter(|part| matches!(part.content, DerObjectContent::Integer(_)))
        .map(|part| part.as_u64().unwrap_or(u64::MAX));
    if *id.as_oid().ok()? == oid!(1.2.840.113549.1.5.12) {
        return Some((numbers.next()?, PBKDF2_ITERATIONS, "PBKDF2 iterations"));
    }
    let cost = numbers.take(3).fold(1, u64::saturating_mul);
    Some((cost, SCRYPT_COST, "steps of scrypt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
    const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
    const SCRYPT: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b];

    fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 128);
        [&[tag, length][..], &content].concat()
    }

    /// An encrypted key that nobody can open, whose derivation has these numbers.
    fn pem(derivation: &[u8], numbers: &[&[u8]]) -> String {
        let (integer, octets, oid, sequence) = (2, 4, 6, 0x30);
        let salt = tlv(octets, &[&[1; 8]]);
        let numbers: Vec<_> = numbers.iter().map(|n| tlv(integer, &[n])).collect();
        let parameters = tlv(sequence, &[&salt, &numbers.concat()]);
        let derivation = tlv(sequence, &[&tlv(oid, &[derivation]), &parameters]);
        let scheme = tlv(sequence, &[&derivation]);
        let algorithm = tlv(sequence, &[&tlv(oid, &[PBES2]), &scheme]);
        let der = tlv(sequence, &[&algorithm, &tlv(octets, &[&[0; 4]])]);
        format!(
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{}\n-----END ENCRYPTED PRIVATE KEY-----\n",
            STANDARD.encode(der)
        )
    }

    #[test]
    fn what_pkcs8_asks_for_is_bounded() {
        type Case = (&'static [u8], &'static [&'static [u8]], bool);
        let cases: [Case; 6] = [
            (PBKDF2, &[&[0x08, 0x00]], true),
            (PBKDF2, &[&[0x09, 0x27, 0xc0], &[32]], true),
            (PBKDF2, &[&[0x7f, 0xff, 0xff, 0xff]], false),
            (PBKDF2, &[&[0x7f; 12]], false),
            (SCRYPT, &[&[0x40, 0x00], &[8], &[1]], true),
            (SCRYPT, &[&[0x40, 0x00, 0x00, 0x00], &[8], &[1]], false),
        ];
        for (derivation, numbers, is_tried) in cases {
            let checked = check(&pem(derivation, numbers));
            assert_eq!(checked.is_ok(), is_tried, "{numbers:x?}: {checked:?}");
        }
    }
}
