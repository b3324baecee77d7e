//! Where a Machine is: the host that it holds, or its virtual machine.

use std::sync::{Arc, PoisonError};

use kube::ResourceExt;

use super::super::observed::{Contact, Held, Observed, Placement, Refusal, Seen, Stuck};
use super::super::plan::claim;
use super::super::virtual_machine;
use super::host_address;
use crate::api::conditions::find;
use crate::api::{Host, MachineProviderSpec};
use crate::manager::Context;
use crate::provider::Server;
use crate::store::Key;

/// Where the Machine is, and what that place says of itself where nothing else can tell.
pub(super) async fn placement(
    context: &Context,
    namespace: &str,
    observed: &Observed,
) -> Placement {
    match &observed.spec {
        Ok(MachineProviderSpec::Libvirt(_)) => on_hypervisor(context, observed).await,
        _ if observed.virtual_machine.is_some() => on_hypervisor(context, observed).await,
        Ok(MachineProviderSpec::Simulated(_)) => context.simulated.placement(observed),
        Ok(MachineProviderSpec::Ssh(spec)) => {
            if let Some(host) = held_host(context, observed.uid()) {
                return Placement::Held(held(context, observed, &host).await);
            }
            let hosts = context.stores.hosts.within(namespace);
            Placement::None(claim::choose(
                spec,
                &hosts,
                &observed.marker.cluster,
                observed.uid(),
            ))
        }
        // A Machine whose spec has become unusable may still hold a host.
        Err(_) => match held_host(context, observed.uid()) {
            Some(host) => Placement::Held(held(context, observed, &host).await),
            None => Placement::None(Err(Refusal {
                reason: "InvalidConfiguration",
                message: String::new(),
            })),
        },
    }
}

/// A virtual machine: where it is, and what it says where nothing else can tell.
async fn on_hypervisor(context: &Context, observed: &Observed) -> Placement {
    let mut placement = virtual_machine::placement(context, observed);
    let Placement::Held(held) = &mut placement else {
        return placement;
    };
    if held.address.is_some() && must_ask(observed) {
        let guest = virtual_machine::guest(context, &observed.marker, held.address.clone());
        held.contact = match guest {
            Ok(guest) => ask(context, &guest).await,
            Err(error) => Contact::Unreachable {
                reason: error.reason,
                message: error.message,
            },
        };
    }
    placement
}

fn held_host(context: &Context, uid: &str) -> Option<Arc<Host>> {
    let host = context.stores.hosts.by(&Key::Claim(uid.to_owned())).pop();
    if host.is_some() {
        // The store shows the claim; it need not be remembered any more.
        context
            .claims
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uid);
    }
    host
}

/// The host of a claim that the store does not show yet. One that it shows, or that is gone, need not
/// be remembered any more.
pub(super) fn claiming(context: &Context, namespace: &str, uid: &str) -> Option<String> {
    let mut claims = context
        .claims
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let claim = claims.get(uid)?;
    let host = context.stores.hosts.get(namespace, &claim.host);
    if host.is_some_and(|host| host.metadata.generation < claim.generation) {
        return Some(claim.host.clone());
    }
    claims.remove(uid);
    None
}

async fn held(context: &Context, observed: &Observed, host: &Host) -> Held {
    let releasing = host
        .spec
        .consumer_ref
        .as_ref()
        .is_some_and(|consumer| consumer.releasing);
    Held {
        name: host.name_any(),
        address: Some(host_address(host)),
        releasing,
        contact: match off(host) {
            _ if releasing || !must_ask(observed) => Contact::NotAsked,
            Some(contact) => contact,
            None => ask(context, host).await,
        },
        stuck: stuck(host).filter(|_| releasing),
    }
}

/// A host that is off is not asked; its own controller switches it on.
fn off(host: &Host) -> Option<Contact> {
    host.spec.bmc.as_ref()?;
    let power = find(&host.status.as_ref()?.conditions, "PowerOn")?;
    (power.status == "False").then(|| Contact::Unreachable {
        reason: "HostOff",
        message: format!("Host {} is off: {}", host.name_any(), power.message),
    })
}

/// What the host's own controller says of a reset that does not go on.
fn stuck(host: &Host) -> Option<Stuck> {
    let conditions = &host.status.as_ref()?.conditions;
    let power = find(conditions, "PowerOn").filter(|_| host.spec.bmc.is_some());
    if power.is_some_and(|power| power.status == "False" && power.reason == "Fenced") {
        return Some(Stuck::Fenced);
    }
    let silent = find(conditions, "Reachable").filter(|reachable| reachable.status == "False");
    if let Some(silent) = silent {
        return Some(Stuck::Silent(silent.last_transition_time.0));
    }
    let available = find(conditions, "Available")?;
    if available.reason == "Retained" {
        return Some(Stuck::Retained);
    }
    let waits = matches!(
        available.reason.as_str(),
        "ResetFailed" | "FencingFailed" | "ReinstallWaits"
    );
    waits.then_some(Stuck::ResetFails)
}

/// The host is asked only where nothing else can tell: before there is a Node, and while no unit is
/// followed whose end will wake us.
fn must_ask(observed: &Observed) -> bool {
    let is_there = matches!(observed.node, Seen::Known(Some(_)));
    let was_there = observed
        .machine
        .status
        .as_ref()
        .is_some_and(|status| status.node_ref.is_some());
    let deleting = observed.machine.metadata.deletion_timestamp.is_some();
    observed.follow.is_none() && !is_there && !was_there && !deleting
}

async fn ask(context: &Context, host: &impl Server) -> Contact {
    match context.hosts.observe(host).await {
        Ok(observation) => Contact::Seen(Box::new(observation)),
        Err(error) => Contact::Unreachable {
            reason: error.reason,
            message: error.message,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_keeps_a_host_from_its_reset_is_read_from_its_conditions() {
        let of = |reason: &str| {
            let available = json!({"type": "Available", "status": "False", "reason": reason, "message": "",
                "lastTransitionTime": "2027-01-15T08:00:00Z"});
            let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
                "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}},
                "status": {"conditions": [available]}});
            stuck(&serde_json::from_value(host).unwrap())
        };
        for (reason, expected) in [
            ("Resetting", None),
            ("Fencing", None),
            ("Freeing", None),
            ("ResetFailed", Some(Stuck::ResetFails)),
            ("FencingFailed", Some(Stuck::ResetFails)),
            ("ReinstallWaits", Some(Stuck::ResetFails)),
            ("Retained", Some(Stuck::Retained)),
        ] {
            assert_eq!(of(reason), expected, "{reason}");
        }
    }
}
