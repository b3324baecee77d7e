//! Time limits of requests to an API server. kube's client waits forever for a server that accepts a request and does
//! not answer, or for a network that drops packets.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::client::{Body, DynBody};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tower::{BoxError, Service};

/// Time limit of a request, up to the last byte of its answer, or the first byte of a watch. An API server's limit for
/// webhooks is 30 s.
const CALL: Duration = Duration::from_secs(40);
/// Time limit between two pieces of a watch. A server ends each watch after the five minutes that kube requests, and
/// usually sends a bookmark every minute.
const SILENCE: Duration = Duration::from_secs(330);

/// The time limit was exceeded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Silent(Duration);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.0)
    }
}

impl std::error::Error for Silent {}

/// A service with time limits for an API server.
pub(super) struct Patience<S> {
    service: S,
    call: Duration,
    silence: Duration,
}

impl<S> Patience<S> {
    /// Adds the time limits to `service`.
    pub(super) fn with(service: S) -> Self {
        Self {
            service,
            call: CALL,
            silence: SILENCE,
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
        let answer = self.service.call(request);
        async move {
            let end = Instant::now() + call;
            let answer = timeout_at(end, answer).await.map_err(|_| Silent(call))?;
            let body = |inner| Patient {
                inner,
                limit: silence.unwrap_or(call),
                is_watch: silence.is_some(),
                end: Box::pin(sleep_until(silence.map_or(end, |s| Instant::now() + s))),
            };
            let answer = answer.map_err(Into::into)?;
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

/// The body of an answer with the deadline `end`, which each piece of a watch extends by `limit`.
struct Patient<B> {
    inner: B,
    limit: Duration,
    is_watch: bool,
    end: Pin<Box<Sleep>>,
}

impl<B> HttpBody for Patient<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            if self.is_watch {
                let end = Instant::now() + self.limit;
                self.end.as_mut().reset(end);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.end.as_mut().poll(cx));
        Poll::Ready(Some(Err(Silent(self.limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
