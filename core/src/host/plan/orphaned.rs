//! A host whose marker names a Machine of ours that does not have its claim.

use kube::ResourceExt;

use super::super::observed::{Observed, Owner as Known};
use super::owned::never_started;
use super::{Plan, State, consumer, unavailable};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::host::ConsumerRef;
use crate::node::{Marker, Owner};
use crate::remedy;

/// Ours by its marker, and not its Machine's by its claim: a live node, for all we know, as after
/// the restore of an old backup. It is never reset without a command of the user. The claim of
/// another Machine was never fulfilled, and may be removed.
pub fn plan(observed: &Observed, owner: &Owner) -> Plan {
    let marker = &owner.marker;
    let whose = format!(
        "its marker names Machine {}/{} (uid {})",
        marker.namespace, marker.machine, marker.uid
    );
    let other = consumer(observed).filter(|consumer| consumer.uid != marker.uid);
    let is_near = observed.host.namespace().as_ref() == Some(&marker.namespace);
    let message = match (&observed.owner, other) {
        (Known::Unknown | Known::WithoutHost, _) if !is_near => format!(
            "{whose}, and is left alone: only a Host in namespace {} can restore its claim or reset it. Register this server there, and delete this Host; or, if that namespace does not exist and nobody needs this node, which may be a live one or a control plane with the only copy of its state, undo by hand what is on it, which destroys that (docs/operating.md#undo)",
            marker.namespace
        ),
        (Known::Unknown | Known::WithoutHost, Some(other)) => {
            format!("{whose}; {}", other_claim(observed, other))
        }
        (Known::Unknown, None) => format!(
            "{whose}, which does not exist here, and is left alone: {}",
            end(Some(owner), &claim_command(observed, marker, true))
        ),
        (Known::WithoutHost, None) => format!(
            "{whose}, which exists but claims no Host, for example after a restore; it may be a live node, and is left alone. To restore the claim of that Machine: {}",
            claim_command(observed, marker, false)
        ),
        (Known::On(host), _) => format!(
            "{whose}, which claims Host {}/{host}; it may be a live node, and is left alone. Leave that Machine alone. If both Hosts are one server, delete this Host, or keep it until that Machine is deleted; if this server is a copy of the other's disk, undo by hand what is on it (docs/operating.md#undo), or erase it",
            marker.namespace
        ),
    };
    let mut plan = unavailable(State::Quarantined, Reason::Orphaned, message.clone());
    plan.findings.insert(
        0,
        Finding::no(ConditionType::Clean, Reason::Orphaned, message),
    );
    plan.actions.extend(never_started(observed));
    plan
}

/// What is lost with a host that is reset by this command, for a Machine that does not exist. Its
/// pods are not evicted then, and of a control plane there is no second copy.
pub(super) fn end(owner: Option<&Owner>, command: &str) -> String {
    match owner {
        Some(Owner {
            marker,
            initialized: true,
            ..
        }) => format!(
            "it has the control plane of Cluster {}/{}, perhaps the only copy of its state: save that first (docs/operating.md#dead-control-plane). To destroy it: {command}",
            marker.namespace, marker.cluster
        ),
        _ => format!(
            "it may be a live node. Drain it first ({}, with the kubeconfig of its cluster). To reset it, which ends its pods at once: {command}",
            remedy::workload::drain()
        ),
    }
}

/// The claim of a Machine of which nothing is on the server, as after a restore: it passes to no
/// other, and goes with the Host, which is not the server.
fn other_claim(observed: &Observed, other: &ConsumerRef) -> String {
    let (namespace, host) = (
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let machine = &other.name;
    let then = if observed.consumer.exists() && !observed.consumer.is_begun() {
        format!(
            "To free the Host of that claim: {}",
            remedy::machine::delete(&namespace, machine)
        )
    } else {
        format!(
            "Register the Host again without that claim (needs jq; {host}-before.json has what it was): \
             {}. Its condition Clean then has the next command",
            remedy::host::register_again(&namespace, &host)
        )
    };
    format!(
        "spec.consumerRef names Machine {machine}, of which nothing is on this server. It may be a live node, and is left alone. {then}"
    )
}

fn claim_command(observed: &Observed, marker: &Marker, releasing: bool) -> String {
    let namespace = observed.host.namespace().unwrap_or_default();
    remedy::host::claim(&namespace, &observed.host.name_any(), marker, releasing)
}
