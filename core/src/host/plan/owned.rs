//! A host that is in use, according to its marker or to what runs on it: reset only what belongs to
//! a Machine that released it, and leave everything else alone.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::observed::{Contact, Observed, Owner as Known};
use super::{
    Action, Plan, State, claimed, consumer, deleted, is_deleted, is_installing, orphaned,
    reinstall, reset, retain, unavailable,
};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::host::ConsumerRef;
use crate::api::installation::WipePolicy;
use crate::api::names::FINALIZER_IN_USE;
use crate::claim;
use crate::node::{Observation, Owner, Ownership};
use crate::proof::{Clean, Evidence, Proof};
use crate::remedy;

/// Its marker cannot be read, and may be Tatara's: a claim stays until a person has checked.
pub fn unreadable(text: &str) -> Plan {
    left_alone(format!(
        "its marker /var/lib/tatara/owner.json cannot be read ({text}); it is left alone. If no Machine uses the host, remove that file on it"
    ))
}

/// It belongs to another: nothing is done to it. A claim on it was never fulfilled, and may be
/// removed.
pub fn occupied(observed: &Observed, message: String) -> Plan {
    let mut plan = left_alone(message);
    plan.actions.extend(never_started(observed));
    plan
}

/// Frees the claim of a Machine that released a host on which nothing of it ever was, whatever else
/// is on the host.
pub(super) fn never_started(observed: &Observed) -> Option<Action> {
    let (Some(consumer), Contact::Seen(seen)) = (consumer(observed), &observed.contact) else {
        return None;
    };
    let proof = proof(observed, seen).ok().filter(|_| consumer.releasing)?;
    Some(Action::Free(Clean::from(&proof)?))
}

/// Evidence from the host about the Machine that claims it.
fn proof(observed: &Observed, seen: &Observation) -> Result<Proof, String> {
    let claimant = claim::claimant(&observed.host, &observed.management);
    let claimant = claimant.ok_or("no Machine claims it")?;
    Proof::of_host(&claimant, observed.consumer.is_begun(), seen)
}

/// A clean host that was released. A host that was reset keeps the claim until its Machine is
/// deleted: the Machine returns its turn and deletes its Node on the evidence of a host that still
/// has its claim.
pub fn released(observed: &Observed, seen: &Observation) -> Plan {
    let name = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    let quarantined = |why: &str| {
        unavailable(
            State::Quarantined,
            Reason::NotReset,
            format!(
                "Machine {name} released it, but nothing proves that it was reset: {why}. Bring back the disk that it ran with; or, if its server was erased, delete this Host and register it again"
            ),
        )
    };
    let proof = match proof(observed, seen) {
        Ok(proof) => proof,
        Err(why) => return quarantined(&why),
    };
    let Some(clean) = Clean::from(&proof) else {
        return quarantined("it has no record of its reset");
    };
    let is_deleted = observed.host.metadata.deletion_timestamp.is_some();
    let waits = proof.evidence() != Evidence::NeverStarted || is_deleted;
    if observed.consumer.exists() && waits {
        let message = format!("reset and clean; it is free once Machine {name} is deleted");
        return unavailable(State::Releasing, Reason::Freeing, message);
    }
    Plan {
        actions: vec![Action::Free(clean)],
        ..unavailable(
            State::Releasing,
            Reason::Freeing,
            "reset and clean; freeing it",
        )
    }
}

