//! Whether a Secret must stay, for what it is needed for. Pure.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Finding;
use crate::{Next, finalizers};

/// What a pass over a Secret knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Secret.
    pub secret: Arc<Secret>,
    /// A host that a Machine holds, or a Hypervisor that Machines are on, is reached with it.
    pub is_needed: bool,
}

/// What is done next for a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What to do.
    pub actions: Vec<Action>,
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Add the finalizer, or remove it.
    Hold(bool),
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn next(&self, _: Timestamp) -> Next {
        Next::OnChange
    }
}

/// What is done next for a Secret: it is kept while it is needed.
pub fn plan(observed: &Observed) -> Plan {
    let is_needed = observed.is_needed;
    let change = finalizers::held(observed.secret.as_ref(), is_needed);
    let actions = change.map(|_| Action::Hold(is_needed));
    Plan {
        actions: actions.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::names::FINALIZER_IN_USE;

    #[test]
    fn a_secret_is_kept_while_it_is_needed() {
        // is held, is being deleted, is needed, actions
        let cases = [
            (false, false, false, vec![]),
            (false, false, true, vec![Action::Hold(true)]),
            (true, false, true, vec![]),
            (true, false, false, vec![Action::Hold(false)]),
            (true, true, true, vec![]),
            (true, true, false, vec![Action::Hold(false)]),
            // nothing can be added to what is being deleted
            (false, true, true, vec![]),
        ];
        for (is_held, is_deleted, is_needed, actions) in cases {
            let finalizers = is_held.then_some([FINALIZER_IN_USE]);
            let deleted = is_deleted.then_some("2027-01-15T08:00:00Z");
            let secret = json!({"metadata": {"name": "key", "finalizers": finalizers,
                "deletionTimestamp": deleted}});
            let secret = Arc::new(serde_json::from_value(secret).expect("a Secret"));
            let plan = plan(&Observed { secret, is_needed });
            assert_eq!(plan.actions, actions, "{is_held} {is_deleted} {is_needed}");
        }
    }
}
