//! A host whose marker names a Machine of ours that does not have its claim.

use kube::ResourceExt;

use super::super::observed::{Observed, Owner as Known};
use super::owned::never_started;
use super::{ASK_AGAIN, Plan, State, consumer, unavailable};
use crate::api::conditions::Finding;
use crate::api::host::ConsumerRef;
use crate::controllers::Next;
use crate::node::Marker;

/// Ours by its marker, and not its Machine's by its claim: a live node, for all we know, as after the
/// restore of an old backup. Never reset without being told. The claim of another Machine was never
/// fulfilled, and may go.
pub fn plan(observed: &Observed, marker: &Marker) -> Plan {
    let whose = format!(
        "its marker names Machine {}/{} (uid {})",
        marker.namespace, marker.machine, marker.uid
    );
    let other = consumer(observed).filter(|consumer| consumer.uid != marker.uid);
    let message = match (&observed.owner, other) {
        (Known::Unknown | Known::WithoutHost, Some(other)) => {
            format!("{whose}; {}", other_claim(observed, other))
        }
        (Known::Unknown, None) => format!(
            "{whose}, which does not exist here; it may be a live node, and is left alone. To have it reset: {}",
            claim_command(observed, marker, true)
        ),
        (Known::WithoutHost, None) => format!(
            "{whose}, which exists and claims no Host, as after a restore; it may be a live node, and is left alone. To give it back to its Machine: {}",
            claim_command(observed, marker, false)
        ),
        (Known::On(host), _) => format!(
            "{whose}, which claims Host {host}; it may be a live node, and is left alone. If both Hosts are one server, delete this one; else delete that Machine first"
        ),
    };
    let mut plan = unavailable(
        State::Quarantined,
        "Orphaned",
        message.clone(),
        Next::After(ASK_AGAIN),
    );
    plan.findings
        .insert(0, Finding::no("Clean", "Orphaned", message));
    plan.actions.extend(never_started(observed));
    plan
}

/// The claim of a Machine of which nothing is on the server, as after a restore: it passes to no other, and goes with
/// the Host, which is not the server.
fn other_claim(observed: &Observed, other: &ConsumerRef) -> String {
    let (namespace, host) = (
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let machine = &other.name;
    let then = if observed.consumer.exists() && !observed.consumer.is_begun() {
        format!("To free the Host of that claim: kubectl -n {namespace} delete machine {machine}")
    } else {
        format!(
            "Register the Host anew without that claim: kubectl -n {namespace} get host {host} -o json | \
             jq '.metadata |= {{name, namespace, labels: (.labels // {{}})}} | del(.spec.consumerRef, .status)' >{host}.json; \
             kubectl -n {namespace} delete host {host}; kubectl apply -f {host}.json. What it says then has the next command"
        )
    };
    format!(
        "spec.consumerRef is that of Machine {machine}, of which nothing is on this server. It may be a live node, and is left alone. {then}"
    )
}

fn claim_command(observed: &Observed, marker: &Marker, releasing: bool) -> String {
    let claim = format!(
        "{{\"spec\":{{\"consumerRef\":{{\"name\":\"{}\",\"uid\":\"{}\",\"cluster\":\"{}\",\"releasing\":{releasing}}}}}}}",
        marker.machine, marker.uid, marker.cluster
    );
    format!(
        "kubectl -n {} patch host {} --type=merge -p '{claim}'",
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    )
}
