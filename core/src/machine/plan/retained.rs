//! A host that a Machine has released, and that is kept as it is: `wipePolicy: retain`.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, Infrastructure, Observed};
use super::Plan;
use super::deletion::deleting;
use super::end::unreset;
use crate::api::conditions::Reason;
use crate::pace;
use crate::proof::Proof;

/// The kubelet is stopped for good, no process of a pod runs, and by the user's wish its data is
/// kept: the Host keeps its claim and its marker.
pub fn plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    let is_stopped = match &held.contact {
        Contact::Seen(seen) => {
            !seen.kubelet_active && !seen.pods_run && seen.owner.of(&observed.marker).is_some()
        }
        _ => false,
    };
    let power = match held.power {
        Some(Ok(state)) => Proof::of_power(observed.uid(), state),
        _ => None,
    };
    let Some(proof) = Proof::of_retained(observed.uid(), is_stopped).or(power) else {
        let name = &held.name;
        let why = still_runs(observed, &held.contact);
        let message = format!(
            "Host {name} is kept (spec.wipePolicy: retain), but {why}. It is asked again every {} s",
            pace::SERVER.as_secs()
        );
        return Plan::waiting(deleting(Reason::WaitingForHost, message));
    };
    let message = format!(
        "the kubelet and the pods of Host {} are stopped, and its data is kept, as its spec.wipePolicy says; this Machine is removed",
        held.name
    );
    let state = format!("Host {} is retained", held.name);
    unreset(
        observed,
        &proof,
        &state,
        deleting(Reason::HostRetained, message),
        now,
    )
}

/// Why nothing proves that a host which is kept runs no pods, and what helps.
fn still_runs(observed: &Observed, contact: &Contact) -> String {
    match contact {
        Contact::Seen(seen) if seen.owner.of(&observed.marker).is_none() => {
            "its marker /var/lib/tatara/owner.json is not that of this Machine: its condition Clean says why".into()
        }
        Contact::Seen(_) => "its kubelet or a pod runs there again, and is stopped within a minute. If that lasts, on it: systemctl status kubelet; pgrep -af 'containerd-shim.*k8s.io'".into(),
        Contact::Unreachable { message, .. } => {
            format!("does not tell whether its kubelet and its pods are stopped: {message}")
        }
        Contact::NotAsked | Contact::SelfRegistering(_) => {
            "has not told yet whether its kubelet and its pods are stopped".into()
        }
    }
}