/// Several Hosts have this claim: nothing is done to any of them.
pub fn contested(observed: &Observed) -> Option<Plan> {
    let [_, ..] = observed.rivals.as_slice() else {
        return None;
    };
    let name = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    let shows = match &observed.contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) if is_claimants(observed, owner) => {
                ". Its server has the marker of that Machine: keep this one; where several say so, the one in annotation tatara.dev/host of the Machine"
            }
            Ownership::Owner(_) | Ownership::Nobody => {
                ". Its server currently has no marker of that Machine. Delete this Host only if the server of the other Host has that marker; the deletion writes nothing to this server"
            }
            Ownership::Unreadable(_) => "",
        },
        Contact::Failed(_) | Contact::Off if let Some(other) = &observed.marked_rival => {
            &runs_on(observed, name, other)
        }
        Contact::Failed(_) | Contact::Off => ". Its server does not answer: wait for it",
        Contact::NotAsked => "",
    };
    let message = format!(
        "spec.consumerRef names Machine {name}, and so does that of Host {}, for example because one was created from the YAML of another; nothing is done to any of them. Delete all but the one that the Machine runs on{shows}",
        observed.rivals.join(", ")
    );
    Some(unavailable(
        State::Quarantined,
        Reason::ClaimedTwice,
        message,
    ))
}

/// A person may act on what the other server showed; nothing is deleted or released on that ground.
fn runs_on(observed: &Observed, machine: &str, other: &str) -> String {
    let namespace = observed.host.namespace().unwrap_or_default();
    let remedy = if is_deleted(observed) {
        let anyway = deleted::anyway(observed);
        format!(
            "this one is removed once it answers without the marker; if it is off for good: {anyway}"
        )
    } else {
        remedy::host::delete_at_once(&namespace, &observed.host.name_any())
    };
    format!(
        ". Its server does not answer. Machine {machine} runs on Host {other} (its server has the Machine's marker): {remedy}"
    )
}

fn is_claimants(observed: &Observed, owner: &Owner) -> bool {
    consumer(observed).is_some_and(|consumer| consumer.uid == owner.marker.uid)
}

/// `releasing` is set, and the Machine is not being deleted; or the host has the control plane of a
/// Cluster that stays. Both fields can be edited, and a reset cannot be undone.
pub fn not_meant(observed: &Observed) -> Option<Plan> {
    let consumer = consumer(observed).filter(|consumer| consumer.releasing)?;
    let name = &consumer.name;
    let marked = match &observed.contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => owner.marker.uid == consumer.uid,
            // its disk may be another one today
            Ownership::Nobody => reinstall::policy(observed) == WipePolicy::Reinstall,
            Ownership::Unreadable(_) => false,
        },
        // a reset that runs is followed to its end
        Contact::NotAsked => false,
        Contact::Off | Contact::Failed(_) => true,
    };
    if !observed.consumer.may_release() && marked {
        let message = format!(
            "spec.consumerRef.releasing is true, and Machine {name} is not being deleted; nothing is reset. Delete that Machine to have the host reset"
        );
        return Some(unavailable(State::Claimed, Reason::NotReleased, message));
    }
    let cluster = observed.guards.as_ref().filter(|_| marked)?;
    let message = format!(
        "a member of the etcd of Cluster {cluster} is on it, according to etcd, its marker or the records; it is reset only after that member is removed, or with the Cluster. If the control plane that runs is on another host, and this one is a left-over, see docs/operating.md#control-plane-in-doubt"
    );
    Some(unavailable(
        State::Quarantined,
        Reason::LastControlPlane,
        message,
    ))
}

fn is_held(observed: &Observed) -> bool {
    let mut finalizers = observed.host.finalizers().iter();
    finalizers.any(|finalizer| finalizer == FINALIZER_IN_USE)
}

/// Removes the finalizer of a Host that is being deleted, once its server has nothing that only
/// this Host manages.
pub fn let_go(observed: &Observed) -> Option<Action> {
    if !is_deleted(observed) || !is_held(observed) || is_installing(observed) {
        return None;
    }
    if consumer(observed).is_none() || has_no_claim_on(observed) {
        return Some(Action::LetGo);
    }
    // whatever its server says, and also when it says nothing
    observed.stands_in.clone().map(Action::LeaveTo)
}

