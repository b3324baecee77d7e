//! How the records of a Cluster contradict each other, and whether they may be corrected in one way
//! or another. Pure: what cannot be undone is refused without a proof, and a person may know
//! better.

use kube::ResourceExt;

use super::known::{CaSecret, Candidate, Known};
use super::proof::{self, Speaks};
use super::trouble::{Trouble, trouble};
use super::wish::{Wish, next};
use tatara_core::api::cluster::TurnAction;
use tatara_core::control_plane::turn::{Both, Doubt, Holder, Marks};
use tatara_core::remedy;
use tatara_core::shown::MadeThere;

/// Why they are not corrected so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// It would be wrong, or change nothing.
    Refused(String),
    /// This speaks against it. A person may know better.
    Shown(Vec<Speaks>),
}

/// What speaks against it.
pub fn objection(known: &Known, wish: &Wish) -> Option<Objection> {
    if let Some(why) = refused(known, wish) {
        return Some(Objection::Refused(why));
    }
    let all = match wish {
        Wish::MadeBy(uid) => against_maker(known, uid),
        Wish::ReturnUnreadable => against_any(known),
    };
    (!all.is_empty()).then_some(Objection::Shown(all))
}

/// Why nothing is corrected of this Cluster at all.
pub fn closed(known: &Known) -> Option<String> {
    let (namespace, name) = (known.namespace(), known.name());
    let describe = remedy::describe_cluster(namespace, name);
    if known.cluster.metadata.deletion_timestamp.is_some() {
        return Some(format!(
            "it is being deleted, and its records go with it; {describe} says what it waits for"
        ));
    }
    if known.cluster.was_external() {
        return Some("its control plane is external: no Machine of it runs kubeadm init".into());
    }
    match &known.secret {
        CaSecret::Seen(secret) => known.other_cluster(secret).map(|other| {
            format!("Secret {name}-ca is that of Cluster {other}, by its owner or label")
        }),
        CaSecret::Missing => Some(format!(
            "Secret {name}-ca does not exist, and is written first; condition CertificatesReady says what to do: {describe}"
        )),
        CaSecret::Hidden(said) => Some(format!(
            "you may not read Secret {name}-ca, which has the other record; ask an administrator to run: kubectl -n {namespace} create rolebinding NAME --clusterrole=edit --user=YOU ({said})"
        )),
    }
}

fn refused(known: &Known, wish: &Wish) -> Option<String> {
    if let Some(why) = closed(known) {
        return Some(why);
    }
    let both = known.marks();
    let trouble = trouble(known);
    // a doubt may rest on what a host shows, which no object has
    let is_lost = matches!(wish, Wish::MadeBy(_)) && known.records().is_empty();
    let is_reported = matches!(trouble, Some(Trouble::Reported { .. }));
    let is_open = is_half_written(&both, wish) || (is_lost && is_reported);
    if !is_open && let Some(why) = in_no_doubt(known, trouble.as_ref()) {
        return Some(why);
    }
    if next(&both, wish).is_none() {
        return Some(match wish {
            Wish::MadeBy(_) => "both have that record already".into(),
            Wish::ReturnUnreadable => "no turn is unreadable".into(),
        });
    }
    match wish {
        Wish::MadeBy(uid) => not_the_maker(known, trouble.as_ref(), uid),
        Wish::ReturnUnreadable => {
            let is_turn = matches!(trouble, Some(Trouble::Doubt(Doubt::Unreadable(..))));
            (!is_turn).then(|| {
                format!(
                    "the records are resolved first, with --made-by: {}",
                    remedy::cluster::resolve(known.namespace(), known.name())
                )
            })
        }
    }
}

/// Why nothing is to be corrected, where what is read now is in no doubt.
fn in_no_doubt(known: &Known, trouble: Option<&Trouble>) -> Option<String> {
    let describe = remedy::describe_cluster(known.namespace(), known.name());
    match trouble {
        None => Some(format!(
            "nothing is to be resolved: Cluster and CA Secret do not contradict each other, and no Machine reports a doubt. {describe} shows what it waits for"
        )),
        Some(Trouble::Reported { of, says }) => Some(format!(
            "Cluster and CA Secret do not contradict each other now. If that does not pass, do what {of} says: {says}"
        )),
        Some(_) => None,
    }
}

