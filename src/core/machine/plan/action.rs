//! What a plan for a Machine consists of.

use k8s_openapi::jiff::Timestamp;

use super::Plan;
use crate::api::cluster::TurnAction;
use crate::api::conditions::Finding;
use crate::core::node::UnitName;
use crate::core::proof::{Clean, Over, TurnIsOver};
use crate::core::{self, Next, Reports};

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Action {
    /// Write our finalizer and the resolved spec on the Machine; and, once there is one, the host that it chose, with its
    /// provider ID.
    Adopt {
        /// Name of the host, or of the simulated machine.
        host: Option<String>,
    },
    /// Write down the host, if another was chosen before, and claim it by compare-and-swap; or create the machine.
    Acquire {
        /// Name of the host.
        host: String,
        /// Nothing of the Machine is on the one that it chose before.
        instead: Option<Clean>,
    },
    /// Choose another Hypervisor: nothing of the virtual machine exists on this one.
    LeaveHypervisor,
    /// Have the image of the virtual machine fetched.
    FetchImage,
    /// Make the virtual machine, with keys of its own.
    CreateMachine,
    /// Switch the virtual machine on.
    SwitchOn,
    /// Resume a virtual machine that is paused.
    Resume,
    /// Write down a second time on which Hypervisor the virtual machine was made.
    RecordHypervisor,
    /// Take the seed, with its keys, away from the hypervisor.
    RemoveSeed,
    /// Write the ownership marker on the host.
    TakeHost,
    /// Start a unit of steps on the host, or attach to it.
    RunUnit(UnitName),
    /// Take the control-plane turn by compare-and-swap.
    TakeTurn(TurnAction),
    /// Give the control-plane turn back.
    ReturnTurn(TurnIsOver),
    /// Record on the Cluster and its CA Secret that the control plane exists.
    RecordInitialized,
    /// Bring labels, annotations and taints of the Node to what the Machine says.
    UpdateNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Cordon the Node and evict its pods.
    Drain {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Go on only when no volume is attached to the Node.
    AwaitVolumes {
        /// Name of the Node.
        node: String,
    },
    /// Let go of the host or virtual machine.
    Release,
    /// Write down on its Hypervisor that the virtual machine is to be ended as soon as it can be.
    GiveUp,
    /// Delete the Node, if it is still this one.
    DeleteNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
        /// Nothing of the Machine runs any more.
        over: Over,
    },
    /// Delete the Node of a Machine that does not exist, if it is still this one, and not Ready.
    DeleteLeftNode {
        /// Name of the Node.
        node: String,
        /// UID of the Node.
        uid: String,
    },
    /// Remove the token that the machine joined with.
    RemoveToken,
    /// Let the Machine go: nothing of it runs any more.
    RemoveFinalizer(Over),
}

impl core::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next
    }

    fn reports(&self) -> Reports {
        if self.is_quick() {
            Reports::Outcome
        } else {
            Reports::First
        }
    }
}

impl Plan {
    /// All that is done is quick, and the next pass follows at once: its findings are worth writing,
    /// these are not yet.
    pub fn is_quick(&self) -> bool {
        let quick = |action: &Action| {
            matches!(
                action,
                Action::Adopt { .. }
                    | Action::Acquire { .. }
                    | Action::LeaveHypervisor
                    | Action::RemoveSeed
                    | Action::TakeHost
                    | Action::TakeTurn(_)
                    | Action::RecordInitialized
            )
        };
        // a guest may keep hold of its seed for long: meanwhile the rest is written
        let is_lone_seed = self.actions == [Action::RemoveSeed];
        !self.actions.is_empty() && !is_lone_seed && self.actions.iter().all(quick)
    }
}
