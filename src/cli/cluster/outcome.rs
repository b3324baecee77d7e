//! The corrections that fit to what is wrong: the command of each, and what comes of it, in words.
//! Pure.

use kube::ResourceExt;

use super::known::{Candidate, Known};
use super::trouble::{Trouble, trouble};
use super::wish::{Wish, needs_manager, next, of_side, with};
use tatara_core::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN, MANAGER_ACCOUNT};
use tatara_core::control_plane::turn::{Doubt, Holder, Marks, Side};
use tatara_core::remedy;

/// The corrections that fit to what is wrong, the likeliest first.
pub fn wishes(known: &Known) -> Vec<Wish> {
    let made_by = |uid: String| Wish::MadeBy(uid);
    let mut all = match trouble(known) {
        None | Some(Trouble::Reported { .. }) => return Vec::new(),
        Some(Trouble::Doubt(Doubt::Unreadable(..))) => vec![Wish::ReturnUnreadable],
        // of two holders the Machine that is not wanted is deleted; its turn is returned on proof
        Some(Trouble::Doubt(Doubt::TwoHolders(..)) | Trouble::Unrecorded(_)) => Vec::new(),
        Some(Trouble::Doubt(_)) => known.records().into_iter().map(made_by).collect(),
        Some(Trouble::MadeTwice(by)) => by.into_iter().map(made_by).collect(),
    };
    if known.marks().cluster.initialized.is_none() {
        let made = known.candidates().into_iter();
        let made = made.filter(|candidate| {
            candidate.had_node() || candidate.shows_init || candidate.is_begun()
        });
        all.extend(made.map(|candidate| Wish::MadeBy(candidate.uid)));
    }
    let mut once: Vec<Wish> = Vec::new();
    for wish in all {
        if !once.contains(&wish) {
            once.push(wish);
        }
    }
    once
}

/// The command that does it.
pub fn command(known: &Known, wish: &Wish) -> String {
    let (namespace, name) = (known.namespace(), known.name());
    match wish {
        Wish::MadeBy(uid) => match known.candidate(uid).machine {
            Some(machine) => remedy::cluster::made_by(namespace, name, &machine.name_any()),
            None => remedy::cluster::made_by_uid(namespace, name, uid),
        },
        Wish::ReturnUnreadable => remedy::cluster::return_turn(namespace, name),
    }
}

/// What comes of it, a sentence each.
pub fn consequences(known: &Known, wish: &Wish) -> Vec<String> {
    let both = known.marks();
    let name = known.name();
    let mut all = vec![writes(known, wish)];
    if needs_manager(&both, wish) {
        all.push(format!(
            "It is written in the name of {MANAGER_ACCOUNT}, as admission lets no other account change what is recorded"
        ));
    }
    match wish {
        Wish::MadeBy(uid) => {
            let called = known.candidate(uid).called();
            all.push(format!(
                "kubeadm init is not started any more for Cluster {name}: its other control planes join the one of {called}, once that answers"
            ));
            let others = known.records().into_iter().filter(|other| other != uid);
            let others = others.map(|other| known.candidate(&other));
            let others: Vec<_> = others.filter(|other| other.machine.is_some()).collect();
            if let Some(other) = others.first().map(Candidate::called) {
                all.push(format!(
                    "If kubeadm init succeeded on the host of {other} as well, that is reported (ControlPlaneInDoubt): delete that Machine; its condition Deleting says how its host is reset"
                ));
            }
            all.push(format!(
                "If the control plane that is in use is not on the host of {called}: Machines join another one, and Cluster {name} has two control planes then, with the same certificates and each with an etcd of its own. They cannot be made one again; the record alone can be corrected"
            ));
        }
        Wish::ReturnUnreadable if both.cluster.initialized.is_some() => all.push(
            "The turn is given to the next that asks for it, to what is half done first. If the one that had it changes the control plane now, and another does too, etcd can lose its quorum".into(),
        ),
        Wish::ReturnUnreadable => {
            all.push(match known.holders().first() {
                Some(turn) => has_the_turn(known, &turn.machine),
                None => "The next control-plane Machine takes the turn, and runs kubeadm init; one for which kubeadm was started keeps all others back".into(),
            });
            all.push(two_control_planes(known, "another host"));
        }
    }
    all
}

/// What a Machine does that is the only one with the turn.
fn has_the_turn(known: &Known, uid: &str) -> String {
    let candidate = known.candidate(uid);
    let called = capital(&candidate.called());
    if candidate.machine.is_none() {
        return format!(
            "{called} has the turn alone then, and condition ControlPlaneInitialized says how it is returned"
        );
    }
    format!("{called} has the turn alone then, and runs kubeadm init, or goes on with it")
}

fn two_control_planes(known: &Known, host: &str) -> String {
    format!(
        "If kubeadm init runs, or ran, on {host}: Cluster {} has two control planes then, with the same certificates. They cannot be made one again, and what is in one of them is lost",
        known.name()
    )
}

/// What is written where.
fn writes(known: &Known, wish: &Wish) -> String {
    let mut both = known.marks();
    let mut sides = Vec::new();
    while let Some((side, to)) = next(&both, wish) {
        let object = match side {
            Side::Secret => format!("Secret {}-ca", known.name()),
            Side::Cluster => format!("Cluster {}", known.name()),
        };
        // what is overwritten stands nowhere else
        sides.push(match (wish, of_side(&both, side)) {
            (
                Wish::MadeBy(_),
                Marks {
                    initialized: Some(uid),
                    ..
                },
            ) => {
                format!("{object} (instead of UID {uid})")
            }
            (
                Wish::ReturnUnreadable,
                Marks {
                    turn: Holder::Unreadable(text),
                    ..
                },
            ) => {
                format!("{object} (which was {text:?})")
            }
            _ => object,
        });
        both = with(&both, side, to);
    }
    let on = sides.join(" and ");
    match wish {
        Wish::MadeBy(uid) => format!(
            "{} is recorded as the one that ran kubeadm init: annotation {ANNOTATION_INITIALIZED} of {on}",
            capital(&known.candidate(uid).called())
        ),
        Wish::ReturnUnreadable => format!("Annotation {ANNOTATION_TURN} of {on} is removed"),
    }
}

/// With a capital letter, at the beginning of a sentence.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
