//! Channel between the poll and the event streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::diff::Snapshot;

/// Result of the latest poll.
#[derive(Clone, Debug, Default)]
pub(super) enum Look {
    /// No poll is finished yet.
    #[default]
    None,
    /// The snapshot.
    Seen(Arc<Snapshot>),
    /// The poll failed; its number and the cause.
    Failed(u64, String),
}

impl Look {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Seen(snapshot) => snapshot.number,
            Self::Failed(number, _) => *number,
        }
    }
}

/// Channel between the poll and the event streams.
pub struct Hub {
    looks: watch::Sender<Look>,
    begun: AtomicU64,
    nudged: Notify,
    closed: CancellationToken,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            looks: watch::Sender::new(Look::None),
            begun: AtomicU64::new(0),
            nudged: Notify::new(),
            closed: CancellationToken::new(),
        }
    }
}

impl Hub {
    /// Requests a poll soon, after a change.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Ends the poll and all event streams.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Subscribes to polls, and returns the number of the last one that has begun: its snapshot may
    /// be stale.
    pub(super) fn join(&self) -> (watch::Receiver<Look>, u64) {
        let looks = self.looks.subscribe();
        let begun = self.begun.load(Ordering::SeqCst);
        self.nudge();
        (looks, begun)
    }

    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn tell(&self, look: Look) -> Look {
        self.looks.send_replace(look)
    }

    pub(super) fn last(&self) -> Look {
        self.looks.borrow().clone()
    }

    pub(super) fn is_heard(&self) -> bool {
        self.looks.receiver_count() > 0
    }

    pub(super) async fn nudged(&self) {
        self.nudged.notified().await;
    }

    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}
