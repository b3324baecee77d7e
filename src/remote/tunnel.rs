//! A client of a cluster's API, directly or through the SSH connection of a host.
//!
//! TLS and identity are those of the `kube::Config` on every route: SSH only transports bytes and
//! does not authenticate to the API server.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt, DynBody};
use tokio::net::TcpStream;
use tower::retry::RetryLayer;
use tower::util::{BoxService, ServiceExt as _};
use tower::{BoxError, ServiceBuilder};

use super::limits::Share;
use super::patience::Patience;
use super::transport::ByteStream;
use super::{Pool, Reach, RunError, Target};

/// The route to an API server.
///
/// A route through SSH has a target and the pool, not a session: the next request replaces a lost
/// connection, and the client remains usable.
#[derive(Clone)]
pub enum Route {
    /// Directly, to the addresses that this allows.
    Direct(Reach),
    /// Through one of several hosts, to the address of the `kube::Config`.
    Through {
        /// The pool of connections.
        pool: Pool,
        /// The hosts.
        targets: Arc<Targets>,
    },
    /// Through a host, to this address instead of the `kube::Config`'s; certificates are still
    /// verified for the latter (or its `tls_server_name`).
    Tunnel {
        /// The pool of connections.
        pool: Pool,
        /// The host.
        target: Target,
        /// Address that the host resolves, such as `127.0.0.1`.
        host: String,
        /// Port of the API.
        port: u16,
    },
}

/// Hosts through one of which connections go. One that does not open a connection is passed over,
/// by those after it as well. They can be replaced while they are used.
#[derive(Debug)]
pub struct Targets {
    all: RwLock<Arc<[Target]>>,
    /// Which of them is tried first.
    first: AtomicUsize,
}

impl Targets {
    /// These hosts.
    pub fn new(targets: Vec<Target>) -> Self {
        Self {
            all: RwLock::new(targets.into()),
            first: AtomicUsize::new(0),
        }
    }

    /// Other hosts instead. The one that is tried first stays so if it is among them.
    pub fn replace(&self, targets: Vec<Target>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let first = all
            .get(self.first.load(Ordering::Relaxed))
            .map(Target::place);
        let at = targets
            .iter()
            .position(|target| Some(target.place()) == first);
        self.first.store(at.unwrap_or_default(), Ordering::Relaxed);
        *all = targets.into();
    }

    /// Opens a connection to this address through the first of them that does.
    async fn open(
        &self,
        pool: &Pool,
        (host, port): (&str, u16),
    ) -> Result<Box<dyn ByteStream>, BoxError> {
        let all = Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner));
        let begin = self.first.load(Ordering::Relaxed);
        let mut refused: Option<BoxError> = None;
        for turn in 0..all.len() {
            let at = (begin + turn) % all.len();
            let mut attempt = Attempt {
                first: &self.first,
                at,
                next: (at + 1) % all.len(),
                is_open: false,
            };
            let opened = async {
                let session = pool.session(&all[at]).await?;
                Ok::<_, BoxError>(session.open_tcp(host, port).await?)
            };
            match opened.await {
                Ok(stream) => {
                    attempt.is_open = true;
                    self.first.store(at, Ordering::Relaxed);
                    return Ok(Box::new(stream));
                }
                // what a host says of the address tells more than that another one is silent
                Err(error) if refused.as_ref().is_none_or(|told| !is_closed(told)) => {
                    refused = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or_else(|| "no host leads to it".into()))
    }
}

fn is_closed(error: &BoxError) -> bool {
    let told = error.downcast_ref::<RunError>();
    told.is_some_and(RunError::is_closed_port)
}

/// One host is tried. When that fails, or the caller gives up, another one comes first.
struct Attempt<'a> {
    first: &'a AtomicUsize,
    at: usize,
    next: usize,
    is_open: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            let order = Ordering::Relaxed;
            let (at, next) = (self.at, self.next);
            self.first.compare_exchange(at, next, order, order).ok();
        }
    }
}

/// A client for `config` over `route`, of a server of a Cluster in `namespace` that is not the
/// manager's own: what it sends has the [limits](super::limits). It connects with the first
/// request. Each request has a time limit, and a connection to a peer that does not answer is
/// closed.
///
/// Errors of the route are errors of requests, with a [`ConnectError`](super::ConnectError) or
/// [`RunError`](super::RunError) as source.
///
/// # Errors
/// `config` cannot be used.
pub fn kube_client(
    config: kube::Config,
    route: Route,
    namespace: &str,
) -> kube::Result<kube::Client> {
    let share = Share::of(&config.cluster_url, namespace);
    Ok(builder(config, route, Some(share))?.build())
}

