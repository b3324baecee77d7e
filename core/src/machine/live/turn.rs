//! What a step of the turn means for the Machine that wants it.

use super::super::observed::Observed;
use crate::Why;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::control_plane::Purpose;
use crate::control_plane::turn::Step;
use crate::machine::plan::doubt::{self, ClusterName};
use crate::machine::plan::turn;
use crate::node::Marker;

/// What follows of a step for the Machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It goes on.
    Yes,
    /// It waits, and this is why.
    NotYet(Finding),
    /// What was decided on is not true any more: the next pass observes it.
    Changed,
}

/// The turn that a Machine wants for this.
pub fn wanted(observed: &Observed, action: TurnAction) -> Turn {
    Turn {
        machine: observed.uid().into(),
        name: observed.marker.machine.clone(),
        action,
    }
}

/// For what a Machine has the turn that removes an etcd member: its own, in its deletion, or one in
/// its way, before it joins.
pub fn of_removal(observed: &Observed) -> TurnAction {
    if observed.is_deleting() {
        TurnAction::Remove
    } else {
        TurnAction::Join
    }
}

/// What came of taking the turn, in the Cluster of this UID.
pub fn taken(marker: &Marker, cluster_uid: &str, action: TurnAction, step: Step) -> Outcome {
    if let Step::Blocked(by) = &step
        && by.is_later()
    {
        let message = turn::busy(by, cluster_uid, marker);
        let why = Why::new(Reason::WaitingForTurn, message);
        return Outcome::NotYet(Purpose::of(action).refused(why));
    }
    let purpose = Purpose::of(action);
    match outcome(marker, step, purpose.condition.0) {
        Outcome::NotYet(finding) => Outcome::NotYet(purpose.refused(finding.why)),
        outcome => outcome,
    }
}

/// What came of recording that the Machine has run `kubeadm init`.
pub fn recorded(observed: &Observed, step: Step) -> Outcome {
    if let Step::Initialized(other) = &step {
        let cluster = ClusterName::of(&observed.marker);
        let twice = doubt::made_twice(
            ConditionType::BootstrapReady,
            observed.uid(),
            other,
            cluster,
        );
        return Outcome::NotYet(twice);
    }
    outcome(&observed.marker, step, ConditionType::BootstrapReady)
}

/// Why a control plane is not recorded: its host has the private key of another CA than the
/// Cluster's (`authority` is the fingerprint of that, if it was read).
pub fn other_authority(observed: &Observed, authority: Option<&str>) -> Option<Finding> {
    let has = observed.seen()?.authority.as_deref()?;
    let cluster = ClusterName::of(&observed.marker);
    let Some(authority) = authority else {
        return Some(doubt::unread(ConditionType::BootstrapReady, cluster));
    };
    (authority != has).then(|| doubt::of_another_authority(ConditionType::BootstrapReady, cluster))
}

fn outcome(marker: &Marker, step: Step, condition: ConditionType) -> Outcome {
    let cluster = ClusterName::of(marker);
    match step {
        Step::Done => Outcome::Yes,
        Step::Blocked(by) => Outcome::NotYet(doubt::blocked(condition, &by, cluster)),
        Step::InDoubt(doubt) => Outcome::NotYet(doubt.finding(condition, cluster)),
        Step::NoSecret => Outcome::NotYet(doubt::no_secret(condition, cluster)),
        Step::Initialized(_) | Step::NotInitialized | Step::NotHeld | Step::Write(..) => {
            Outcome::Changed
        }
    }
}
