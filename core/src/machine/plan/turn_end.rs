//! Why the turn of a Machine is over, and what proves it: its own etcd member, by the list as last
//! read; that is read live once more before the turn is returned. Which stage returns it, each
//! stage says.
//!
//! | turn | ends with its change | ends unused, while the change waits |
//! |---|---|---|
//! | init | [`ended`]: it is recorded who ran it | never: nothing else would show a second one |
//! | join | [`ended`]: its member votes | [`unused_to_join`]: whatever its member is |
//! | upgrade | [`updated`]: its member votes, and the rest serves | the same, while no step may have stopped its member |
//! | leave | [`removed`]: it has no member | [`unused_to_leave`]: its member votes, and kubeadm does not run there |

use super::super::observed::{Lookup, Observed};
use super::membership;
use super::turn::has_turn;
use crate::api::cluster::{Turn, TurnAction};
use crate::control_plane::Members;
use crate::proof::TurnIsOver;

/// Of init or a join: init is recorded, or its etcd member votes.
pub(super) fn ended(observed: &Observed) -> Option<TurnIsOver> {
    let cluster = observed.cluster.as_ref()?;
    cluster.initialized_by.as_ref()?;
    let is_own = |turn: &&Turn| turn.machine == observed.uid();
    let turn = cluster
        .turn
        .iter()
        .chain(&cluster.other_turn)
        .find(is_own)?;
    match turn.action {
        TurnAction::Init => Some(TurnIsOver::Recorded),
        // that one ends with the update
        TurnAction::Upgrade => None,
        TurnAction::Join | TurnAction::Remove => observed.member_votes(),
    }
}

/// Of an upgrade: its member votes. Whether the rest is well, is asked before.
pub fn updated(observed: &Observed) -> Option<TurnIsOver> {
    let over = || observed.member_votes();
    is_held(observed, &[TurnAction::Upgrade])
        .then(over)
        .flatten()
}

/// Of one that leaves: etcd lists no member of it.
pub(super) fn removed(observed: &Observed) -> Option<TurnIsOver> {
    let cluster = observed.cluster.as_ref()?;
    let Lookup::Known(members) = &cluster.etcd else {
        return None;
    };
    let turn = cluster.turn.as_ref();
    turn.filter(|turn| turn.machine == observed.uid() && turn.is_later())?;
    observed.member_proof(members).map(TurnIsOver::Member)
}

/// Of one that waits to join: others may have to change meanwhile what it waits for.
pub(super) fn unused_to_join(observed: &Observed, members: &Members) -> Option<TurnIsOver> {
    let proof = || observed.member_proof(members).map(TurnIsOver::Member);
    is_held(observed, &[TurnAction::Join]).then(proof).flatten()
}

/// Of one that waits to leave: its member votes, and kubeadm does not run on its host. Who is in
/// its way may need that turn, to leave first or to join.
pub(super) fn unused_to_leave(observed: &Observed) -> Option<TurnIsOver> {
    let later = [TurnAction::Join, TurnAction::Upgrade, TurnAction::Remove];
    let is_unused = membership::is_asked(observed)
        && membership::is_without_kubeadm(observed)
        && is_held(observed, &later);
    let over = || observed.member_votes();
    is_unused.then(over).flatten()
}

/// Whether the Machine has the turn for one of these.
fn is_held(observed: &Observed, actions: &[TurnAction]) -> bool {
    let cluster = observed.cluster.as_ref();
    cluster.is_some_and(|cluster| {
        let mut actions = actions.iter();
        actions.any(|action| has_turn(observed, cluster, *action))
    })
}
