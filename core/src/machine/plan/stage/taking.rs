//! A host that the Machine claims, and whose marker does not name it: Tatara writes the marker if
//! the host has none and no traces of Kubernetes, and otherwise leaves the host alone. So it does
//! where the marker names the Machine in another Cluster.

use super::super::deletion::after_deletion;
use super::super::{Action, Plan};
use super::SeenHost;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::{Infrastructure, Observed};
use crate::node::Ownership;

/// The next step.
pub(super) fn plan(host: &SeenHost<'_>) -> Plan {
    let SeenHost {
        observed,
        held,
        seen,
        ..
    } = *host;
    if let Some(finding) = host.of_another_cluster() {
        return Plan::waiting(finding);
    }
    let not_clean = |reason, message: String| {
        Plan::waiting(Finding::no(ConditionType::HostClean, reason, message))
    };
    let waiting = |message: String| not_clean(Reason::Occupied, message);
    let after = after_deletion(observed);
    let occupied = |message: String| {
        waiting(format!(
            "{message}. If that is correct, delete this Machine: the Host is released, and {after}"
        ))
    };
    match &seen.owner {
        Ownership::Nobody if let Some(message) = marker_missing(observed, held) => {
            not_clean(Reason::MarkerMissing, message)
        }
        Ownership::Nobody if seen.occupied.is_empty() => Plan::act(
            Action::TakeHost,
            Finding::no(
                ConditionType::BootstrapReady,
                Reason::TakingHost,
                "writing the ownership marker on the host",
            ),
        ),
        Ownership::Nobody => {
            let found: Vec<String> = seen.occupied.iter().map(ToString::to_string).collect();
            occupied(format!(
                "the host runs a Kubernetes node that Tatara does not manage, and is left alone: {}",
                found.join("; ")
            ))
        }
        Ownership::Owner(other) => occupied(format!(
            "the marker on the host names Machine {}/{} (uid {}) of management cluster {}; it is left alone",
            other.marker.namespace, other.marker.machine, other.marker.uid, other.marker.management
        )),
        Ownership::Unreadable(text) => waiting(format!(
            "the host's marker /var/lib/tatara/owner.json cannot be read ({text}); the host is left alone. \
             Inspect that file on the host first: while it cannot be read, the Host is not freed, and this Machine is not removed. If no Machine uses the host, delete that file there"
        )),
    }
}

/// Why a host is not taken, although this Machine has its claim: what was begun on a host is not
/// begun again on one that shows nothing of it. What it shows else may be its own, with `/var` not
/// mounted.
fn marker_missing(observed: &Observed, held: &Infrastructure) -> Option<String> {
    let is_lost = observed.virtual_machine.is_none() && observed.is_begun();
    let end = if observed.acts_as_control_plane() {
        "if it was erased, see docs/operating.md#dead-control-plane"
    } else {
        "only if it was erased, delete this Machine"
    };
    is_lost.then(|| {
        format!(
            "kubeadm was started for this Machine, but Host {} does not have its marker /var/lib/tatara/owner.json, for example because /var is not mounted or the disk was replaced; nothing is done. Mount the disk; {end}",
            held.name
        )
    })
}