/// Whether the Machine that claims a Host has nothing on its server, so that the Host may be
/// deleted as it is: one that was made with the claim of another, of a Machine that does not exist,
/// or of one that lost its disk.
fn has_no_claim_on(observed: &Observed) -> bool {
    let (Some(consumer), Contact::Seen(seen)) = (consumer(observed), &observed.contact) else {
        return false;
    };
    let has_marker = match &seen.owner {
        Ownership::Owner(owner) => owner.marker.uid == consumer.uid,
        Ownership::Unreadable(_) => true,
        Ownership::Nobody => false,
    };
    let is_waited_for = consumer.releasing
        && observed.consumer.exists()
        && proof(observed, seen).is_ok_and(|proof| proof.evidence() != Evidence::NeverStarted);
    let is_anothers =
        !observed.rivals.is_empty() || !observed.consumer.exists() || observed.consumer.is_begun();
    !has_marker && !is_waited_for && is_anothers
}

fn left_alone(message: String) -> Plan {
    let mut plan = unavailable(State::Quarantined, Reason::Occupied, message.clone());
    plan.findings.insert(
        0,
        Finding::no(ConditionType::Clean, Reason::Occupied, message),
    );
    plan
}

/// The marker names a Machine of this management cluster.
pub fn plan(observed: &Observed, seen: &Observation, owner: &Owner, now: Timestamp) -> Plan {
    match consumer(observed) {
        Some(consumer) if is_same(observed, consumer, owner) && consumer.releasing => {
            match reinstall::policy(observed) {
                WipePolicy::Reset => reset::plan(observed, seen, owner, now),
                WipePolicy::Retain => retain::plan(observed, seen, owner),
                // with its Cluster nothing is lost, and kubeadm would wait for peers that have gone
                WipePolicy::Reinstall => reset::waits(seen, owner)
                    .filter(|_| !observed.cluster_goes)
                    .unwrap_or_else(|| reinstall::on_release(observed, now)),
            }
        }
        Some(consumer) if is_same(observed, consumer, owner) => {
            let mut plan = claimed::by_machine(observed);
            plan.findings
                .insert(0, Finding::yes(ConditionType::Clean, Reason::InUse, ""));
            // a claim that was given back by hand brings no finalizer
            if !is_held(observed) && !is_deleted(observed) {
                plan.actions.push(Action::Hold);
            }
            plan
        }
        _ if is_claimed_since(observed, owner) => {
            let message = format!("claimed by Machine {}", owner.marker.machine);
            let mut plan = unavailable(State::Claimed, Reason::Claimed, message);
            plan.findings
                .insert(0, Finding::yes(ConditionType::Clean, Reason::InUse, ""));
            plan
        }
        _ => orphaned::plan(observed, owner),
    }
}

/// Whether the Machine that the marker names has claimed this Host, and begun on it, while its
/// server was asked: the Host of this pass is older than what its server showed.
fn is_claimed_since(observed: &Observed, owner: &Owner) -> bool {
    let has_this = matches!(&observed.owner, Known::On(host) if *host == observed.host.name_any());
    has_this && observed.host.namespace().as_ref() == Some(&owner.marker.namespace)
}

/// Claim and marker agree: namespace, name and UID.
fn is_same(observed: &Observed, consumer: &ConsumerRef, owner: &Owner) -> bool {
    let marker = &owner.marker;
    consumer.uid == marker.uid
        && consumer.name == marker.machine
        && observed.host.namespace().unwrap_or_default() == marker.namespace
}

/// Claimed by a Machine that was deleted without releasing it, for example because its finalizer
/// was removed by hand.
pub fn abandoned(observed: &Observed) -> Plan {
    let (namespace, name) = (
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let machine = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    let owner = match &observed.contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => Some(owner),
            Ownership::Nobody | Ownership::Unreadable(_) => None,
        },
        _ => None,
    };
    let command = remedy::host::release(&namespace, &name);
    unavailable(
        State::Claimed,
        Reason::MachineGone,
        format!(
            "Machine {machine}, which claims it, does not exist; the host is left alone: {}",
            orphaned::end(owner, &command)
        ),
    )
}
