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
use super::metrics::Metrics;

/// Turned on when the manager watches, whether it leads or waits to.
#[derive(Clone, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// The manager is ready from now on.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves until `stop` is cancelled.
pub async fn serve(
    address: SocketAddr,
    ready: Ready,
    metrics: Metrics,
    stop: CancellationToken,
) -> Result<(), ManagerError> {
    let listen = |source| ManagerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
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
        .map_err(listen)
}

async fn readyz(State(ready): State<Ready>) -> (StatusCode, &'static str) {
    if ready.0.load(Ordering::Relaxed) {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting\n")
    }
}
