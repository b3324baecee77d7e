//! Time limits of requests to an API server. kube's client waits forever for a server that accepts
//! a request and does not answer, or for a network that drops packets; and it reads whatever such a
//! server sends. [`limits`](super::limits) has the numbers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready as ready_with};
use http::{Request, Response, Uri};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::client::{Body, DynBody};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tower::{BoxError, Service};

use super::limits::{CALL, Count, SILENCE, Share, TURN, Turn, WAIT};

/// The time limit was exceeded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Silent {
    limit: Duration,
    server: Option<Arc<str>>,
}

impl Silent {
    fn new(limit: Duration, share: Option<&Arc<Share>>) -> Self {
        let server = share.map(|share| Arc::clone(&share.server));
        Self { limit, server }
    }
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.limit)?;
        let server = self.server.as_ref();
        server.map_or(Ok(()), |server| write!(f, " from the server {server}"))
    }
}

impl std::error::Error for Silent {}

/// A service with time limits for an API server.
pub(super) struct Patience<S> {
    service: S,
    call: Duration,
    silence: Duration,
    /// Of a server that may not send what it likes.
    share: Option<Arc<Share>>,
}

impl<S> Patience<S> {
    /// Adds the time limits to `service`, and those of what it may send if it has a share.
    pub(super) fn with(service: S, share: Option<Arc<Share>>) -> Self {
        Self {
            service,
            call: CALL,
            silence: SILENCE,
            share,
        }
    }
}

impl<S, B> Service<Request<Body>> for Patience<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Box<DynBody>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.service.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (call, silence) = (self.call, self.silence);
        let silence = is_watch(request.uri()).then_some(silence);
        let share = self.share.clone();
        if let Some(excess) = share.as_ref().and_then(|s| s.page(request.uri()).err()) {
            return ready_with(Err(excess.into())).boxed();
        }
        let answer = self.service.call(request);
        async move {
            let end = Instant::now() + call;
            let answer = timeout_at(end, answer).await;
            let answer = answer.map_err(|_| Silent::new(call, share.as_ref()))?;
            let answer = answer.map_err(Into::into);
            let answer = match &share {
                Some(share) => share.judge(answer)?,
                None => answer?,
            };
            let body = |inner| Patient {
                inner,
                limits: share.map(|share| Limits::of(share, silence.is_some())),
                limit: silence.unwrap_or(call),
                is_watch: silence.is_some(),
                end: Box::pin(sleep_until(silence.map_or(end, |s| Instant::now() + s))),
            };
            Ok(answer.map(|inner| Box::new(body(inner)) as Box<DynBody>))
        }
        .boxed()
    }
}

/// Whether the answer is a stream without an end, such as a watch.
fn is_watch(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query
        .split('&')
        .any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true"))
}

/// The body of an answer with the deadline `end`, which each line of a watch extends by `limit`.
struct Patient<B> {
    inner: B,
    limits: Option<Limits>,
    limit: Duration,
    is_watch: bool,
    end: Pin<Box<Sleep>>,
}

/// What may come of an answer.
struct Limits {
    share: Arc<Share>,
    count: Count,
    turn: Option<Turn>,
    waiting: Option<(BoxFuture<'static, Option<Turn>>, Frame<Bytes>)>,
}

impl Limits {
    fn of(share: Arc<Share>, is_watch: bool) -> Self {
        Self {
            share,
            count: Count::new(is_watch),
            turn: None,
            waiting: None,
        }
    }

    /// Counts a piece; whether it ends a line.
    fn add(&mut self, frame: &Frame<Bytes>) -> Result<bool, BoxError> {
        let Some(piece) = frame.data_ref() else {
            return Ok(false);
        };
        let lines = self.count.lines;
        let added = self.count.add(piece);
        added.map_err(|(what, limit)| self.share.excess(what, limit))?;
        Ok(self.count.lines > lines)
    }
}

impl<B> Patient<B> {
    fn silent(&self) -> Silent {
        let share = self.limits.as_ref().map(|limits| &limits.share);
        Silent::new(self.limit, share)
    }

    fn extend(&mut self, by: Duration) {
        self.limit = by;
        self.end.as_mut().reset(Instant::now() + by);
    }
}

impl<B> HttpBody for Patient<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        // an answer that always has another piece ready has to end as well
        if !this.is_watch && this.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(this.silent().into())));
        }
        let waiting = this.limits.as_mut().and_then(|l| l.waiting.take());
        if let Some((mut turn, frame)) = waiting {
            let Some(limits) = this.limits.as_mut() else {
                return Poll::Ready(Some(Ok(frame)));
            };
            let Poll::Ready(turn) = turn.as_mut().poll(cx) else {
                limits.waiting = Some((turn, frame));
                return Poll::Pending;
            };
            limits.turn = turn;
            this.extend(TURN);
            return Poll::Ready(Some(Ok(frame)));
        }
        let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(other) => {
                return Poll::Ready(other.map(|frame| frame.map_err(Into::into)));
            }
            Poll::Pending => {
                ready!(this.end.as_mut().poll(cx));
                return Poll::Ready(Some(Err(this.silent().into())));
            }
        };
        let mut is_line = true;
        if let Some(limits) = &mut this.limits {
            match limits.add(&frame) {
                Ok(ends) => is_line = ends,
                Err(excess) => return Poll::Ready(Some(Err(excess))),
            }
            if limits.turn.is_none() && !this.is_watch && limits.count.is_large() {
                limits.waiting = Some((Arc::clone(&limits.share).turn().boxed(), frame));
                this.extend(WAIT);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        if this.is_watch && is_line {
            this.extend(this.limit);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        let is_held = self.limits.as_ref().is_some_and(|l| l.waiting.is_some());
        !is_held && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
