//! An etcd member that has the address or the name of a Machine, and may be another Machine's:
//! after a restore, a Machine that was replaced has the claim of a host again on which its
//! successor runs, or a Node of the name of that host.

use super::super::observed::{Contact, Infrastructure, Observed, Placement};
use super::deletion::deleting;
use super::lost_claim::host_is_gone;
use crate::api::conditions::{Finding, Reason};
use crate::control_plane::Member;
use crate::node::Ownership;
use crate::remedy;

/// Why the member stays, and with it the Machine.
pub(super) fn stays(observed: &Observed, member: &Member) -> Option<Finding> {
    let held = observed.held()?;
    let whose = whose(observed, held)?;
    let message = format!(
        "etcd member {} stays, and with it this Machine: it may be another's by now. Host {}: {whose}. Condition Clean of that Host has the remedy{}",
        member.label(),
        held.name,
        if_dead(observed, held)
    );
    Some(deleting(Reason::Orphaned, message))
}

/// Whether it is left as it is when the Machine goes: without a place nothing shows whose it is,
/// and a dead one is removed later as the member of no Machine. That a virtual machine has ended,
/// the gateway of its Hypervisor proves.
pub(super) fn is_left(observed: &Observed) -> bool {
    matches!(observed.placement, Placement::None(_)) && observed.virtual_machine.is_none()
}

/// Why it may be another Machine's, by the marker on its host; of a host that does not show that,
/// by what its own controller saw last.
fn whose(observed: &Observed, held: &Infrastructure) -> Option<String> {
    let Contact::Seen(seen) = &held.contact else {
        return held.strange.clone();
    };
    match &seen.owner {
        Ownership::Owner(owner) if seen.owner.of(&observed.marker).is_none() => Some(format!(
            "its marker names Machine {}/{} (uid {})",
            owner.marker.namespace, owner.marker.machine, owner.marker.uid
        )),
        Ownership::Unreadable(why) => Some(format!("its marker cannot be read ({why})")),
        Ownership::Owner(_) | Ownership::Nobody => None,
    }
}

/// How the Machine goes all the same: the Host stays until its server tells what is on it, which a
/// dead one does not.
fn if_dead(observed: &Observed, held: &Infrastructure) -> String {
    if matches!(held.contact, Contact::Seen(_)) {
        return String::new();
    }
    let (namespace, host) = (&observed.marker.namespace, &held.name);
    format!(
        ". Only if its server is dead for good: {} && {} && {}",
        remedy::host::delete_at_once(namespace, host),
        remedy::host::let_go(namespace, host, 0),
        host_is_gone(observed)
    )
}
