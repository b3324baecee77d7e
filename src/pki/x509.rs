//! Validity and hashes of certificates.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::CertificateParams;
use sha2::{Digest, Sha256};
use x509_parser::time::ASN1Time;

use super::error::PkiError;

/// Certificates are valid from this long before their creation, as with kubeadm, because clocks
/// differ.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// When a certificate is due for renewal: after two thirds of its validity.
pub fn renew_at(not_before: Timestamp, not_after: Timestamp) -> Timestamp {
    let life = not_after.duration_since(not_before);
    not_before + life / 3 * 2
}

/// Sets the validity: from a little before `now` until `not_after`. Returns both, in whole seconds.
pub(super) fn set_validity(
    params: &mut CertificateParams,
    now: Timestamp,
    not_after: Timestamp,
) -> Result<(Timestamp, Timestamp), PkiError> {
    let not_before = now - BACKDATE;
    let asn1 =
        |at: Timestamp| ASN1Time::from_timestamp(at.as_second()).map_err(|_| PkiError::Time { at });
    let (from, until) = (asn1(not_before)?, asn1(not_after)?);
    params.not_before = from.to_datetime();
    params.not_after = until.to_datetime();
    Ok((timestamp(from), timestamp(until)))
}

/// A certificate's time; beyond the range of timestamps, the end of that range.
pub(super) fn timestamp(time: ASN1Time) -> Timestamp {
    Timestamp::from_second(time.timestamp()).unwrap_or(Timestamp::MAX)
}

/// `sha256:<hex>`. For a public key (`SubjectPublicKeyInfo`, DER) it is the hash that kubeadm's
/// discovery pins.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut hash = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        for digit in [byte >> 4, byte & 0xf] {
            hash.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    hash
}
