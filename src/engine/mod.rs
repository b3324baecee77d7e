//! Runs controllers: observe → plan → announce → perform → report, the same for all kinds.
//!
//! | file | what it does |
//! |---|---|
//! | `controller` | what a kind brings |
//! | `pass` | one pass over one object |
//! | `report` | the status, in at most two writes a pass |
//! | `events` | Events |
//! | `unwritten` | which statuses are not worth a write yet |
//! | `failures` | what a pass that fails again and again is repeated after, and says |
//! | `wakes` | puts wakes of one object together |
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
pub use controller::{Confirmed, Controller, Done};
pub use error::{Chain, ReconcileError};
pub use events::Events;
pub use failures::{Failures, Key as PassKey};
pub use pass::pass;
pub use run::{Watched, run};
use unwritten::Unwritten;

use crate::store::{Stored, Stores};

/// Of controllers that count other objects: changes that come together are counted once.
pub const COUNTS_TOGETHER: Duration = Duration::from_millis(50);

/// What the passes of all controllers share.
pub struct Engine {
    /// Client of the management cluster.
    pub client: Client,
    /// What is watched there.
    pub stores: Arc<Stores>,
    /// Writes Events.
    pub events: Events,
    /// Whether this process leads, at any moment.
    is_leading: Box<dyn Fn() -> bool + Send + Sync>,
    /// Counts a pass by controller and result.
    count: Box<dyn Fn(&'static str, &'static str) + Send + Sync>,
    /// Failures in a row.
    failures: Failures,
    /// Objects that are being written.
    alone: Alone,
    /// Statuses that are held back.
    unwritten: Unwritten,
}

impl Engine {
    /// Nothing has been passed over yet. `is_leading` tells whether this process leads, `count` counts a pass by controller
    /// and result.
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
            unwritten: Unwritten::default(),
        }
    }

    /// Takes in what the API server answered to a write of ours, so that the next pass knows of it.
    pub fn learn<K: Stored>(&self, written: &K) {
        if let Some(kind) = written.kind_in(&self.stores) {
            kind.learn(written.clone());
        }
    }

    /// The object as it was last read or written, whichever is newer.
    pub fn freshest<K: Stored>(&self, known: &K) -> K {
        let kind = known.kind_in(&self.stores);
        let fresher = kind.and_then(|kind| kind.fresher(known));
        fresher.map_or_else(|| known.clone(), |fresher| fresher.as_ref().clone())
    }

    /// Forgets what is remembered of passes over an object that is gone.
    pub fn forget(&self, key: &PassKey) {
        self.failures.clear(key);
        self.unwritten.clear(key);
    }

    /// Refuses to go on when another process may lead.
    ///
    /// # Errors
    /// [`ReconcileError::NotLeading`].
    pub fn must_lead(&self) -> Result<(), ReconcileError> {
        if (self.is_leading)() {
            Ok(())
        } else {
            Err(ReconcileError::NotLeading)
        }
    }
}
