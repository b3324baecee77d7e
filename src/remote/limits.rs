//! The limits of what a server may answer that belongs to somebody else: the API server of a
//! workload cluster, etcd, a component. All of them share one manager, so no answer may take the
//! memory or the time of the others. docs/security.md has the table.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use http::{Response, Uri};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::BoxError;

use super::Places;

/// Time limit of a request, up to the last byte of its answer, or the first byte of a watch. An API
/// server's limit for webhooks is 30 s.
pub(super) const CALL: Duration = Duration::from_secs(40);
/// Time limit between two lines of a watch. A server ends each watch after the five minutes that
/// kube requests, and usually sends a bookmark every minute.
pub(super) const SILENCE: Duration = Duration::from_secs(330);
/// Bytes of one answer, so also of one page of a list: 500 Nodes of 32 KiB.
pub(super) const ANSWER: usize = 16 << 20;
/// Bytes of one line of a watch. etcd stores no object of more than 1.5 MiB.
pub(super) const LINE: usize = 4 << 20;
/// Bytes of one watch, which the server ends after five minutes.
pub(super) const WATCH: usize = 512 << 20;
/// Objects in arrays, of one answer or line: as a decoded Node or container, three bytes become a
/// thousand.
pub(super) const OBJECTS: usize = 64 << 10;
/// Values in arrays and objects, of one answer or line.
pub(super) const VALUES: usize = 1 << 20;
/// Headers of one answer. That is hyper's own limit, as are 400 KiB of them.
const HEADERS: usize = 100;
/// Pages of one list.
pub(super) const PAGES: usize = 60;
/// Time limit of all pages of the Nodes that a pass reads, its turns included.
pub const LIST: Duration = Duration::from_mins(1);
/// Nodes of one workload cluster. Kubernetes supports 5,000.
pub const NODES: usize = 20_000;
/// Bytes of what is kept of all Nodes of one workload cluster.
pub const VIEWS: usize = 16 << 20;
/// Bytes of what is kept of all Nodes of all workload clusters. Above that, a namespace may have an
/// equal part of it; in one that has more, a cluster that has more than an equal part of that is
/// not read further, and nothing is kept of its Nodes. A Node of kubeadm takes about 2,390 bytes:
/// of 20 clusters, each may have 1,400 Nodes at any time, and each that is alone in its namespace
/// whatever the others have.
pub const ALL_VIEWS: usize = 64 << 20;

/// An answer of more than this needs a turn. All clients together have [`TURNS`], in the order in
/// which they asked. Each has one at most, and of each namespace one client at most stands in the
/// queue: however many servers of a namespace use their turns badly, the clients of another one
/// wait for [`TURN`] and those of the other namespaces before them.
///
/// A turn ends with the last byte of its answer, before kube decodes that. It does so in the same
/// poll, and who takes a page of Nodes makes views of all of it before it waits for anything again:
/// so no more answers are decoded at once than the runtime has threads, one for each processor.
/// kube copies the body into a text of its own, so the turn cannot go along with it.
pub(super) const SMALL: usize = 512 << 10;
/// Large answers that are read at once.
const TURNS: usize = 4;
/// Time limit of a turn, in which the rest of the answer has to come.
pub(super) const TURN: Duration = Duration::from_secs(20);
/// Time limit of the wait for a turn.
pub(super) const WAIT: Duration = Duration::from_mins(2);

/// The queue for turns.
struct Queue {
    large: Arc<Semaphore>,
    /// The place of each namespace in it.
    places: Places,
}

static QUEUE: LazyLock<Queue> = LazyLock::new(Queue::new);

impl Queue {
    fn new() -> Self {
        Self {
            large: Arc::new(Semaphore::new(TURNS)),
            places: Places::new(1),
        }
    }
}

/// What a server exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    server: Arc<str>,
    what: &'static str,
    limit: usize,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server,
            what,
            limit,
        } = self;
        write!(f, "the server {server} sent more than ")?;
        match what.strip_prefix("bytes ") {
            Some(what) => write!(f, "{} MiB {what}", limit >> 20)?,
            None => write!(f, "{limit} {what}")?,
        }
        f.write_str(
            "; it is not read further: docs/troubleshooting.md#limits-of-answers has a remedy for each limit",
        )
    }
}

impl std::error::Error for Excess {}

/// A server sends its clients elsewhere.
#[derive(Debug)]
pub struct Redirect(Arc<str>);

impl Redirect {
    /// Of the server with this address.
    pub fn of(server: Arc<str>) -> Self {
        Self(server)
    }
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(server) = self;
        write!(
            f,
            "the server {server} answers with a redirect, which is not followed: an API server does not, so a proxy or another \
service answers there"
        )
    }
}

impl std::error::Error for Redirect {}

/// Whether hyper gave up the head of an answer as too large.
fn is_large_head(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    chain.any(|error| {
        let http = error.downcast_ref::<hyper::Error>();
        http.is_some_and(hyper::Error::is_parse_too_large)
    })
}

