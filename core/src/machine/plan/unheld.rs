//! A Machine without a place: it claims a Host, once. If its claim is lost, or several Hosts have it, that is reported and
//! nothing is done. The absence of a claim proves nothing.

use crate::Why;
use std::time::Duration;

use kube::ResourceExt;

use super::super::kind::PlaceKind;
use super::super::observed::{Contact, Infrastructure, Observed, Placement, Unheld};
use super::{Acquire, Action, Plan};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE};
use crate::node::{Marker, Ownership};
use crate::proof::{Clean, Evidence, Proof};
use crate::words::word;

/// How soon a Host that a Machine chose and does not have is asked again.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Writes finalizer, resolved provider spec and place to a Machine, before anything else.
pub fn adoption(observed: &Observed) -> Option<Plan> {
    let machine = &observed.machine;
    let has_place = matches!(observed.placement, Placement::Held(_));
    let is_needed = !observed.is_adopted()
        || machine.spec.provider_spec.value.is_none()
        || (has_place && machine.spec.provider_id.is_none());
    is_needed.then(|| Plan {
        actions: vec![Action::Adopt {
            host: place(observed),
        }],
        ..Plan::default()
    })
}

/// The place that is written down with the adoption: what the Machine has, or is to have next.
fn place(observed: &Observed) -> Option<String> {
    let spec = observed.spec.as_ref();
    let is_late = spec.is_ok_and(|spec| PlaceKind::of_spec(spec).is_chosen_late());
    match &observed.placement {
        Placement::Held(held) => Some(held.name.clone()),
        Placement::None(Ok(host))
            if !is_late && observed.chosen.is_none() && !observed.is_begun() =>
        {
            Some(host.clone())
        }
        Placement::None(_) => None,
    }
}

/// The next step of a Machine that is not deleted.
pub fn plan(observed: &Observed, choice: &Result<String, Why>) -> Plan {
    if observed.is_in_memory() && observed.chosen.is_none() {
        return claim(choice, None);
    }
    match &observed.chosen {
        None if !observed.is_begun() => claim(choice, None),
        Some(chosen) if !observed.is_begun() && matches!(chosen.now, Unheld::Free) => {
            claim(&Ok(chosen.host.clone()), None)
        }
        _ => match proof(observed) {
            Ok(proof) if proof.evidence() == Evidence::NeverStarted => {
                claim(choice, Clean::from(&proof))
            }
            Ok(_) => lost(observed, "the host was reset"),
            Err(why) => lost(observed, &why),
        },
    }
}

fn claim(choice: &Result<String, Why>, instead: Option<Clean>) -> Plan {
    let finding =
        |reason, message| Finding::no(ConditionType::InfrastructureReady, reason, message);
    match choice {
        Ok(host) => {
            let host = host.clone();
            let message = format!("claiming {host}");
            let action = Action::Acquire(Acquire::Place {
                name: host,
                instead,
            });
            Plan::act(action, finding(Reason::Claiming, message))
        }
        Err(refusal) => Plan::waiting(refusal.finding(ConditionType::InfrastructureReady)),
    }
}

fn lost(observed: &Observed, why: &str) -> Plan {
    let message = format!(
        "no Host has the claim of this Machine: {why}. A Machine never moves to another host{}. {}",
        match &observed.node {
            super::Lookup::Known(Some(node)) =>
                format!(", and Node {} and its pods are left alone", node.name),
            _ => String::new(),
        },
        remedy(observed)
    );
    Plan {
        next: Next::After(ASK_AGAIN),
        ..Plan::waiting(Finding::no(
            ConditionType::InfrastructureReady,
            Reason::HostLost,
            message,
        ))
    }
}

