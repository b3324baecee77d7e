//! One event stream: first all objects, then the changes since the last sent snapshot.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::Stream;
use futures::stream::unfold;
use tokio::sync::watch;

use super::diff::{Change, Snapshot, diff};
use super::hub::Look;
use crate::app::App;

/// An event of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// An object was added, changed or deleted.
    Change(Change),
    /// The initial list is complete.
    Synced,
}

/// Why a stream cannot start: libvirt cannot be read, or the gateway is stopping.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the state of libvirt: {why}")]
pub struct StreamEnd {
    /// The cause.
    pub why: String,
}

struct Listener {
    app: Arc<App>,
    looks: watch::Receiver<Look>,
    heard: Option<Arc<Snapshot>>,
    waiting: VecDeque<StreamEvent>,
}

/// Streams all objects, then changes. The stream ends when libvirt does not answer or the gateway
/// stops; a client that reconnects receives all objects again.
///
/// # Errors
/// [`StreamEnd`] when the state of libvirt cannot be read, or the gateway is stopping.
pub async fn listen(app: Arc<App>) -> Result<impl Stream<Item = StreamEvent>, StreamEnd> {
    let (mut looks, begun) = app.hub.join();
    let fresh = |look: &Look| look.number() > begun;
    let first = tokio::select! {
        () = app.hub.closed() => Look::None,
        look = looks.wait_for(fresh) => look.map(|look| look.clone()).unwrap_or_default(),
    };
    let first = match first {
        Look::Seen(snapshot) => snapshot,
        Look::Failed(_, why) => return Err(StreamEnd { why }),
        Look::None => {
            return Err(StreamEnd {
                why: "the gateway is stopping".to_owned(),
            });
        }
    };
    let mut waiting: VecDeque<_> = diff(None, &first)
        .into_iter()
        .map(StreamEvent::Change)
        .collect();
    waiting.push_back(StreamEvent::Synced);
    let listener = Listener {
        app,
        looks,
        heard: Some(first),
        waiting,
    };
    Ok(unfold(listener, |mut listener| async {
        let heard = listener.next().await?;
        Some((heard, listener))
    }))
}

impl Listener {
    async fn next(&mut self) -> Option<StreamEvent> {
        while self.waiting.is_empty() {
            tokio::select! {
                () = self.app.hub.closed() => return None,
                changed = self.looks.changed() => changed.ok()?,
            }
            let Look::Seen(now) = self.looks.borrow_and_update().clone() else {
                return None;
            };
            let changes = diff(self.heard.as_deref(), &now);
            self.waiting
                .extend(changes.into_iter().map(StreamEvent::Change));
            self.heard = Some(now);
        }
        self.waiting.pop_front()
    }
}
