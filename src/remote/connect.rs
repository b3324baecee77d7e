//! One hop: TCP or a tunnel, handshake with a verified host key, login.

use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{AlgorithmKind, Preferred};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::host_key::{HostKeys, fingerprint};
use super::login::log_in;
use super::transport::{ByteStream, Transport};
use super::verifier::{HandshakeError, PeerRecord, Verifier};
use super::{ConnectError, Hop, Session};

/// Time limit of the TCP connection, or of the tunnel through a jump host.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of handshake and login together. A slow machine computes keys for many seconds; a
/// client that gives up early and retries leaves it with both computations, until sshd refuses
/// connections (`MaxStartups`).
const LOGIN_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of keep-alive requests on a silent connection, which is closed after
/// [`KEEPALIVE_MISSES`] without an answer.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_MISSES: usize = 3;
/// Time limit of a write without progress, the same as of keep-alive.
const WRITE_STALL: Duration = Duration::from_secs(45);

/// A connection after login.
pub(super) struct SshConnection {
    pub(super) handle: Handle<Verifier>,
    /// The host key that was trusted on first use, if any.
    pub(super) first_contact: Vec<String>,
}

/// Connects to `hop`, directly or through `via`, within [`DIAL_TIMEOUT`], and logs in within
/// [`LOGIN_TIMEOUT`].
pub(super) async fn connect(
    hop: &Hop,
    trust_on_first_use: bool,
    via: Option<&Session>,
) -> Result<SshConnection, ConnectError> {
    let host_keys = HostKeys::of(hop, trust_on_first_use)?;
    let stream = within(DIAL_TIMEOUT, hop, dial(hop, via)).await?;
    let attempt = async {
        // Dropped on any failure, a timeout included: it ends russh's task and the socket.
        let cut = CancellationToken::new();
        let guard = cut.clone().drop_guard();
        let mut greeted =
            handshake(hop, host_keys, Transport::new(stream, cut, WRITE_STALL)).await?;
        log_in(hop, &mut greeted.handle, &greeted.seen).await?;
        guard.disarm();
        Ok(greeted)
    };
    let Greeting {
        handle,
        seen,
        pinned,
    } = within(LOGIN_TIMEOUT, hop, attempt).await?;
    let shown = seen
        .key
        .get()
        .filter(|_| !pinned)
        .and_then(|key| key.to_openssh().ok());
    Ok(SshConnection {
        handle,
        first_contact: shown.into_iter().collect(),
    })
}

async fn within<T>(
    limit: Duration,
    hop: &Hop,
    attempt: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    timeout(limit, attempt).await.unwrap_or_else(|_| {
        Err(ConnectError::Timeout {
            host: hop.to_string(),
            seconds: limit.as_secs(),
        })
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

struct Greeting {
    handle: Handle<Verifier>,
    seen: Arc<PeerRecord>,
    pinned: bool,
}

async fn handshake(
    hop: &Hop,
    host_keys: HostKeys,
    transport: Transport,
) -> Result<Greeting, ConnectError> {
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
    let seen = Arc::new(PeerRecord::default());
    let verifier = Verifier {
        host_keys,
        seen: Arc::clone(&seen),
    };
    match client::connect_stream(Arc::new(config), transport, verifier).await {
        Ok(handle) => Ok(Greeting {
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
    seen: &PeerRecord,
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
            source: Arc::new(seen.closed("the connection was closed before SSH was up")),
        },
        error => ConnectError::Protocol {
            host,
            source: Arc::new(error),
        },
    }
}
