//! Runs controllers: observe → plan → announce → perform → report, the same for all kinds.
//!
//! | file | what it does |
//! |---|---|
//! | `controller` | the parts of a kind's controller |
//! | `pass` | one pass over one object |
//! | `report` | the status, in at most two writes a pass |
//! | `events` | Events |
//! | `unwritten` | transient statuses, which are not written yet |
//! | `failures` | delays and reports of passes that fail repeatedly |
//! | `wakes` | coalesces wakes of one object |
//! | `run` | passes over all objects of a kind |
//! | `alone` | one write to an object at a time |
//! | `patch` | writes to objects |

mod alone;
pub mod controller;
mod error;
mod events;
mod failures;
mod pass;
pub mod patch;
mod report;
mod run;
pub mod span;
mod unwritten;
mod wakes;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use alone::Alone;
pub use controller::{ActionOutcome, Controller, LiveView};
pub use error::{Chain, ReconcileError};
pub use events::Events;
pub use failures::{Failures, Key as PassKey};
pub use pass::pass;
pub use run::{ObjectFeed, run};
use unwritten::PendingStatuses;

use crate::store::{InStores, Stores};

/// For controllers that count other objects: changes within this time cause one pass.
pub const COUNTS_TOGETHER: Duration = Duration::from_millis(25);

/// What all controllers share.
pub struct Engine {
    /// Client of the management cluster.
    pub client: Client,
    /// Cache of the watched objects.
    pub stores: Arc<Stores>,
    /// Publishes Events.
    pub events: Events,
    /// Whether this process is the leader now.
    is_leading: Box<dyn Fn() -> bool + Send + Sync>,
    /// Counts a pass by controller and result.
    count: Box<dyn Fn(&'static str, &'static str) + Send + Sync>,
    /// Consecutive failures.
    failures: Failures,
    /// Objects that are being written.
    alone: Alone,
    /// Statuses that are held back.
    unwritten: PendingStatuses,
}

impl Engine {
    /// An engine without passes so far. `is_leading` returns whether this process is the leader,
    /// `count` counts a pass by controller and result.
    pub fn new(
        client: Client,
        stores: Arc<Stores>,
        is_leading: impl Fn() -> bool + Send + Sync + 'static,
        count: impl Fn(&'static str, &'static str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            events: Events::new(client.clone()),
            client,
            stores,
            is_leading: Box::new(is_leading),
            count: Box::new(count),
            failures: Failures::default(),
            alone: Alone::default(),
            unwritten: PendingStatuses::default(),
        }
    }

    /// Adds the API server's answer to one of our writes to the cache, so that the next pass sees
    /// it.
    pub fn learn<K: InStores>(&self, written: &K) {
        if let Some(kind) = written.kind_in(&self.stores) {
            kind.learn(written.clone());
        }
    }

    /// The object as last read or written, whichever is newer.
    pub fn freshest<K: InStores>(&self, known: &K) -> K {
        let kind = known.kind_in(&self.stores);
        let fresher = kind.and_then(|kind| kind.fresher(known));
        fresher.map_or_else(|| known.clone(), |fresher| fresher.as_ref().clone())
    }

    /// Forgets the passes over an object that is deleted.
    pub fn forget(&self, key: &PassKey) {
        self.failures.clear(key);
        self.unwritten.clear(key);
    }

    /// Checks that this process is the leader.
    ///
    /// # Errors
    /// [`ReconcileError::NotLeading`] if another process may be the leader.
    pub fn must_lead(&self) -> Result<(), ReconcileError> {
        if (self.is_leading)() {
            Ok(())
        } else {
            Err(ReconcileError::NotLeading)
        }
    }
}
