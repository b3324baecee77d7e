//! What a control-plane machine may do by the list of etcd's members, as read just before.

use super::super::observed::Observed;
use super::turn::Outcome;
use super::waits;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::control_plane::{Change, Member, Members, permits, quorum};
use crate::machine::plan::{host_is_gone, membership};
use crate::proof::{MemberProof, TurnIsOver};

/// The list, or why it cannot be read.
pub type Read<'a> = Result<&'a Members, String>;

/// Requires that etcd takes one more member, and has none of this machine.
///
/// # Errors
/// Why the Machine may not join now.
pub fn may_join<'a>(observed: &Observed, members: Read<'a>) -> Result<&'a Members, Finding> {
    let members = known(observed, members)?;
    // what joining begins with would wipe its data
    if let Some(member) = observed.member(members) {
        let message = format!(
            "etcd lists member {} at the address of this machine, which is removed before the machine joins",
            member.id
        );
        return Err(waits(observed, Reason::MemberChanging, message));
    }
    match permits(members, Change::Add) {
        Ok(()) => Ok(members),
        Err(obstacle) => Err(waits(observed, obstacle.reason(), obstacle.message())),
    }
}

/// What ends the turn of a Machine that may not join by kubeadm's record: others may have to change
/// meanwhile what it waits for.
pub fn end_of_refused(observed: &Observed, members: &Members) -> Option<TurnIsOver> {
    observed.member_proof(members).map(TurnIsOver::Member)
}

/// What is done about a member that is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal<'a> {
    /// It is removed from this list.
    Begins(&'a Members),
    /// It is gone.
    IsOver,
}

/// Requires that etcd can do without a member now.
///
/// # Errors
/// Why it may not be removed now.
pub fn may_remove<'a>(
    observed: &Observed,
    member: &Member,
    members: Read<'a>,
) -> Result<Removal<'a>, Finding> {
    let members = known(observed, members)?;
    if members.get(member.id).is_none() {
        return Ok(Removal::IsOver);
    }
    match permits(members, Change::Remove(member.id)) {
        Ok(()) => Ok(Removal::Begins(members)),
        Err(obstacle) => Err(waits(observed, obstacle.reason(), obstacle.message())),
    }
}

/// Requires that the leadership was moved from the member before it is removed.
///
/// # Errors
/// Why the member is not removed now.
pub fn was_moved(observed: &Observed, moved: Result<(), String>) -> Result<(), Finding> {
    moved.map_err(|why| {
        let message = format!("the leadership of etcd could not be moved: {why}");
        waits(observed, Reason::MemberChanging, message)
    })
}

/// Requires that etcd has removed the member: `Ok(false)` is its refusal for now.
///
/// # Errors
/// Why the member is not known to be removed.
pub fn was_removed(
    observed: &Observed,
    member: &Member,
    removed: Result<bool, String>,
) -> Result<(), Finding> {
    match removed {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = quorum::refused_for_now(member);
            Err(waits(observed, Reason::MemberChanging, message))
        }
        Err(why) => Err(waits(observed, Reason::EtcdUnreachable, why)),
    }
}

/// Whether etcd is asked before the place of the Machine is released.
pub fn is_asked_before_release(observed: &Observed) -> bool {
    membership::is_asked(observed) || membership::may_be_listed(observed)
}

/// Requires, before the place of the Machine is released, that etcd has no member of it.
///
/// # Errors
/// Which member it has, or why that cannot be read.
pub fn may_release(observed: &Observed, members: Read<'_>) -> Result<(), Finding> {
    let members = members.map_err(|why| {
        let way_out = membership::may_be_listed(observed).then(|| {
            let gone = host_is_gone(observed);
            format!("; its host does not show whether it has joined the control plane. Only if that is destroyed, erased or disconnected for good: {gone}")
        });
        waits(
            observed,
            Reason::EtcdUnreachable,
            why + &way_out.unwrap_or_default(),
        )
    })?;
    match observed.member(members) {
        None => Ok(()),
        Some(member) => {
            let message = format!(
                "etcd lists member {}, which is removed first",
                member.label()
            );
            Err(waits(observed, Reason::MemberChanging, message))
        }
    }
}

/// Why an update does not end: a component of its control plane does not serve.
pub fn unwell(why: String) -> Finding {
    Finding::yes(ConditionType::Updating, Reason::WaitingForControlPlane, why)
}

/// Whether the list proves what ends the turn of the Machine, as it did when that was planned.
pub fn may_return(observed: &Observed, proof: &MemberProof, members: Read<'_>) -> Outcome {
    match known(observed, members) {
        Err(finding) => Outcome::NotYet(finding),
        Ok(members) if observed.member_proof(members).as_ref() == Some(proof) => Outcome::Yes,
        Ok(_) => Outcome::Changed,
    }
}

fn known<'a>(observed: &Observed, members: Read<'a>) -> Result<&'a Members, Finding> {
    members.map_err(|why| waits(observed, Reason::EtcdUnreachable, why))
}
