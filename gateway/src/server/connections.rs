//! Connections: each is served by its own task, and shut down gracefully.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tatara_net::{Peers, Place};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::listeners::Socket;
use super::tls::Tls;
use crate::auth::Trust;

/// Limit of open connections per listener, including unauthenticated ones.
const AT_ONCE: usize = 512;
/// Timeout of a TLS handshake and of a request's header.
const PATIENCE: Duration = Duration::from_secs(15);
/// Pause after a failed accept, such as EMFILE: without it the loop would spin.
const BREATH: Duration = Duration::from_millis(100);

/// State shared by all connections.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    graceful: Arc<GracefulShutdown>,
    // separate limits, so that TCP clients cannot exhaust the connections of the Unix socket
    address: Arc<Semaphore>,
    socket: Arc<Semaphore>,
    peers: Peers,
}

/// State of one connection. It has no reference to [`Connections`], which waits for it at shutdown.
struct Connection {
    router: Router,
    watcher: Watcher,
    /// Timeout of its handshake, and of the header of each request.
    patience: Duration,
    _turn: OwnedSemaphorePermit,
}

impl Connections {
    pub fn new(router: Router) -> Self {
        let turns = || Arc::new(Semaphore::new(AT_ONCE));
        Self {
            router,
            graceful: Arc::new(GracefulShutdown::new()),
            address: turns(),
            socket: turns(),
            peers: Peers::default(),
        }
    }

    /// Serves HTTPS until aborted.
    pub async fn serve_tls(self, listener: TcpListener, tls: Tls) {
        loop {
            let accepted = listener.accept().await;
            let from = accepted.as_ref().map(|(_, from)| from.ip()).ok();
            let place = from.map(|from| self.peers.admit(from));
            if let Some(None) = place {
                tracing::debug!(
                    ?from,
                    "closed an unauthenticated connection above the limit"
                );
                continue;
            }
            let place = place.flatten().map(Place::from).unwrap_or_default();
            let accepted = accepted.map(|(stream, _)| stream);
            if let Some((stream, connection)) = self.admit(accepted, &self.address).await {
                tokio::spawn(connection.handshake(stream, tls.acceptor(), place));
            }
        }
    }

    /// Serves a Unix socket until aborted.
    pub async fn serve_socket(self, socket: Socket) {
        loop {
            let accepted = socket.listener.accept().await.map(|(stream, _)| stream);
            if let Some((stream, connection)) = self.admit(accepted, &self.socket).await {
                tokio::spawn(connection.serve(stream, Trust::Socket, Place::default()));
            }
        }
    }

    /// Closes every connection after its current request.
    pub async fn shutdown(self) {
        // the listeners' clones are already dropped
        if let Some(graceful) = Arc::into_inner(self.graceful) {
            graceful.shutdown().await;
        }
    }

    async fn admit<S>(
        &self,
        accepted: io::Result<S>,
        turns: &Arc<Semaphore>,
    ) -> Option<(S, Connection)> {
        match accepted {
            Ok(stream) => {
                let turn = turns.clone().acquire_owned().await.ok()?;
                let (router, watcher) = (self.router.clone(), self.graceful.watcher());
                Some((
                    stream,
                    Connection {
                        router,
                        watcher,
                        patience: PATIENCE,
                        _turn: turn,
                    },
                ))
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(BREATH).await;
                None
            }
        }
    }
}

impl Connection {
    async fn handshake(self, stream: TcpStream, acceptor: TlsAcceptor, place: Place) {
        // events are small; Nagle's algorithm would delay them
        let _ = stream.set_nodelay(true);
        match tokio::time::timeout(self.patience, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => {
                let proved = stream.get_ref().1.peer_certificates().is_some();
                let trust = if proved {
                    place.leave();
                    Trust::Certificate
                } else {
                    Trust::None
                };
                self.serve(stream, trust, place).await;
            }
            Ok(Err(error)) => tracing::info!(%error, "failed to complete a TLS handshake"),
            Err(_) => {
                tracing::info!("closed a connection whose TLS handshake exceeded the time limit");
            }
        }
    }

    async fn serve<S>(self, stream: S, trust: Trust, place: Place)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service =
            TowerToHyperService::new(self.router.layer(Extension(trust)).layer(Extension(place)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "failed to serve a connection");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_connection_that_never_ends_its_headers_is_closed() {
        for head in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"] {
            let (mut client, server) = tokio::io::duplex(1024);
            let turns = Arc::new(Semaphore::new(1));
            let connection = Connection {
                router: Router::new(),
                watcher: GracefulShutdown::new().watcher(),
                patience: Duration::from_millis(1),
                _turn: turns.clone().try_acquire_owned().expect("a turn"),
            };
            tokio::spawn(connection.serve(server, Trust::None, Place::default()));
            client.write_all(head.as_bytes()).await.ok();
            let mut answer = Vec::new();
            let closed = client.read_to_end(&mut answer);
            // bounds the run time of a failing test
            let closed = tokio::time::timeout(Duration::from_mins(1), closed).await;
            assert!(matches!(closed, Ok(Ok(_))), "{head:?}");
            let answer = String::from_utf8_lossy(&answer);
            assert!(!answer.contains("404"), "{head:?} was no request: {answer}");
            let turn = turns.acquire().await;
            assert!(turn.is_ok(), "{head:?}: its place is another's");
        }
    }
}
