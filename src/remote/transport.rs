//! The byte stream of an SSH connection, which can be abandoned safely.
//!
//! russh runs a connection in its own task and closes one to a silent peer only when a
//! keep-alive is due: not before login, and not while a write is stuck. Both would leak the task,
//! its socket, and every waiting caller.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The transport of SSH: a TCP connection, or a tunnel through the jump host.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A byte stream that fails when it is cancelled or a write is stuck.
pub(super) struct Transport {
    inner: Box<dyn ByteStream>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Transport {
    /// Wraps `inner`. Cancelling `cut` ends it, and with it russh's task; so does a write that
    /// makes no progress within `patience`.
    pub(super) fn new(
        inner: Box<dyn ByteStream>,
        cut: CancellationToken,
        patience: Duration,
    ) -> Self {
        Self {
            inner,
            cut: Box::pin(cut.cancelled_owned()),
            patience,
            stuck: None,
        }
    }

    fn check_cut(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.cut.as_mut().poll(cx).is_ready() {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "abandoned",
            ));
        }
        Ok(())
    }

    fn check_stuck<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stuck = None;
            return progress;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(patience)));
        if stuck.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer accepts no data",
            )));
        }
        self.check_cut(cx)?;
        Poll::Pending
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_cut(cx)?;
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.check_stuck(cx, progress)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_flush(cx);
        self.check_stuck(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.check_stuck(cx, progress)
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