/// How a lost claim is restored, or given up.
pub fn remedy(observed: &Observed) -> String {
    let host = observed.chosen.as_ref().map_or("HOST", |c| c.host.as_str());
    let gone = host_is_gone(observed);
    let first = if observed.is_deleting() {
        String::new()
    } else {
        let (namespace, name) = (&observed.marker.namespace, &observed.marker.machine);
        format!("kubectl -n {namespace} delete machine {name} --wait=false, then ")
    };
    match observed.chosen.as_ref().map(|chosen| &chosen.now) {
        Some(Unheld::Taken(other, contact)) if is_marked(observed, contact) => format!(
            "Host {host} has the claim of Machine {other}, but its server has the marker of this one. Register the Host again without that claim, as its condition Clean says; then: {}",
            give_back(observed, host)
        ),
        Some(Unheld::Taken(other, Contact::Seen(_))) => copied(observed, host, other),
        Some(Unheld::Taken(other, _)) => format!(
            "Host {host} has the claim of Machine {other}, and only its server can show whether anything of this Machine is left there: bring the Host back first"
        ),
        Some(Unheld::Asked(Contact::Seen(seen)))
            if let Ownership::Owner(other) = &seen.owner
                && !other.marker.is_same_machine(&observed.marker) =>
        {
            format!(
                "The server of Host {host} has the marker of Machine {}, which claimed it when nothing of this one was left there. Remove this Machine: {}",
                other.marker.machine,
                end(observed)
            )
        }
        _ => format!(
            "Register Host {host} again if it is missing, and restore its claim: {}; this Machine then continues. \
             Only if the server is off for good or was erased: {first}{gone}",
            give_back(observed, host)
        ),
    }
}

/// Its Host has the claim of another Machine, and nothing of this one is there: made from the YAML of that other one,
/// or restored after its host went to it. That other claim is not to be touched.
fn copied(observed: &Observed, host: &str, other: &str) -> String {
    format!(
        "Host {host} has the claim of Machine {other}: this Machine looks like a copy of {other}, or was restored after {other} had claimed its host; nothing of it is found there. \
         Leave {other} and the Host alone, and remove this Machine: {}",
        end(observed)
    )
}

/// The commands that remove this Machine, of which nothing runs.
fn end(observed: &Observed) -> String {
    let gone = host_is_gone(observed);
    if observed.is_deleting() {
        return gone;
    }
    let marker = &observed.marker;
    format!(
        "kubectl -n {} delete machine {} --wait=false; {gone}",
        marker.namespace, marker.machine
    )
}

fn is_marked(observed: &Observed, contact: &Contact) -> bool {
    matches!(contact, Contact::Seen(seen) if seen.owner.of(&observed.marker).is_some())
}

fn give_back(observed: &Observed, host: &str) -> String {
    let marker = &observed.marker;
    format!(
        "kubectl -n {} patch host {} --type=merge -p '{{\"spec\":{{\"consumerRef\":{{\"name\":\"{}\",\"uid\":\"{}\",\"cluster\":\"{}\",\"releasing\":{}}}}}}}'",
        marker.namespace,
        word(host),
        marker.machine,
        marker.uid,
        marker.cluster,
        observed.is_deleting()
    )
}

/// The command with which the user confirms that nothing of this Machine runs any more.
pub fn host_is_gone(observed: &Observed) -> String {
    let marker = &observed.marker;
    format!(
        "kubectl -n {} annotate machine {} {ANNOTATION_HOST_IS_GONE}={}",
        marker.namespace, marker.machine, marker.uid
    )
}