/// The builder of a client of the management API, for callers that wrap each request. Its answers
/// have time limits only.
///
/// # Errors
/// `config` cannot be used.
pub fn kube_builder(config: kube::Config, route: Route) -> kube::Result<ClientBuilder<Api>> {
    builder(config, route, None)
}

fn builder(
    config: kube::Config,
    route: Route,
    share: Option<Arc<Share>>,
) -> kube::Result<ClientBuilder<Api>> {
    if matches!(route, Route::Direct(_)) && config.proxy_url.is_some() {
        // fails if the configuration has a proxy, which is not supported
        kube::Client::try_from(config.clone())?;
    }
    let way = Way::of(route);
    let connect_timeout = match way {
        Way::Direct(_) => Some(CONNECT),
        Way::Ssh { .. } => config.connect_timeout,
    };
    let connector = tower::service_fn(move |uri: Uri| way.clone().open(uri));
    let mut connector =
        TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    // without the timer, what a burst opened stays open until the server closes it, minutes later
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_timer(TokioTimer::new())
        .build(connector);
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
    let service = BoxService::new(Patience::with(service, share));
    Ok(ClientBuilder::new(service, config.default_namespace))
}

/// The service that sends requests to an API server.
pub type Api = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Time limit of TCP and TLS to a server on the direct route.
const CONNECT: Duration = Duration::from_secs(10);
/// Idle time of a TCP connection before a keep-alive probe.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long sent bytes, or a probe, may be unacknowledged before the connection is closed.
const PEER_GONE: Duration = Duration::from_secs(20);

/// How long an idle connection is kept: longer than the interval between two probes of a cluster,
/// so that they share one. It is closed within twice this time.
const IDLE: Duration = Duration::from_secs(20);

/// Opens a connection.
#[derive(Clone)]
enum Way {
    Direct(Reach),
    Ssh {
        pool: Pool,
        targets: Arc<Targets>,
        fixed: Option<(Arc<str>, u16)>,
    },
}

impl Way {
    fn of(route: Route) -> Self {
        let (pool, targets, fixed) = match route {
            Route::Direct(reach) => return Self::Direct(reach),
            Route::Through { pool, targets } => (pool, targets, None),
            Route::Tunnel {
                pool,
                target,
                host,
                port,
            } => (
                pool,
                Arc::new(Targets::new(vec![target])),
                Some((host.into(), port)),
            ),
        };
        Self::Ssh {
            pool,
            targets,
            fixed,
        }
    }

    async fn open(self, uri: Uri) -> Result<TokioIo<Box<dyn ByteStream>>, BoxError> {
        let stream: Box<dyn ByteStream> = match self {
            Self::Direct(reach) => Box::new(direct(uri, &reach).await?),
            Self::Ssh {
                pool,
                targets,
                fixed,
            } => {
                let address = match &fixed {
                    Some((host, port)) => (&**host, *port),
                    None => address_of(&uri)?,
                };
                targets.open(&pool, address).await?
            }
        };
        Ok(TokioIo::new(stream))
    }
}

/// Connects to one of the addresses that were checked: the connector does not resolve the name
/// again.
async fn direct(uri: Uri, reach: &Reach) -> Result<TcpStream, BoxError> {
    let (host, port) = address_of(&uri)?;
    let checked = reach.resolve(host, port).await?;
    let resolver = tower::service_fn(move |_: Name| {
        let checked = checked.clone();
        async move { Ok::<_, io::Error>(checked.into_iter()) }
    });
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(PEER_GONE / 4));
    connector.set_tcp_user_timeout(Some(PEER_GONE));
    Ok(connector.oneshot(uri).await?.into_inner())
}

/// Host and port of `uri`; by default the port of the scheme.
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

    #[tokio::test]
    async fn a_direct_connection_goes_to_no_address_that_is_out_of_reach() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"] {
            let uri: Uri = format!("https://{host}:{port}").parse().unwrap();
            let refused = direct(uri.clone(), &Reach::given(false)).await.unwrap_err();
            assert!(
                refused.to_string().contains("is refused"),
                "{host}: {refused}"
            );
            assert!(listener.accept().is_err(), "{host}");
            assert!(direct(uri, &Reach::given(true)).await.is_ok(), "{host}");
            listener.set_nonblocking(false).unwrap();
            listener.accept().unwrap();
            listener.set_nonblocking(true).unwrap();
        }
    }
}
