//! One hop: TCP or a tunnel, handshake with a verified host key, login.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use russh::client::{self, AuthResult, DisconnectReason, Handle, Handler};
use russh::keys::{Algorithm, HashAlg, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{AlgorithmKind, Disconnect, Preferred};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::host_key::{HostKeys, fingerprint};
use super::transport::{ByteStream, Transport};
use super::{ConnectError, Hop, Session};

/// TCP, handshake and login of one hop together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence before the peer is asked whether it lives; after [`KEEPALIVE_MISSES`] it does not.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_MISSES: usize = 3;

/// A connection that is logged in.
pub(super) struct Connected {
    pub(super) handle: Handle<Verifier>,
    /// The key that was taken on trust, if one was.
    pub(super) first_contact: Vec<String>,
}

/// Connects to `hop`, directly or through `via`, within [`CONNECT_TIMEOUT`].
pub(super) async fn connect(
    hop: &Hop,
    trust_on_first_use: bool,
    via: Option<&Session>,
) -> Result<Connected, ConnectError> {
    let host_keys = HostKeys::of(hop, trust_on_first_use)?;
    let attempt = async {
        let stream = dial(hop, via).await?;
        // Dropped on any failure, a timeout included: it ends russh's task and the socket.
        let cut = CancellationToken::new();
        let guard = cut.clone().drop_guard();
        let mut greeted = handshake(hop, host_keys, Transport::new(stream, cut)).await?;
        log_in(hop, &mut greeted).await?;
        guard.disarm();
        Ok(greeted)
    };
    let Ok(greeted) = timeout(CONNECT_TIMEOUT, attempt).await else {
        return Err(ConnectError::Timeout {
            host: hop.to_string(),
            seconds: CONNECT_TIMEOUT.as_secs(),
        });
    };
    let Greeted {
        handle,
        seen,
        pinned,
    } = greeted?;
    let shown = seen
        .key
        .get()
        .filter(|_| !pinned)
        .and_then(|key| key.to_openssh().ok());
    Ok(Connected {
        handle,
        first_contact: shown.into_iter().collect(),
    })
}

async fn dial(hop: &Hop, via: Option<&Session>) -> Result<Box<dyn ByteStream>, ConnectError> {
    if let Some(session) = via {
        let tunnel = session
            .open_tcp(&hop.address, hop.port)
            .await
            .map_err(|error| ConnectError::Unreachable {
                host: hop.to_string(),
                source: Arc::new(error),
            })?;
        return Ok(Box::new(tunnel));
    }
    let stream = TcpStream::connect((hop.address.as_str(), hop.port)).await;
    let stream = stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    stream
        .map(|stream| Box::new(stream) as Box<dyn ByteStream>)
        .map_err(|error| ConnectError::Unreachable {
            host: hop.to_string(),
            source: Arc::new(error),
        })
}

/// What the handler saw, for the errors.
#[derive(Default)]
struct Seen {
    key: OnceLock<PublicKey>,
    farewell: OnceLock<Farewell>,
}

struct Farewell {
    text: String,
    about_login: bool,
}

struct Greeted {
    handle: Handle<Verifier>,
    seen: Arc<Seen>,
    pinned: bool,
}

async fn handshake(
    hop: &Hop,
    host_keys: HostKeys,
    transport: Transport,
) -> Result<Greeted, ConnectError> {
    let config = client::Config {
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVE_MISSES,
        preferred: Preferred {
            key: host_keys.algorithms().into(),
            ..Preferred::default()
        },
        ..client::Config::default()
    };
    let expected = host_keys.fingerprints();
    let seen = Arc::new(Seen::default());
    let verifier = Verifier {
        host_keys,
        seen: Arc::clone(&seen),
    };
    match client::connect_stream(Arc::new(config), transport, verifier).await {
        Ok(handle) => Ok(Greeted {
            handle,
            seen,
            pinned: !expected.is_empty(),
        }),
        Err(HandshakeError::KeyRefused) => Err(ConnectError::HostKeyChanged {
            host: hop.to_string(),
            expected,
            shown: seen.key.get().map(fingerprint).unwrap_or_default(),
        }),
        Err(HandshakeError::Ssh(error)) => Err(handshake_error(hop, expected, &seen, error)),
    }
}

fn handshake_error(
    hop: &Hop,
    expected: Vec<String>,
    seen: &Seen,
    error: russh::Error,
) -> ConnectError {
    let host = hop.to_string();
    match error {
        russh::Error::NoCommonAlgo {
            kind: AlgorithmKind::Key,
            theirs,
            ..
        } => ConnectError::HostKeyNotOffered {
            host,
            expected,
            offered: theirs,
        },
        russh::Error::IO(error) => ConnectError::Unreachable {
            host,
            source: Arc::new(error),
        },
        russh::Error::Disconnect | russh::Error::HUP => ConnectError::Unreachable {
            host,
            source: Arc::new(closed(seen, "the connection was closed before SSH was up")),
        },
        error => ConnectError::Protocol {
            host,
            source: Arc::new(error),
        },
    }
}

fn closed(seen: &Seen, otherwise: &str) -> io::Error {
    let text = seen
        .farewell
        .get()
        .map_or(otherwise, |farewell| farewell.text.as_str());
    io::Error::new(io::ErrorKind::ConnectionReset, text.to_string())
}

async fn log_in(hop: &Hop, greeted: &mut Greeted) -> Result<(), ConnectError> {
    let key = hop.credential.key();
    let hash = match key.algorithm() {
        Algorithm::Rsa { .. } => Some(rsa_hash(&greeted.handle).await),
        _ => None,
    };
    let key = PrivateKeyWithHashAlg::new(key, hash);
    let result = greeted.handle.authenticate_publickey(&hop.user, key).await;
    let unreachable = |seen: &Seen| ConnectError::Unreachable {
        host: hop.to_string(),
        source: Arc::new(closed(seen, "the connection was closed during login")),
    };
    let (remaining, partial) = match result {
        Ok(AuthResult::Success) => return Ok(()),
        Ok(AuthResult::Failure {
            remaining_methods,
            partial_success,
        }) => (remaining_methods, partial_success),
        Err(_) => return Err(unreachable(&greeted.seen)),
    };
    // russh reports a connection lost during login as a refusal without any method left.
    let refused = greeted
        .seen
        .farewell
        .get()
        .is_some_and(|farewell| farewell.about_login);
    if greeted.handle.is_closed() && remaining.is_empty() && !refused {
        return Err(unreachable(&greeted.seen));
    }
    let methods: Vec<&str> = remaining.iter().map(Into::into).collect();
    let detail = match (partial, methods.is_empty()) {
        (true, _) => format!(" (the server wants {} as well)", methods.join(", ")),
        (false, false) => format!(" (the server accepts {})", methods.join(", ")),
        (false, true) => String::new(),
    };
    Err(ConnectError::AuthenticationFailed {
        host: hop.to_string(),
        user: hop.user.clone(),
        key: format!(
            "{} {}",
            hop.credential.key_type(),
            hop.credential.fingerprint()
        ),
        detail,
    })
}

/// The best SHA-2 that the server names. SHA-1 is never used: a server that knows nothing else
/// refuses the login, as it should.
async fn rsa_hash(handle: &Handle<Verifier>) -> HashAlg {
    let supported = handle.best_supported_rsa_hash().await;
    supported
        .ok()
        .flatten()
        .flatten()
        .unwrap_or(HashAlg::Sha512)
}

/// Checks the host key; remembers what the server showed and said.
pub(super) struct Verifier {
    host_keys: HostKeys,
    seen: Arc<Seen>,
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
