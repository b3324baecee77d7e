//! A TCP tunnel through an SSH connection (`direct-tcpip`), as a byte stream.
//!
//! russh's channel stream applies the back-pressure of its bounded buffer to the whole connection: one
//! paused reader stops all other commands and keep-alive, and two nested connections can
//! deadlock. So a small task drains the channel at once, and only the tunnel whose reader
//! is too slow fails. It also distinguishes a lost connection from an orderly end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Limit of unread bytes of one tunnel.
const BACKLOG: usize = 16 << 20;

enum Piece {
    Data(Bytes),
    End,
    Failed(io::ErrorKind, &'static str),
}

const FELL_BEHIND: Piece = Piece::Failed(
    io::ErrorKind::TimedOut,
    "the reader of the tunnel is too slow",
);
const LOST: Piece = Piece::Failed(
    io::ErrorKind::ConnectionReset,
    "the SSH connection was lost",
);

/// A TCP connection from a host, tunnelled through SSH. Dropping it closes it.
///
/// It keeps the SSH connection open, even after the session is dropped.
pub struct TcpTunnel {
    pieces: UnboundedReceiver<Piece>,
    waiting: Arc<AtomicUsize>,
    current: Bytes,
    ended: bool,
    writer: Pin<Box<dyn AsyncWrite + Send>>,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl TcpTunnel {
    pub(super) fn new(channel: Channel<Msg>) -> Self {
        let (read, write) = channel.split();
        let writer = Box::pin(write.make_writer());
        let (sender, pieces) = unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let gone = CancellationToken::new();
        let gone_future = Box::pin(gone.clone().cancelled_owned());
        tokio::spawn(drain(read, write, sender, Arc::clone(&waiting), gone));
        Self {
            pieces,
            waiting,
            current: Bytes::new(),
            ended: false,
            writer,
            gone: gone_future,
        }
    }
}

async fn drain(
    mut read: ChannelReadHalf,
    write: ChannelWriteHalf<Msg>,
    sender: UnboundedSender<Piece>,
    waiting: Arc<AtomicUsize>,
    gone: CancellationToken,
) {
    let _gone = gone.drop_guard();
    loop {
        let message = tokio::select! {
            message = read.wait() => message,
            () = sender.closed() => break,
        };
        let (piece, last) = match message {
            Some(ChannelMsg::Data { data }) => {
                let backlog = waiting.fetch_add(data.len(), Ordering::Relaxed) + data.len();
                if backlog > BACKLOG {
                    (FELL_BEHIND, true)
                } else {
                    (Piece::Data(data), false)
                }
            }
            Some(ChannelMsg::Eof) => (Piece::End, false),
            Some(ChannelMsg::Close) => (Piece::End, true),
            Some(_) => continue,
            None => (LOST, true),
        };
        let _ = sender.send(piece);
        if last {
            break;
        }
    }
    let _ = write.close().await;
}

impl AsyncRead for TcpTunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.current.is_empty() && !self.ended {
            match ready!(self.pieces.poll_recv(cx)) {
                Some(Piece::Data(data)) => self.current = data,
                Some(Piece::End) | None => self.ended = true,
                Some(Piece::Failed(kind, why)) => {
                    self.ended = true;
                    return Poll::Ready(Err(io::Error::new(kind, why)));
                }
            }
        }
        let length = buf.remaining().min(self.current.len());
        buf.put_slice(&self.current[..length]);
        self.current.advance(length);
        self.waiting.fetch_sub(length, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl TcpTunnel {
    /// A write to a closed channel would wait for a window that never opens.
    fn check_open(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.gone.as_mut().poll(cx).is_ready() {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the tunnel is closed",
            ));
        }
        Ok(())
    }
}

impl AsyncWrite for TcpTunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_open(cx)?;
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.writer.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.writer.as_mut().poll_shutdown(cx)
    }
}
