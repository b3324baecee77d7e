//! What the plans of all kinds have in common.

use k8s_openapi::jiff::Timestamp;

use super::Next;
use crate::api::conditions::Finding;

/// When the findings of a plan are written to the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// Before its actions, and again if these find something else.
    #[default]
    First,
    /// After its actions, with their findings: they take only a moment.
    Outcome,
    /// The same, and as it was planned where they fail.
    OutcomeOrFailure,
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

    /// When the findings are written to the status.
    fn reports(&self) -> Reports {
        Reports::First
    }
}
