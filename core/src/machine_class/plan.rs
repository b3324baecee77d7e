//! Whether a MachineClass is in use, for those who would delete it. Pure.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::api::MachineClass;
use crate::api::conditions::Finding;
use crate::api::names::LABEL_CLASS_IN_USE;
use crate::{Next, finalizers};

/// What a pass over a MachineClass knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The class.
    pub class: Arc<MachineClass>,
    /// A MachineDeployment, a MachineSet or a Machine names it.
    pub is_used: bool,
}

/// What is done next for a MachineClass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Set the label that says that the class is in use, or remove it: an admission policy reads
    /// it.
    Label(bool),
    /// Add the finalizer, or remove it: namespace deletion passes by that policy.
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

/// What is done next for a MachineClass. The label first: a deleted class is gone once its
/// finalizer is removed.
pub fn plan(observed: &Observed) -> Plan {
    let (class, is_used) = (observed.class.as_ref(), observed.is_used);
    let mut actions = Vec::new();
    if is_used != class.labels().contains_key(LABEL_CLASS_IN_USE) {
        actions.push(Action::Label(is_used));
    }
    if finalizers::held(class, is_used).is_some() {
        actions.push(Action::Hold(is_used));
    }
    Plan { actions }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::names::FINALIZER_IN_USE;

    #[test]
    fn label_and_finalizer_say_whether_a_class_is_in_use() {
        let class = |is_marked: bool, is_deleted: bool| {
            let mut class = json!({ "metadata": { "name": "c" }, "providerSpec": {} });
            if is_marked {
                class["metadata"]["labels"] = json!({ (LABEL_CLASS_IN_USE): "true" });
                class["metadata"]["finalizers"] = json!([FINALIZER_IN_USE]);
            }
            if is_deleted {
                class["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
            }
            Arc::new(serde_json::from_value(class).expect("a class"))
        };
        // is marked, is being deleted, is used, actions
        let cases = [
            (false, false, false, vec![]),
            (
                false,
                false,
                true,
                vec![Action::Label(true), Action::Hold(true)],
            ),
            (true, false, true, vec![]),
            (
                true,
                false,
                false,
                vec![Action::Label(false), Action::Hold(false)],
            ),
            (
                true,
                true,
                false,
                vec![Action::Label(false), Action::Hold(false)],
            ),
            // nothing can be added to what is being deleted
            (false, true, true, vec![Action::Label(true)]),
        ];
        for (is_marked, is_deleted, is_used, actions) in cases {
            let class = class(is_marked, is_deleted);
            let plan = plan(&Observed { class, is_used });
            assert_eq!(plan.actions, actions, "{is_marked} {is_deleted} {is_used}");
        }
    }
}
