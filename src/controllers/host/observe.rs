//! Asks the host, where nobody else does.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::observed::{Contact, Observed, Owner};
use super::power;
use super::twins::Twins;
use super::underway;
use crate::api::Host;
use crate::api::host::HostFacts;
use crate::manager::Context;
use crate::node::{Ownership, UnitName};
use crate::store::Key;

/// What a pass over a Host knows.
pub async fn observe(context: &Context, host: Arc<Host>, now: Timestamp) -> Observed {
    let consumer = host.spec.consumer_ref.clone();
    let machine = consumer
        .as_ref()
        .and_then(|consumer| context.stores.machines.by_uid(&consumer.uid));
    let following = consumer
        .as_ref()
        .and_then(|consumer| context.follows.current(&consumer.uid));
    let is_missed = power::is_missed(&host, machine.as_deref());
    let at_work = consumer
        .as_ref()
        .is_some_and(|consumer| !consumer.releasing)
        && host.status.as_ref().is_some_and(|s| s.facts.is_some())
        && !is_missed;
    let twins =
        |contact: &Contact| Twins::find(&host, facts(contact), |key| context.stores.hosts.by(key));
    let may_ask_bmc = host.spec.bmc.is_some() && twins(&Contact::NotAsked).bmc.is_empty();
    let stands = power::Stands::of(&host);
    let installation = underway::look(context, &host);
    let (contact, first_contact_keys) = if let Some(underway) = &installation {
        let contact = underway::ask(context, &host, &underway.record, now).await;
        (contact, Vec::new())
    } else if following.is_some() || (at_work && !stands.is_off) {
        (Contact::NotAsked, Vec::new())
    } else if may_ask_bmc {
        power::ask(context, &host, stands, now).await
    } else {
        ask(context, &host).await
    };
    if may_ask_bmc {
        power::make_known(context, &host, now).await;
    }
    let owner = match &contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => Some(owner.marker.uid.clone()),
            _ => None,
        },
        _ => None,
    };
    Observed {
        twins: twins(&contact),
        owner: owner_here(context, owner.as_deref()),
        consumer_exists: machine.is_some(),
        attempts: owner
            .map(|uid| context.follows.attempts(&uid, UnitName::Reset))
            .unwrap_or_default(),
        management: context.management.clone(),
        bmc: context.bmcs.last(&host).filter(|_| may_ask_bmc),
        is_missed,
        has_media: context.media.is_some(),
        installation,
        following,
        contact,
        first_contact_keys,
        host,
    }
}

fn facts(contact: &Contact) -> Option<&HostFacts> {
    match contact {
        Contact::Seen(seen) => Some(&seen.facts),
        _ => None,
    }
}

/// What is known here of the Machine that a marker names.
fn owner_here(context: &Context, uid: Option<&str>) -> Owner {
    let stores = &context.stores;
    match uid {
        Some(uid) if stores.machines.by_uid(uid).is_some() => {
            let host = stores.hosts.by(&Key::Claim(uid.to_owned())).pop();
            host.map_or(Owner::WithoutHost, |host| Owner::On(host.name_any()))
        }
        _ => Owner::Unknown,
    }
}

/// Asks the host itself, over SSH.
pub async fn ask(context: &Context, host: &Host) -> (Contact, Vec<String>) {
    let keys = match context.hosts.session(host).await {
        Ok(session) if host.spec.ssh.host_keys.is_empty() => session.first_contact_keys().to_vec(),
        _ => Vec::new(),
    };
    match context.hosts.observe(host).await {
        Ok(seen) => (Contact::Seen(Box::new(seen)), keys),
        Err(error) => (Contact::Failed(error), keys),
    }
}
