//! Runs controllers: observe → plan → announce → perform → report, the same for all kinds.
//!
//! | file | what it does |
//! |---|---|
//! | `controller` | what a kind brings |
//! | `pass` | one pass over one object |
//! | `report` | the status, in at most two writes a pass |
//! | `events` | Events |
//! | `failures` | what a pass that fails again and again is repeated after, and says |
//! | `wakes` | puts wakes of one object together |
//! | `run` | passes over all objects of a kind |
//! | `patch` | writes to objects |

pub mod controller;
mod error;
mod events;
mod failures;
mod pass;
pub mod patch;
mod report;
mod run;
pub mod span;
mod wakes;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;

pub use controller::{Confirmed, Controller, Done};
pub use error::{Chain, ReconcileError};
pub use events::Events;
pub use failures::Failures;
pub use pass::pass;
pub use run::{Watched, run};

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
    pub is_leading: Box<dyn Fn() -> bool + Send + Sync>,
    /// Counts a pass by controller and result.
    pub count: Box<dyn Fn(&'static str, &'static str) + Send + Sync>,
    /// Failures in a row.
    pub failures: Failures,
}

impl Engine {
    /// Takes in what the API server answered to a write of ours, so that the next pass knows of it.
    pub fn learn<K: Stored>(&self, written: &K) {
        if let Some(kind) = written.kind_in(&self.stores) {
            kind.learn(written.clone());
        }
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
