//! Between a manager and its API server: events of watches come late, watches end, lists are old by the time they come, and at a write
//! all is cut off. No list is older than its request: the manager asks for the newest, and an API server keeps that promise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::Response;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::dice::Dice;

/// The largest request or list.
const MOST: usize = 16 << 20;
/// Of so many events of a watch one ends it.
const EVENTS: usize = 40;
/// The longest delays of an event, and of a list.
const EVENT_MILLISECONDS: usize = 400;
const LIST_MILLISECONDS: usize = 1500;

/// What is lost at a cut: the write does not reach the API server, or its answer does not reach the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    Request,
    Answer,
}

pub struct Proxy {
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    api: reqwest::Client,
    url: String,
    state: Mutex<Way>,
    is_cut: watch::Sender<bool>,
}

/// What is done to what passes.
struct Way {
    /// Without them all passes as it is.
    dice: Option<Dice>,
    writes: usize,
    cut: Option<(usize, Lost)>,
}

impl Proxy {
    /// To the API server at `url`, whose certificate is of the CA `authority` (PEM).
    pub async fn to(url: &str, authority: &[u8]) -> Self {
        let authority = reqwest::Certificate::from_pem(authority).expect("a CA");
        let api = reqwest::Client::builder().tls_certs_only([authority]);
        let shared = Arc::new(Shared {
            api: api.build().expect("a client"),
            url: url.to_owned(),
            state: Mutex::new(Way {
                dice: None,
                writes: 0,
                cut: None,
            }),
            is_cut: watch::Sender::new(false),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().fallback(pass).with_state(shared.clone());
        let serve = async move { axum::serve(listener, router).await.expect("a server") };
        Self {
            url: format!("http://{address}"),
            shared,
            server: tokio::spawn(serve),
        }
    }

    /// From now on these dice decide what comes late, and all is cut off at the write of this number, if there is one.
    pub fn perturb(&self, seed: u64, cut: Option<(usize, Lost)>) {
        let mut way = self.shared.way();
        (way.dice, way.writes, way.cut) = (Some(Dice::new(seed)), 0, cut);
    }

    /// Writes since.
    pub fn writes(&self) -> usize {
        self.shared.way().writes
    }

    /// Waits until all is cut off.
    pub async fn cut(&self) {
        let mut is_cut = self.shared.is_cut.subscribe();
        is_cut.wait_for(|is_cut| *is_cut).await.expect("a proxy");
    }

    /// For another manager all passes again.
    pub fn mend(&self) {
        self.shared.way().cut = None;
        self.shared.is_cut.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn way(&self) -> MutexGuard<'_, Way> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is lost with this write, if it is the one.
    fn lost(&self) -> Option<Lost> {
        let mut way = self.way();
        way.writes += 1;
        let writes = way.writes;
        way.cut
            .filter(|(at, _)| *at == writes)
            .map(|(_, lost)| lost)
    }

    async fn ends(&self) -> ! {
        self.is_cut.send_replace(true);
        std::future::pending().await
    }

    async fn waits(&self, longest: usize) {
        if let Some(milliseconds) = self.roll(longest) {
            let milliseconds = u64::try_from(milliseconds).expect("few");
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        }
    }

    fn roll(&self, sides: usize) -> Option<usize> {
        self.way().dice.as_mut().map(|dice| dice.roll(sides))
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if *shared.is_cut.borrow() {
        return std::future::pending().await;
    }
    let path = request.uri().to_string();
    let counts = is_counted(request.method(), &path);
    let lost = counts.then(|| shared.lost()).flatten();
    if lost == Some(Lost::Request) {
        shared.ends().await;
    }
    let is_read = request.method() == Method::GET;
    let is_watch = is_read && path.contains("watch=true");
    let is_list = is_read && path.contains("limit=") && !is_watch && !path.contains("continue=");
    let (status, headers, body) = forward(&shared, request).await;
    if lost == Some(Lost::Answer) {
        body.collect::<Vec<_>>().await;
        shared.ends().await;
    }
    if is_list {
        let body = to_bytes(Body::from_stream(body), MOST).await;
        let body = body.expect("a list");
        shared.waits(LIST_MILLISECONDS).await;
        return answer(status, &headers, Body::from(body));
    }
    let body = if is_watch && status == StatusCode::OK {
        perturbed(shared, body)
    } else {
        body
    };
    answer(status, &headers, Body::from_stream(body))
}

/// Whether it is a write whose number means something: a Lease is renewed by the clock, and nothing waits for an Event.
fn is_counted(method: &Method, path: &str) -> bool {
    let is_write = !matches!(*method, Method::GET | Method::HEAD);
    is_write && !path.contains("/leases") && !path.contains("/events")
}

type Chunks = BoxStream<'static, Result<Bytes, reqwest::Error>>;

async fn forward(shared: &Shared, request: Request) -> (StatusCode, HeaderMap, Chunks) {
    let (parts, body) = request.into_parts();
    let url = format!("{}{}", shared.url, parts.uri);
    let body = to_bytes(body, MOST).await.expect("a request");
    let mut headers = parts.headers;
    for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(name);
    }
    let request = shared.api.request(parts.method, url);
    match request.headers(headers).body(body).send().await {
        Ok(answer) => {
            let (status, headers) = (answer.status(), answer.headers().clone());
            (status, headers, answer.bytes_stream().boxed())
        }
        Err(_) => (
            StatusCode::BAD_GATEWAY,
            HeaderMap::new(),
            stream::empty().boxed(),
        ),
    }
}

fn answer(status: StatusCode, headers: &HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kept: [HeaderName; 2] = [header::CONTENT_TYPE, header::RETRY_AFTER];
    for name in kept {
        if let Some(value) = headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// The lines of a watch, each after a while; the watch may end before one, which comes with the next watch.
fn perturbed(shared: Arc<Shared>, body: Chunks) -> Chunks {
    let lines = lines(body).then(move |line| {
        let shared = shared.clone();
        async move {
            let ends = shared.roll(EVENTS) == Some(0);
            shared.waits(EVENT_MILLISECONDS).await;
            line.map(|line| (!ends).then_some(line))
        }
    });
    let until_it_ends =
        |line: &Result<Option<Bytes>, _>| std::future::ready(!matches!(line, Ok(None)));
    let lines = lines.take_while(until_it_ends);
    lines
        .filter_map(|line| std::future::ready(line.transpose()))
        .boxed()
}

/// Whole lines, as they come.
fn lines(body: Chunks) -> impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static {
    let next = |(mut body, mut rest): (Chunks, Vec<u8>)| async move {
        loop {
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                return Some((Ok(Bytes::from(line)), (body, rest)));
            }
            match body.next().await? {
                Ok(more) => rest.extend_from_slice(&more),
                Err(error) => return Some((Err(error), (body, rest))),
            }
        }
    };
    stream::unfold((body, Vec::new()), next)
}
