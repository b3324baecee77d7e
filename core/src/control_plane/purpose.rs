//! What a turn is for, in words, and in which condition a Machine tells of it: a row for each
//! action.

use crate::Why;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Status};

/// What a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// The condition, and its status, of a Machine that waits for it.
    pub condition: (ConditionType, Status),
    /// What a Machine waits for that asks for it.
    pub waits: &'static str,
    /// What the Machine does that has it: "Machine cp-1 … the control plane".
    pub does: &'static str,
    /// What a Machine has it, or asks for it: "Machine cp-1 asks for it, …".
    pub to: &'static str,
}

impl Purpose {
    /// Of an action.
    pub const fn of(action: TurnAction) -> Self {
        let bootstraps = (ConditionType::BootstrapReady, Status::False);
        match action {
            TurnAction::Init => Self {
                condition: bootstraps,
                waits: "waiting for the turn to run kubeadm init",
                does: "creates",
                to: "to run kubeadm init",
            },
            TurnAction::Join => Self {
                condition: bootstraps,
                waits: "prepared; waiting for the turn to join the control plane",
                does: "joins",
                to: "to join",
            },
            TurnAction::Remove => Self {
                condition: (ConditionType::Deleting, Status::True),
                waits: "waiting for the turn to leave the control plane",
                does: "leaves",
                to: "to leave",
            },
            TurnAction::Upgrade => Self {
                condition: (ConditionType::UpToDate, Status::False),
                waits: "waiting for the turn to run kubeadm upgrade",
                does: "is updated in",
                to: "to be updated",
            },
        }
    }

    /// That a Machine does not have the turn, because of this.
    pub fn refused(self, why: Why) -> Finding {
        let (condition, status) = self.condition;
        Finding::new(condition, status, why)
    }
}