/// Evidence from the Host that it chose and does not have.
///
/// # Errors
/// Why that Host proves nothing, as a message.
pub fn proof(observed: &Observed) -> Result<Proof, String> {
    let Some(chosen) = &observed.chosen else {
        return Proof::of_no_place(observed.uid(), observed.is_begun())
            .ok_or_else(|| "kubeadm was started for it, and its host is not recorded".into());
    };
    let host = &chosen.host;
    match &chosen.now {
        Unheld::Missing => Err(format!("Host {host}, which it chose, does not exist")),
        Unheld::Free | Unheld::Held => Err(format!("Host {host} was not checked")),
        Unheld::Asked(Contact::Seen(seen)) | Unheld::Taken(_, Contact::Seen(seen)) => {
            Proof::of_host(&observed.marker, observed.is_begun(), seen)
                .map_err(|why| format!("Host {host}: {why}"))
        }
        Unheld::Asked(Contact::Unreachable { message, .. })
        | Unheld::Taken(_, Contact::Unreachable { message, .. }) => {
            Err(format!("Host {host} cannot be checked: {message}"))
        }
        Unheld::Asked(Contact::NotAsked | Contact::SelfRegistering(_))
        | Unheld::Taken(_, Contact::NotAsked | Contact::SelfRegistering(_)) => {
            Err(format!("Host {host} was not checked"))
        }
    }
}

/// The Host that has its claim is not the one that it chose: a claim that was moved by hand is not followed.
pub fn moved(observed: &Observed) -> Option<Plan> {
    let (Placement::Held(held), Some(chosen)) = (&observed.placement, &observed.chosen) else {
        return None;
    };
    if chosen.host == held.name {
        return None;
    }
    let (bears, named) = (&held.name, &chosen.host);
    let other = match observed.machine.annotations().get(ANNOTATION_HOST) {
        Some(_) => format!("annotation {ANNOTATION_HOST} names Host {named}"),
        None => format!("the server of Host {named} has its marker"),
    };
    let Marker {
        namespace, machine, ..
    } = &observed.marker;
    let message = format!(
        "Host {bears} has the claim of this Machine, but {other}; nothing is done. Check which server has /var/lib/tatara/owner.json with uid {}. \
         If it is the server of {bears}: kubectl -n {namespace} annotate --overwrite machine {machine} {ANNOTATION_HOST}={bears}. \
         If it is the server of {named}: kubectl -n {namespace} delete host {bears} --wait=false, and restore the claim of {named}: {}",
        observed.uid(),
        give_back(observed, named)
    );
    // a Host that only its marker connects with the Machine wakes nobody when it goes
    Some(Plan {
        next: Next::After(ASK_AGAIN),
        ..stopped(observed, Reason::ClaimMoved, message)
    })
}

/// Its Host was released by hand, and the Machine still runs.
pub fn released(observed: &Observed, held: &Infrastructure) -> String {
    let then = if observed.acts_as_control_plane() {
        "keeps running; leave it as it is".to_owned()
    } else {
        format!(
            "keeps running. When it is no longer needed: kubectl -n {} delete machine {} (its pods are evicted first)",
            observed.marker.namespace, observed.marker.machine
        )
    };
    format!(
        "spec.consumerRef.releasing of Host {} was set by hand, and cannot be unset. Nothing is reset, and the node {then}",
        held.name
    )
}

/// The records of its place contradict each other, so it is unknown what could prove anything about it.
pub fn contradictory(observed: &Observed) -> Option<Plan> {
    let message = observed.kind().err()?;
    Some(stopped(observed, Reason::PlaceInDoubt, message))
}

/// Several Hosts have its claim: only their servers show which one is its own, and nothing is done to any of them.
pub fn contested(observed: &Observed) -> Plan {
    let message = format!(
        "Hosts {} all have spec.consumerRef of this Machine, for example because one was created from the YAML of another; nothing is done to any of them. Delete all but the one that it runs on; each Host says whether its server has the marker: kubectl -n {} get hosts -o wide",
        observed.claims.join(", "),
        observed.marker.namespace
    );
    stopped(observed, Reason::ClaimedTwice, message)
}

/// Nothing is done with the Machine, whether it is being deleted or not.
pub(super) fn stopped(observed: &Observed, reason: Reason, message: String) -> Plan {
    Plan::waiting(if observed.is_deleting() {
        Finding::yes(ConditionType::Deleting, reason, message)
    } else {
        Finding::no(ConditionType::InfrastructureReady, reason, message)
    })
}
