//! A TCP tunnel through an SSH connection (`direct-tcpip`), as a byte stream.
//!
//! russh's channel stream applies the back-pressure of its bounded buffer to the whole connection:
//! one paused reader stops all other commands and keep-alive, and two nested connections can
//! deadlock. So a small task drains the channel at once, and only the tunnel whose reader is too
//! slow fails. It also distinguishes a lost connection from an orderly end.

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
/// What a piece takes beside its bytes: a server may send each byte alone.
const PIECE: usize = 64;

/// The unread bytes of a tunnel.
#[derive(Clone, Default)]
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Counts a piece of this length; whether there is room for it.
    fn add(&self, length: usize) -> bool {
        let bytes = length + PIECE;
        self.0.fetch_add(bytes, Ordering::Relaxed) + bytes <= BACKLOG
    }

    fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

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
    waiting: Waiting,
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
        let waiting = Waiting::default();
        let gone = CancellationToken::new();
        let gone_future = Box::pin(gone.clone().cancelled_owned());
        tokio::spawn(drain(read, write, sender, waiting.clone(), gone));
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
    waiting: Waiting,
    gone: CancellationToken,
) {
    let _gone = gone.drop_guard();
    loop {
        let message = tokio::select! {
            message = read.wait() => message,
            () = sender.closed() => break,
        };
        let (piece, last) = match message {
            Some(ChannelMsg::Data { data }) if data.is_empty() => continue,
            Some(ChannelMsg::Data { data }) => {
                if waiting.add(data.len()) {
                    (Piece::Data(data), false)
                } else {
                    (FELL_BEHIND, true)
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
                Some(Piece::Data(data)) => {
                    self.waiting.remove(PIECE);
                    self.current = data;
                }
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
        self.waiting.remove(length);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_take_more_than_their_bytes() {
        let waiting = Waiting::default();
        let admitted = (0..=BACKLOG).take_while(|_| waiting.add(1)).count();
        assert_eq!(admitted, BACKLOG / (1 + PIECE));
        let waiting = Waiting::default();
        assert!(waiting.add(BACKLOG - PIECE));
        assert!(!waiting.add(1));
        waiting.remove(BACKLOG + PIECE + 1);
        assert!(waiting.add(1), "what is read makes room");
    }
}
