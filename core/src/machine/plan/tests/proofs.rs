//! Proofs that the tests of plans expect, and the actions that need them.

use super::*;

/// The host was reset for the Machine.
pub(super) fn by_reset() -> Proof {
    Proof::of_host(&marker("", ME), true, &reset_of(ME)).expect("a reset")
}

/// The Machine never had a host.
pub(super) fn by_nothing() -> Proof {
    Proof::of_no_place(ME, false).expect("nothing")
}

/// Its time limit has passed.
pub(super) fn by_limit() -> Proof {
    Proof::of_time_limit(ME, true).expect("passed")
}

/// Its gateway has deleted it.
pub(super) fn by_gateway() -> Proof {
    Proof::of_gateway(ME, &Ok::<(), ()>(())).expect("deleted")
}

pub(super) fn delete_node_by(proof: &Proof) -> Action {
    Action::DeleteNode {
        node: "host-a".into(),
        uid: "node".into(),
        over: Over::from(proof).expect("accepted"),
    }
}

pub(super) fn finalizer_by(proof: &Proof) -> Action {
    Action::RemoveFinalizer(Over::from(proof).expect("accepted"))
}

pub(super) fn turn_by(proof: &Proof) -> Action {
    Action::ReturnTurn(TurnIsOver::Proven(Ended::from(proof).expect("accepted")))
}