/// Whether the Secret has that record already, and the Cluster none, as where the write of the
/// other was cut off.
fn is_half_written(both: &Both, wish: &Wish) -> bool {
    let on_secret = both.secret.initialized.as_ref();
    let is_it = |uid: &String| on_secret == Some(uid) && both.cluster.initialized.is_none();
    matches!(wish, Wish::MadeBy(uid) if is_it(uid))
}

/// Why this Machine is not recorded, whatever a person says.
fn not_the_maker(known: &Known, trouble: Option<&Trouble>, uid: &str) -> Option<String> {
    let candidate = known.candidate(uid);
    let called = candidate.called();
    let recorded = known.records();
    let may_be = match trouble {
        Some(Trouble::Doubt(Doubt::Unreadable(..) | Doubt::TwoHolders(..))) => recorded.is_empty(),
        Some(Trouble::MadeTwice(by)) => by.iter().any(|by| by == uid),
        _ => true,
    };
    if !may_be {
        return Some(format!(
            "another Machine is recorded (uid {}), and nothing shows that it was {called}",
            recorded.join(", ")
        ));
    }
    let machine = candidate.machine?;
    let (namespace, name) = (known.namespace(), machine.name_any());
    if !machine.is_control_plane() {
        return Some(format!("{called} is a worker, and runs no control plane"));
    }
    if !known.has(machine) && !candidate.is_recorded {
        return Some(format!(
            "the label of {called} does not name Cluster {}",
            known.name()
        ));
    }
    let describe = remedy::describe_machine(namespace, &name);
    if matches!(
        candidate.made_there(),
        Some(MadeThere::OtherCluster | MadeThere::OtherAuthority)
    ) {
        return Some(format!(
            "the host of {called} has a control plane of another Cluster, or with another CA; {describe} says what to do first"
        ));
    }
    None
}

/// What speaks against recording this Machine: nothing shows a control plane there, or something
/// shows another one.
fn against_maker(known: &Known, uid: &str) -> Vec<Speaks> {
    let maker = known.candidate(uid);
    let mut all: Vec<Speaks> = proof::is_made(&maker).into_iter().collect();
    let mut dropped: Vec<String> = vec![uid.to_owned()];
    for other in known.records() {
        if !dropped.contains(&other) {
            all.extend(proof::may_have(&known.candidate(&other), &maker));
            dropped.push(other);
        }
    }
    for other in turns_of_init(known) {
        if !dropped.contains(&other) {
            all.push(proof::may_run(&known.candidate(&other)));
            dropped.push(other);
        }
    }
    let others = known.candidates().into_iter();
    let others = others.filter(|other| other.shows_init && !dropped.contains(&other.uid));
    all.extend(others.map(|other| proof::made_elsewhere(&other)));
    all
}

/// The UIDs of those that may have the turn to run `kubeadm init`: of a turn that cannot be read,
/// all.
fn turns_of_init(known: &Known) -> Vec<String> {
    let holders = known.holders().into_iter();
    let holders = holders.filter(|turn| turn.action == TurnAction::Init);
    let mut all: Vec<String> = holders.map(|turn| turn.machine).collect();
    let both = known.marks();
    let is_unread = |marks: &Marks| matches!(marks.turn, Holder::Unreadable(_));
    if is_unread(&both.secret) || is_unread(&both.cluster) {
        all.extend(known.candidates().into_iter().map(|other| other.uid));
    }
    all
}

/// What speaks against the removal of a turn that nobody can read: each Machine may have had it
/// that does not keep it on the other object.
fn against_any(known: &Known) -> Vec<Speaks> {
    if !known.records().is_empty() {
        return Vec::new();
    }
    let holders = known.holders();
    let keeps = |candidate: &Candidate| holders.iter().any(|turn| turn.machine == candidate.uid);
    let all = known.candidates();
    let others = all.iter().filter(|candidate| !keeps(candidate));
    others.map(proof::may_run).collect()
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
