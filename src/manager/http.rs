//! `/healthz`, `/readyz` and `/metrics`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use axum::routing::get;
use axum::{Router, extract::State};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::error::ManagerError;
use crate::metrics::Metrics;

/// Whether the manager is ready: it waits for leadership, or it leads and has listed every object.
#[derive(Clone, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// Sets whether the manager is ready from now on.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }
}

/// Binds the address that this option names. That of the probes is done first: it also prevents a
/// second manager in the same Pod.
///
/// # Errors
/// `ManagerError::Listen` when the address is in use or not local.
pub async fn listen(
    address: SocketAddr,
    option: &'static str,
) -> Result<TcpListener, ManagerError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ManagerError::Listen {
        address,
        option,
        source,
    })
}

/// Serves probes and metrics until `stop` is cancelled.
///
/// # Errors
/// `ManagerError::Serve` when the server fails.
pub async fn serve(
    listener: TcpListener,
    ready: Ready,
    metrics: Metrics,
    stop: CancellationToken,
) -> Result<(), ManagerError> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz).with_state(ready))
        .route(
            "/metrics",
            get(|State(metrics): State<Metrics>| async move { metrics.text() }),
        )
        .with_state(metrics);
    let stopped = async move { stop.cancelled().await };
    axum::serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await
        .map_err(ManagerError::Serve)
}

async fn readyz(State(ready): State<Ready>) -> (StatusCode, &'static str) {
    if ready.0.load(Ordering::Relaxed) {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting\n")
    }
}
