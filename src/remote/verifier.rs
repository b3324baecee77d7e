//! Verifies the key of a server: the only place where one is accepted.

use std::io;
use std::sync::{Arc, OnceLock};

use russh::Disconnect;
use russh::client::{DisconnectReason, Handler};
use russh::keys::{PublicKey, PublicKeyOrCertificate};

use super::host_key::HostKeys;

/// Observations of the handler, for errors.
#[derive(Default)]
pub(super) struct PeerRecord {
    /// The key that it presented.
    pub(super) key: OnceLock<PublicKey>,
    /// Its disconnect message.
    pub(super) farewell: OnceLock<Farewell>,
}

pub(super) struct Farewell {
    pub(super) text: String,
    pub(super) about_login: bool,
}

impl PeerRecord {
    /// The end of the connection as an error: the server's message, or `otherwise`.
    pub(super) fn closed(&self, otherwise: &str) -> io::Error {
        let text = self
            .farewell
            .get()
            .map_or(otherwise, |farewell| farewell.text.as_str());
        io::Error::new(io::ErrorKind::ConnectionReset, text.to_string())
    }
}

/// Verifies the host key, and records the server's key and messages.
pub(super) struct Verifier {
    pub(super) host_keys: HostKeys,
    pub(super) seen: Arc<PeerRecord>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("the host key is not pinned")]
    KeyRefused,
    #[error(transparent)]
    Ssh(#[from] russh::Error),
}

impl Handler for Verifier {
    type Error = HandshakeError;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let key = shown.public_key();
        // No certificate algorithm is offered, so none can be accepted by the key inside it.
        let accepted = shown.certificate().is_none() && self.host_keys.accept(&key);
        let _ = self.seen.key.set(key);
        if accepted {
            Ok(true)
        } else {
            Err(HandshakeError::KeyRefused)
        }
    }

    async fn disconnected(
        &mut self,
        reason: DisconnectReason<Self::Error>,
    ) -> Result<(), Self::Error> {
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => {
                let about_login =
                    matches!(info.reason_code, Disconnect::NoMoreAuthMethodsAvailable)
                        || info.message.contains("authentication failures");
                let _ = self.seen.farewell.set(Farewell {
                    text: info.message,
                    about_login,
                });
                Ok(())
            }
            DisconnectReason::Error(error) => Err(error),
        }
    }
}
