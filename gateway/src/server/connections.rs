//! Connections: each is served by a task of its own, and ends gracefully.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::listeners::Socket;
use super::peers::Peers;
use super::tls::Tls;
use crate::auth::{Place, Trust};

/// Connections that are served at once at each place, those that have not proved anything yet included.
const AT_ONCE: usize = 512;
/// How long a handshake or a request's head may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long nothing is accepted after the system said that it has no more of something.
const BREATH: Duration = Duration::from_millis(100);

/// What all connections need.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    graceful: Arc<GracefulShutdown>,
    // whoever can reach the address does not take the socket's
    address: Arc<Semaphore>,
    socket: Arc<Semaphore>,
    peers: Peers,
}

/// What one connection needs. It does not hold the rest: the rest waits for its end.
struct Connection {
    router: Router,
    watcher: Watcher,
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

    /// Serves HTTPS, without end.
    pub async fn serve_tls(self, listener: TcpListener, tls: Tls) {
        loop {
            let accepted = listener.accept().await;
            let from = accepted.as_ref().map(|(_, from)| from.ip()).ok();
            let place = from.map(|from| self.peers.admit(from));
            if let Some(None) = place {
                tracing::debug!(?from, "too many connections that prove nothing: closed");
                continue;
            }
            let accepted = accepted.map(|(stream, _)| stream);
            if let Some((stream, connection)) = self.admit(accepted, &self.address).await {
                let place = Place::new(place);
                tokio::spawn(connection.handshake(stream, tls.acceptor(), place));
            }
        }
    }

    /// Serves a Unix socket, without end.
    pub async fn serve_socket(self, socket: Socket) {
        loop {
            let accepted = socket.listener.accept().await.map(|(stream, _)| stream);
            if let Some((stream, connection)) = self.admit(accepted, &self.socket).await {
                tokio::spawn(connection.serve(stream, Trust::Socket, Place::default()));
            }
        }
    }

    /// Lets all connections end after the request that they are at.
    pub async fn shutdown(self) {
        // the listeners' clones are gone by now
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
        // events are small and must not wait for more
        let _ = stream.set_nodelay(true);
        match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
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
            Ok(Err(error)) => tracing::info!(%error, "TLS handshake failed"),
            Err(_) => tracing::info!("TLS handshake took too long"),
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
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