/// The turns of one client, so of one server.
pub(super) struct Share {
    pub(super) server: Arc<str>,
    own: Arc<Semaphore>,
    /// Shared by those of a namespace.
    place: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Consecutive pages of a list, by path.
    pages: Mutex<HashMap<String, usize>>,
}

/// The right to read a large answer, up to its last byte: see [`SMALL`].
pub(super) struct Turn {
    _own: OwnedSemaphorePermit,
    _large: OwnedSemaphorePermit,
}

impl Share {
    /// That of the server at `url`, of a Cluster in this namespace.
    pub(super) fn of(url: &Uri, namespace: &str) -> Arc<Self> {
        Self::among(&QUEUE, url, namespace)
    }

    fn among(queue: &Queue, url: &Uri, namespace: &str) -> Arc<Self> {
        Arc::new(Self {
            server: url.authority().map_or("", |at| at.as_str()).into(),
            own: Arc::new(Semaphore::new(1)),
            place: queue.places.of(namespace),
            large: Arc::clone(&queue.large),
            pages: Mutex::default(),
        })
    }

    /// Waits for a turn; first for the client's own, and then for the place of its namespace in the
    /// queue of all, which the next one of the namespace takes when this one has its turn.
    pub(super) async fn turn(self: Arc<Self>) -> Option<Turn> {
        let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
        let _place = self.place.acquire().await.ok()?;
        let large = Arc::clone(&self.large).acquire_owned().await.ok()?;
        Some(Turn {
            _own: own,
            _large: large,
        })
    }

    /// Counts the page that is requested.
    pub(super) fn page(&self, uri: &Uri) -> Result<(), Excess> {
        let query = uri.query().unwrap_or_default();
        let is_next = query.split('&').any(|pair| pair.starts_with("continue="));
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_next {
            pages.remove(uri.path());
            return Ok(());
        }
        // the first one was requested without a token
        let count = pages.entry(uri.path().to_owned()).or_insert(1);
        *count += 1;
        if *count > PAGES {
            pages.remove(uri.path());
            return Err(self.excess("pages of one list", PAGES));
        }
        Ok(())
    }

    /// Judges what came before the body. A redirect is not followed: it may lead anywhere, and in a
    /// circle.
    pub(super) fn judge<B>(
        &self,
        answer: Result<Response<B>, BoxError>,
    ) -> Result<Response<B>, BoxError> {
        match answer {
            Ok(answer) if answer.status().is_redirection() => {
                Err(Redirect::of(Arc::clone(&self.server)).into())
            }
            Err(error) if is_large_head(&*error) => Err(self
                .excess("headers, or 400 KiB of them, in one answer", HEADERS)
                .into()),
            other => other,
        }
    }

    pub(super) fn excess(&self, what: &'static str, limit: usize) -> Excess {
        Excess {
            server: Arc::clone(&self.server),
            what,
            limit,
        }
    }
}

/// What came of an answer.
pub(super) struct Count {
    is_watch: bool,
    total: usize,
    /// Of the line of a watch, or of the answer.
    bytes: usize,
    objects: usize,
    values: usize,
    last: u8,
    /// Lines of a watch that are complete.
    pub(super) lines: usize,
}

impl Count {
    pub(super) fn new(is_watch: bool) -> Self {
        Self {
            is_watch,
            total: 0,
            bytes: 0,
            objects: 0,
            values: 0,
            last: 0,
            lines: 0,
        }
    }

    /// Counts a piece, and tells the limit that it exceeds.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), (&'static str, usize)> {
        self.total = self.total.saturating_add(piece.len());
        if self.is_watch && self.total > WATCH {
            return Err(("bytes in one watch", WATCH));
        }
        for byte in piece {
            self.byte(*byte);
            self.within()?;
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) {
        if byte == b'\n' && self.is_watch {
            (self.bytes, self.objects, self.values, self.last) = (0, 0, 0, 0);
            self.lines += 1;
            return;
        }
        self.bytes += 1;
        if matches!(byte, b',' | b'[') {
            self.values += 1;
        }
        // valid JSON has `,{` and `[{` in arrays only; those in strings are counted as well, which
        // is harmless
        if byte == b'{' && matches!(self.last, b',' | b'[') {
            self.objects += 1;
        }
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
    }

    fn within(&self) -> Result<(), (&'static str, usize)> {
        let (what, bytes) = if self.is_watch {
            ("bytes in one line of a watch", LINE)
        } else {
            ("bytes in one answer", ANSWER)
        };
        if self.bytes > bytes {
            Err((what, bytes))
        } else if self.objects > OBJECTS {
            Err(("objects in one answer", OBJECTS))
        } else if self.values > VALUES {
            Err(("values in one answer", VALUES))
        } else {
            Ok(())
        }
    }

    /// Whether the rest is read only in a turn.
    pub(super) fn is_large(&self) -> bool {
        self.bytes > SMALL || self.objects > OBJECTS / 16 || self.values > VALUES / 16
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
