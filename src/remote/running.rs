//! A running command: its slot, and its end when its caller drops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use russh::ChannelWriteHalf;
use russh::client::Msg;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

/// Commands of one connection: the running ones, and the abandoned ones.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) running: AtomicUsize,
    /// Abandoned commands: they may still run on the host, and count against `MaxSessions`.
    pub(super) abandoned: AtomicUsize,
}

/// Counts a command as running, keeps its slot, and closes its channel if it is dropped early.
pub(super) struct Running {
    _slot: OwnedSemaphorePermit,
    counts: Arc<Counts>,
    write: Arc<ChannelWriteHalf<Msg>>,
    ended: bool,
}

impl Running {
    /// Wraps a channel and its slot.
    pub(super) fn new(
        slot: OwnedSemaphorePermit,
        counts: Arc<Counts>,
        write: ChannelWriteHalf<Msg>,
    ) -> Self {
        counts.running.fetch_add(1, Ordering::AcqRel);
        Self {
            _slot: slot,
            counts,
            write: Arc::new(write),
            ended: false,
        }
    }

    /// The channel to write to.
    pub(super) fn channel(&self) -> Arc<ChannelWriteHalf<Msg>> {
        Arc::clone(&self.write)
    }

    /// Records that the server closed the channel or the connection was lost, so that there is
    /// nothing to close.
    pub(super) fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::AcqRel);
        if self.ended {
            return;
        }
        self.counts.abandoned.fetch_add(1, Ordering::AcqRel);
        if let Ok(runtime) = Handle::try_current() {
            let write = Arc::clone(&self.write);
            runtime.spawn(async move { write.close().await });
        }
    }
}
