//! Connections to the listener: a limited number, each with a time limit for its handshake and the
//! head of every request, so that other clients of the address cannot starve installers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tatara_net::{Peers, Place};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Limit of concurrent connections, including those with a valid token.
const AT_ONCE: usize = 1024;
/// Time limit of a handshake and of the head of a request.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pause of accepting connections after the system ran out of a resource, such as file descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until `stop` is cancelled, and then until open requests are finished.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    let (served, peers) = (TaskTracker::new(), Peers::default());
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection to the media listener");
                stop.run_until_cancelled(tokio::time::sleep(BREATH)).await;
                continue;
            }
        };
        // above the limit it is closed: installers and BMCs retry
        let (Some(place), Ok(turn)) = (peers.admit(from.ip()), turns.clone().try_acquire_owned())
        else {
            tracing::debug!(%from, "closed a connection to the media listener above its limit");
            continue;
        };
        let connection = Connection {
            place: place.into(),
            router: router.clone(),
            stop: stop.clone(),
            patience: PATIENCE,
            _turn: turn,
        };
        match tls.clone() {
            Some(acceptor) => served.spawn(connection.handshake(stream, acceptor)),
            None => served.spawn(connection.serve(stream)),
        };
    }
    drop(listener);
    served.close();
    served.wait().await;
}

struct Connection {
    place: Place,
    router: Router,
    stop: CancellationToken,
    /// Time limit of its handshake and of the head of each request.
    patience: Duration,
    _turn: OwnedSemaphorePermit,
}

impl Connection {
    async fn handshake(self, stream: TcpStream, acceptor: TlsAcceptor) {
        match tokio::time::timeout(self.patience, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => self.serve(stream).await,
            Ok(Err(error)) => {
                tracing::debug!(%error, "failed to complete a TLS handshake with the media listener");
            }
            Err(_) => tracing::debug!(
                "closed a connection to the media listener whose TLS handshake exceeded the time limit"
            ),
        }
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(self.router.layer(Extension(self.place)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "failed to serve a connection to the media listener");
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
                place: Place::default(),
                router: Router::new(),
                stop: CancellationToken::new(),
                patience: Duration::from_millis(1),
                _turn: turns.clone().try_acquire_owned().expect("a turn"),
            };
            tokio::spawn(connection.serve(server));
            client.write_all(head.as_bytes()).await.ok();
            let mut answer = Vec::new();
            let closed = client.read_to_end(&mut answer);
            // only so that a test which fails comes to an end
            let closed = tokio::time::timeout(Duration::from_mins(1), closed).await;
            assert!(matches!(closed, Ok(Ok(_))), "{head:?}");
            let answer = String::from_utf8_lossy(&answer);
            assert!(!answer.contains("404"), "{head:?} was no request: {answer}");
            let turn = turns.acquire().await;
            assert!(turn.is_ok(), "{head:?}: its place is another's");
        }
    }
}
