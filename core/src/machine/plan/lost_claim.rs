//! The claim of a Machine that was lost: what the Host that it chose proves, and how the claim is
//! restored, or given up. The absence of a claim proves nothing.

use super::super::observed::{Contact, Observed, Unheld};
use crate::node::Ownership;
use crate::proof::Proof;
use crate::remedy;

/// How a lost claim is restored, or given up.
pub fn remedy(observed: &Observed) -> String {
    let host = observed.chosen.as_ref().map_or("HOST", |c| c.host.as_str());
    let gone = host_is_gone(observed);
    let first = if observed.is_deleting() {
        String::new()
    } else {
        let (namespace, name) = (&observed.marker.namespace, &observed.marker.machine);
        let delete = remedy::delete_machine(namespace, name);
        format!("{delete}, then ")
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

/// Its Host has the claim of another Machine, and nothing of this one is there: made from the YAML
/// of that other one, or restored after its host went to it. That other claim is not to be touched.
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
    let delete = remedy::delete_machine(&marker.namespace, &marker.machine);
    format!("{delete}; {gone}")
}

fn is_marked(observed: &Observed, contact: &Contact) -> bool {
    matches!(contact, Contact::Seen(seen) if seen.owner.of(&observed.marker).is_some())
}

pub(super) fn give_back(observed: &Observed, host: &str) -> String {
    let marker = &observed.marker;
    remedy::host::claim(&marker.namespace, host, marker, observed.is_deleting())
}

/// The command with which the user confirms that nothing of this Machine runs any more.
pub fn host_is_gone(observed: &Observed) -> String {
    let marker = &observed.marker;
    remedy::declare_gone(&marker.namespace, &marker.machine)
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
