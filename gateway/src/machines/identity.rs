//! Values derived from a machine's id and spec.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::api::types::MachineSpec;

/// SHA-256 of a spec as canonical JSON: defaults filled in, keys sorted, no whitespace.
pub fn spec_hash(spec: &MachineSpec) -> String {
    // a `Value` sorts its keys
    let canonical = serde_json::to_value(spec)
        .map(|value| value.to_string())
        .unwrap_or_default();
    hex(&Sha256::digest(canonical.as_bytes()))
}

/// The MAC address of a machine's network interface. Four bytes are derived from the machine's id:
/// with three, as after QEMU's usual prefix 52:54:00, 1000 machines would contain a collision with
/// a probability of 1 in 30. The first byte has the "locally administered" bit set (IEEE 802).
pub fn mac(id: Uuid, index: usize) -> String {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    let hash = Sha256::new()
        .chain_update(id.as_bytes())
        .chain_update(index.to_be_bytes());
    let hash = hash.finalize();
    format!(
        "52:54:{:02x}:{:02x}:{:02x}:{:02x}",
        hash[0], hash[1], hash[2], hash[3]
    )
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
