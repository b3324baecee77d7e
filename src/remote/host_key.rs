//! Host keys: the pinned ones, the algorithms to negotiate, and the check of a presented key.

use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

use super::{ConnectError, Hop};

/// The keys that a server may present.
#[derive(Clone, Debug)]
pub(super) enum HostKeys {
    /// One of these keys.
    Pinned(Vec<PublicKey>),
    /// Any key: trust on first use, if the user enabled it.
    FirstContact,
}

impl HostKeys {
    /// Reads the pinned keys of `hop`. Without any, every key is accepted if `trust_on_first_use`,
    /// otherwise it is an error.
    pub(super) fn of(hop: &Hop, trust_on_first_use: bool) -> Result<Self, ConnectError> {
        if hop.host_keys.is_empty() {
            return if trust_on_first_use {
                Ok(Self::FirstContact)
            } else {
                Err(ConnectError::HostKeyMissing {
                    host: hop.to_string(),
                })
            };
        }
        let parse = |(index, line): (usize, &String)| {
            PublicKey::from_openssh(line.trim())
                .ok()
                .filter(|key| !negotiable(&key.algorithm()).is_empty())
                .ok_or_else(|| ConnectError::HostKeyMalformed {
                    host: hop.to_string(),
                    index,
                    value: line.chars().take(60).collect(),
                })
        };
        hop.host_keys
            .iter()
            .enumerate()
            .map(parse)
            .collect::<Result<_, _>>()
            .map(Self::Pinned)
    }

    /// Host-key algorithms to offer, so that a server with several keys presents a pinned one.
    pub(super) fn algorithms(&self) -> Vec<Algorithm> {
        let Self::Pinned(keys) = self else {
            return every_algorithm();
        };
        let pinned: Vec<_> = keys
            .iter()
            .flat_map(|key| negotiable(&key.algorithm()))
            .collect();
        every_algorithm()
            .into_iter()
            .filter(|algorithm| pinned.contains(algorithm))
            .collect()
    }

    /// Whether `key` is accepted. Comments are ignored.
    pub(super) fn accept(&self, key: &PublicKey) -> bool {
        match self {
            Self::FirstContact => true,
            Self::Pinned(pinned) => pinned.iter().any(|pin| pin.key_data() == key.key_data()),
        }
    }

    /// Fingerprints of the pinned keys, for messages.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        match self {
            Self::FirstContact => Vec::new(),
            Self::Pinned(keys) => keys.iter().map(fingerprint).collect(),
        }
    }
}

/// `SHA256:…`, as `ssh-keygen -l` prints it.
pub(super) fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// In the order of preference. RSA signs with SHA-2 only; SHA-1 (`ssh-rsa`) is never offered.
fn every_algorithm() -> Vec<Algorithm> {
    let ecdsa = |curve| Algorithm::Ecdsa { curve };
    let mut all = vec![
        Algorithm::Ed25519,
        ecdsa(EcdsaCurve::NistP256),
        ecdsa(EcdsaCurve::NistP384),
        ecdsa(EcdsaCurve::NistP521),
    ];
    all.extend(rsa());
    all
}

fn rsa() -> [Algorithm; 2] {
    [HashAlg::Sha512, HashAlg::Sha256].map(|hash| Algorithm::Rsa { hash: Some(hash) })
}

/// The algorithms of a key type; empty if it is not supported.
fn negotiable(key: &Algorithm) -> Vec<Algorithm> {
    match key {
        Algorithm::Rsa { .. } => rsa().to_vec(),
        other => every_algorithm()
            .into_iter()
            .filter(|algorithm| algorithm == other)
            .collect(),
    }
}

#[cfg(test)]
#[path = "host_key_tests.rs"]
mod tests;
