//! What the plans of all kinds have in common.

use k8s_openapi::jiff::Timestamp;

use super::Next;
use crate::api::conditions::Finding;

/// When the status says what a plan found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// Before its actions, and again where these find something else.
    #[default]
    First,
    /// Only what its actions find: they are done in a moment.
    Outcome,
    /// After its actions, from what is observed then.
    Last,
}

/// What is done next for an object, and why.
pub trait Plan {
    /// One thing to do, with everything decided.
    type Action: Send + Sync;

    /// What to do, in order.
    fn actions(&self) -> &[Self::Action];

    /// What is true of the object: its conditions.
    fn findings(&self) -> &[Finding];

    /// When to plan again, beside on every change.
    fn next(&self, now: Timestamp) -> Next;

    /// When the status says so.
    fn reports(&self) -> Reports {
        Reports::First
    }
}
