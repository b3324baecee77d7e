//! Verifies the key of a server: the only place where one is accepted.

use std::io;
use std::sync::{Arc, OnceLock};

use russh::client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session};
use russh::keys::{PublicKey, PublicKeyOrCertificate};
use russh::{Channel, ChannelOpenFailure, Disconnect};

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

/// Channels that the server opens, by the method and what it says of each. Nothing was requested
/// that needs one, and russh accepts and keeps as many as come.
macro_rules! refused {
    ($($method:ident($($said:ty),*);)*) => {
        $(async fn $method(
            &mut self,
            _: Channel<Msg>,
            $(_: $said,)*
            reply: ChannelOpenHandle,
            _: &mut Session,
        ) -> Result<(), Self::Error> {
            let why = ChannelOpenFailure::AdministrativelyProhibited;
            reply.reject(why).await;
            Ok(())
        })*
    };
}

impl Handler for Verifier {
    type Error = HandshakeError;

    refused! {
        server_channel_open_session();
        server_channel_open_direct_tcpip(&str, u32, &str, u32);
        server_channel_open_direct_streamlocal(&str);
        server_channel_open_forwarded_tcpip(&str, u32, &str, u32);
        server_channel_open_forwarded_streamlocal(&str);
        server_channel_open_agent_forward();
        server_channel_open_x11(&str, u32);
        server_channel_open_unknown();
    }

    async fn should_accept_unknown_server_channel(&mut self, _: russh::ChannelId, _: &str) -> bool {
        false
    }

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

#[cfg(test)]
#[path = "verifier_tests.rs"]
mod tests;
