//! Startup and shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Error;
use super::connections::Connections;
use super::listeners::{Socket, tcp};
use super::tls::{Files, Tls};
use crate::app::App;
use crate::args::Args;
use crate::auth::{Guard, Tokens};
use crate::libvirt::Link;
use crate::{api, events, images};

/// Grace period of requests after SIGTERM or SIGINT.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until SIGTERM or SIGINT, then completes the requests in progress.
///
/// # Errors
/// [`Error`] when the configuration is incomplete, a file or the tokens cannot be used, or a
/// listener cannot be bound.
pub async fn run(args: Args) -> Result<(), Error> {
    // fails only if a default provider is already installed
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut end = End::new().map_err(Error::Signals)?;
    let https = https(&args)?;
    if https.is_none() && args.unix_socket.is_none() {
        return Err(Error::Nowhere);
    }
    let tokens = args.token_file.clone().map(Tokens::open).transpose()?;
    let app = Arc::new(App::new(&args));
    let router = api::router(app.clone(), Arc::new(Guard::new(tokens)));
    let connections = Connections::new(router);
    let mut listeners = Vec::new();
    if let Some((address, tls)) = https {
        let listener = tcp(address).await?;
        let address = listener
            .local_addr()
            .map_or_else(|_| address.to_string(), |a| a.to_string());
        tracing::info!(address, "listening for HTTPS");
        listeners.push(tokio::spawn(connections.clone().serve_tls(listener, tls)));
    }
    if let Some(path) = &args.unix_socket {
        let socket = Socket::open(path)?;
        tracing::info!(path = %path.display(), "listening on a Unix socket");
        listeners.push(tokio::spawn(connections.clone().serve_socket(socket)));
    }
    let poll = tokio::spawn(events::run(app.clone()));
    sweep(&app);
    end.asked().await;
    tracing::info!("stopping after the requests in progress");
    for listener in listeners {
        listener.abort();
        // wait for the task, which owns the socket, so that the socket file is removed
        let _ = listener.await;
    }
    app.hub.close();
    app.images.stop();
    finish(&app, connections).await;
    let _ = poll.await;
    Ok(())
}

/// Address and TLS settings of HTTPS; `None` when it is not configured.
fn https(args: &Args) -> Result<Option<(std::net::SocketAddr, Tls)>, Error> {
    let Some(address) = args.listen else {
        return Ok(None);
    };
    let (Some(cert), Some(key)) = (args.tls_cert.clone(), args.tls_key.clone()) else {
        return Err(Error::Unguarded);
    };
    let tokens = args.token_file.is_some();
    if args.client_ca.is_none() && !tokens {
        return Err(Error::Unguarded);
    }
    let files = Files {
        cert,
        key,
        client_ca: args.client_ca.clone(),
        tokens,
    };
    Ok(Some((address, Tls::open(files)?)))
}

/// Removes partial images of a killed gateway. If libvirt starts after the gateway, this fails, and
/// each is replaced when its image is downloaded again.
fn sweep(app: &Arc<App>) {
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(error) = app.libvirt.run(|link: &Link| images::sweep(link)).await {
            tracing::warn!(
                error = error.words(),
                "failed to remove partial images of an earlier run; each is removed when its image is downloaded again"
            );
        }
    });
}

async fn finish(app: &App, connections: Connections) {
    let quiet = async {
        connections.shutdown().await;
        app.libvirt.finish().await;
    };
    if tokio::time::timeout(PATIENCE, quiet).await.is_err() {
        tracing::warn!("stopped with unfinished requests after the time limit");
    }
}

/// SIGTERM and SIGINT, handled from the beginning so that a signal during startup shuts down
/// gracefully.
struct End {
    terminate: Signal,
    interrupt: Signal,
}

impl End {
    fn new() -> std::io::Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self {
            terminate: signal(terminate)?,
            interrupt: signal(interrupt)?,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
