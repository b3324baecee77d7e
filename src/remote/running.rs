//! A command under way: its slot, and what becomes of it when its caller goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use russh::client::Msg;
use russh::{ChannelWriteHalf, Sig};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

/// Counts a command as running, holds its slot, and ends it on the host when dropped early.
pub(super) struct Running {
    _slot: OwnedSemaphorePermit,
    count: Arc<AtomicUsize>,
    write: Option<Arc<ChannelWriteHalf<Msg>>>,
}

impl Running {
    pub(super) fn new(slot: OwnedSemaphorePermit, count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self {
            _slot: slot,
            count,
            write: None,
        }
    }

    /// Takes the channel into care.
    pub(super) fn own(&mut self, write: ChannelWriteHalf<Msg>) -> Arc<ChannelWriteHalf<Msg>> {
        let write = Arc::new(write);
        self.write = Some(Arc::clone(&write));
        write
    }

    /// The server closed the channel, or the connection is lost: nothing is left to end.
    pub(super) fn ended(&mut self) {
        self.write = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
        if let (Some(write), Ok(runtime)) = (self.write.take(), Handle::try_current()) {
            runtime.spawn(async move {
                let _ = write.signal(Sig::TERM).await;
                let _ = write.close().await;
            });
        }
    }
}
