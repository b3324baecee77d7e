//! Asks the host, where nobody else does.

use std::sync::Arc;

use kube::ResourceExt;

use super::observed::{Contact, Observed, Owner};
use super::twins::Twins;
use crate::api::Host;
use crate::api::host::HostFacts;
use crate::manager::Context;
use crate::node::{Ownership, UnitName};
use crate::store::Key;

/// What a pass over a Host knows.
pub async fn observe(context: &Context, host: Arc<Host>) -> Observed {
    let consumer = host.spec.consumer_ref.clone();
    let following = consumer
        .as_ref()
        .and_then(|consumer| context.follows.current(&consumer.uid));
    let at_work = consumer
        .as_ref()
        .is_some_and(|consumer| !consumer.releasing)
        && host.status.as_ref().is_some_and(|s| s.facts.is_some());
    let (contact, first_contact_keys) = if at_work || following.is_some() {
        (Contact::NotAsked, Vec::new())
    } else {
        ask(context, &host).await
    };
    let owner = match &contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => Some(owner.marker.uid.clone()),
            _ => None,
        },
        _ => None,
    };
    Observed {
        twins: Twins::find(&host, facts(&contact), |key| context.stores.hosts.by(key)),
        owner: owner_here(context, owner.as_deref()),
        consumer_exists: consumer
            .as_ref()
            .is_some_and(|consumer| context.stores.machines.by_uid(&consumer.uid).is_some()),
        attempts: owner
            .map(|uid| context.follows.attempts(&uid, UnitName::Reset))
            .unwrap_or_default(),
        management: context.management.clone(),
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

async fn ask(context: &Context, host: &Host) -> (Contact, Vec<String>) {
    let keys = match context.hosts.session(host).await {
        Ok(session) if host.spec.ssh.host_keys.is_empty() => session.first_contact_keys().to_vec(),
        _ => Vec::new(),
    };
    match context.hosts.observe(host).await {
        Ok(seen) => (Contact::Seen(Box::new(seen)), keys),
        Err(error) => (Contact::Failed(error), keys),
    }
}
