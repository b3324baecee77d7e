//! A client of a cluster's API, directly or through a host's SSH connection.
//!
//! TLS and identity are those of the `kube::Config` on every route: SSH carries bytes, it is not
//! what the API server trusts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt, DynBody};
use tokio::net::TcpStream;
use tower::retry::RetryLayer;
use tower::util::{BoxService, ServiceExt as _};
use tower::{BoxError, ServiceBuilder};

use super::patience::Patience;
use super::transport::ByteStream;
use super::{Pool, Target};

/// The way to an API server.
///
/// A route through SSH names a target and the pool, not a session: a connection that was lost is made again
/// by the next request, and the client need not be.
#[derive(Clone)]
pub enum Route {
    /// From here.
    Direct,
    /// From a host, to the address of the `kube::Config`.
    Through {
        /// Where the host's connection is.
        pool: Pool,
        /// The host.
        target: Target,
    },
    /// From a host, to this address, whatever the `kube::Config` says; certificates are still
    /// checked against the latter (or its `tls_server_name`).
    Tunnel {
        /// Where the host's connection is.
        pool: Pool,
        /// The host.
        target: Target,
        /// Address as the host sees it, such as `127.0.0.1`.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// A client for `config` that goes by `route`. Nothing is connected before the first request. Each request is given
/// up when the server takes too long, and a connection to a peer that is gone is closed.
///
/// Errors are about `config`; those of the route come with the requests, with a
/// [`ConnectError`](super::ConnectError) or [`RunError`](super::RunError) as source.
pub fn kube_client(config: kube::Config, route: Route) -> kube::Result<kube::Client> {
    Ok(kube_builder(config, route)?.build())
}

/// What [`kube_client`] makes a client of, for those who want to know of each request.
pub fn kube_builder(config: kube::Config, route: Route) -> kube::Result<ClientBuilder<Api>> {
    if matches!(route, Route::Direct) && config.proxy_url.is_some() {
        // says that proxies are not supported
        kube::Client::try_from(config.clone())?;
    }
    let way = Way::of(route);
    let connect_timeout = match way {
        Way::Direct => Some(CONNECT),
        Way::Ssh { .. } => config.connect_timeout,
    };
    let connector = tower::service_fn(move |uri: Uri| way.clone().open(uri));
    let mut connector =
        TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(
            config
                .default_retry
                .then(|| RetryLayer::new(RetryPolicy::server_retry())),
        )
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    let service = BoxService::new(Patience::with(service));
    Ok(ClientBuilder::new(service, config.default_namespace))
}

/// What answers requests to an API server.
pub type Api = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// TCP and TLS to a server that is reached directly.
const CONNECT: Duration = Duration::from_secs(10);
/// Silence on a TCP connection before the peer is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long sent bytes, or that question, may go without an answer before the connection is closed.
const PEER_GONE: Duration = Duration::from_secs(20);

/// How a connection is opened.
#[derive(Clone)]
enum Way {
    Direct,
    Ssh {
        pool: Pool,
        target: Arc<Target>,
        fixed: Option<(Arc<str>, u16)>,
    },
}

impl Way {
    fn of(route: Route) -> Self {
        let (pool, target, fixed) = match route {
            Route::Direct => return Self::Direct,
            Route::Through { pool, target } => (pool, target, None),
            Route::Tunnel {
                pool,
                target,
                host,
                port,
            } => (pool, target, Some((host.into(), port))),
        };
        Self::Ssh {
            pool,
            target: Arc::new(target),
            fixed,
        }
    }

    async fn open(self, uri: Uri) -> Result<TokioIo<Box<dyn ByteStream>>, BoxError> {
        let stream: Box<dyn ByteStream> = match self {
            Self::Direct => Box::new(direct(uri).await?),
            Self::Ssh {
                pool,
                target,
                fixed,
            } => {
                let (host, port) = match &fixed {
                    Some((host, port)) => (&**host, *port),
                    None => address_of(&uri)?,
                };
                let session = pool.session(&target).await?;
                Box::new(session.open_tcp(host, port).await?)
            }
        };
        Ok(TokioIo::new(stream))
    }
}

async fn direct(uri: Uri) -> Result<TcpStream, BoxError> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(PEER_GONE / 4));
    connector.set_tcp_user_timeout(Some(PEER_GONE));
    Ok(connector.oneshot(uri).await?.into_inner())
}

/// Host and port of `uri`; the port is the scheme's where it names none.
fn address_of(uri: &Uri) -> io::Result<(&str, u16)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("no host in {uri}"));
    let host = uri.host().ok_or_else(invalid)?;
    let scheme_port = if uri.scheme_str() == Some("http") {
        80
    } else {
        443
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host, uri.port_u16().unwrap_or(scheme_port)))
}

impl Connection for Box<dyn ByteStream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_without_port_has_its_schemes() {
        let address = |uri: &'static str| {
            let uri = Uri::from_static(uri);
            address_of(&uri)
                .map(|(host, port)| (host.to_string(), port))
                .unwrap()
        };
        assert_eq!(
            address("https://10.0.0.1:6443/api"),
            ("10.0.0.1".into(), 6443)
        );
        assert_eq!(
            address("https://example.test"),
            ("example.test".into(), 443)
        );
        assert_eq!(address("http://example.test"), ("example.test".into(), 80));
        assert_eq!(address("https://[fd00::1]:6443"), ("fd00::1".into(), 6443));
    }
}
