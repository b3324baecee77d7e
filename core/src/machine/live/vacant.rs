//! Turns of Machines that do not exist, and that of a Cluster itself: whether they may be returned
//! or used, by what was read live just before.

use kube::ResourceExt;

use crate::api::cluster::{Turn, TurnAction};
use crate::api::{Cluster, Machine};
use crate::control_plane::turn::{Both, Holder, Step};
use crate::proof::{Ended, HostIsGone, Proof, TurnIsOver};

/// Whether the Cluster itself has the turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// The Cluster has it.
    Own,
    /// Another has it.
    By(Turn),
    /// What was decided on is not true any more, or the Cluster and its CA Secret contradict each
    /// other.
    Changed,
}

/// The turn that a Cluster gets for itself, to remove an etcd member that belongs to no Machine.
pub fn of_cluster(cluster: &Cluster) -> Turn {
    Turn {
        machine: cluster.uid().unwrap_or_default(),
        name: cluster.name_any(),
        action: TurnAction::Remove,
    }
}

/// Who has the turn of which the Cluster was to make sure.
pub fn held(step: Step) -> Held {
    match step {
        Step::Done => Held::Own,
        Step::Blocked(by) => Held::By(by),
        _ => Held::Changed,
    }
}

/// The turn that is returned once its Machine does not exist: a later one than that of `kubeadm
/// init`, which nothing but a proof ends.
pub fn later(both: &Both) -> Option<&Turn> {
    let holder = both.holder();
    holder.filter(|turn| turn.is_later())
}

/// Why that turn is over: `machine`, the one of its holder's name, is not the holder. `None` if it
/// is.
pub fn without_machine(turn: &Turn, machine: Option<&Machine>) -> Option<TurnIsOver> {
    (!is_of(turn, machine)).then(|| TurnIsOver::Vacant(turn.machine.clone()))
}

/// The turn whose host no longer exists, as the user asserts on the Cluster with this value of the
/// annotation.
pub fn named<'a>(both: &'a Both, says: Option<&String>) -> Option<&'a Turn> {
    let holders = [&both.secret.turn, &both.cluster.turn];
    holders.into_iter().find_map(|holder| match holder {
        Holder::Of(turn) if Some(&turn.machine) == says => Some(turn),
        _ => None,
    })
}

/// Why the turn that the user named is over. `None` if its Machine exists, whose own annotation
/// says that then.
pub fn by_act(turn: &Turn, machine: Option<&Machine>) -> Option<TurnIsOver> {
    let says = HostIsGone {
        value: &turn.machine,
        counts: !is_of(turn, machine),
    };
    let proof = Proof::of_user(&turn.machine, says)?;
    Ended::from(&proof).map(TurnIsOver::Proven)
}

/// Whether the Machine is the holder of the turn, by its UID.
fn is_of(turn: &Turn, machine: Option<&Machine>) -> bool {
    machine.is_some_and(|machine| machine.uid().as_ref() == Some(&turn.machine))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::control_plane::turn::{Doubt, Marks, Side};

    fn turn(action: TurnAction) -> Turn {
        Turn {
            machine: "m".into(),
            name: "cp".into(),
            action,
        }
    }

    fn both(secret: Holder, cluster: Holder) -> Both {
        let marks = |turn| Marks {
            turn,
            initialized: None,
        };
        Both {
            secret: marks(secret),
            cluster: marks(cluster),
            no_secret: false,
        }
    }

    fn machine(uid: &str) -> Machine {
        let machine = json!({ "metadata": { "name": "cp", "uid": uid }, "spec": {} });
        serde_json::from_value(machine).expect("a Machine")
    }

    #[test]
    fn a_cluster_has_the_turn_only_once_nothing_is_left_to_write() {
        let by = turn(TurnAction::Join);
        let cut = Doubt::Unreadable(Side::Secret, String::new());
        for (step, expected) in [
            (Step::Done, Held::Own),
            (Step::Blocked(by.clone()), Held::By(by)),
            (Step::NotInitialized, Held::Changed),
            (Step::NoSecret, Held::Changed),
            (Step::InDoubt(cut), Held::Changed),
        ] {
            assert_eq!(held(step.clone()), expected, "{step:?}");
        }
    }

    #[test]
    fn only_a_later_turn_is_vacant_and_only_without_its_machine() {
        for (action, is_later) in [
            (TurnAction::Init, false),
            (TurnAction::Join, true),
            (TurnAction::Upgrade, true),
            (TurnAction::Remove, true),
        ] {
            let both = both(Holder::Of(turn(action)), Holder::Nobody);
            assert_eq!(later(&both).is_some(), is_later, "{action:?}");
        }
        let turn = turn(TurnAction::Join);
        for (case, machine, is_over) in [
            ("gone", None, true),
            ("made again", Some(machine("n")), true),
            ("there", Some(machine("m")), false),
        ] {
            let over = without_machine(&turn, machine.as_ref());
            let vacant = is_over.then(|| TurnIsOver::Vacant("m".into()));
            assert_eq!(over, vacant, "{case}");
            let over = by_act(&turn, machine.as_ref());
            assert_eq!(over.is_some(), is_over, "{case}");
            assert!(over.is_none_or(|over| over.is_about("m")), "{case}");
        }
    }

    #[test]
    fn a_user_names_the_turn_by_the_uid_of_its_machine_on_either_object() {
        let of = || Holder::Of(turn(TurnAction::Init));
        let (own, other) = ("m".to_owned(), "n".to_owned());
        for (case, both, says, is_named) in [
            ("Secret", both(of(), Holder::Nobody), Some(&own), true),
            ("Cluster", both(Holder::Nobody, of()), Some(&own), true),
            ("another", both(of(), of()), Some(&other), false),
            ("nothing said", both(of(), of()), None, false),
            (
                "nobody",
                both(Holder::Nobody, Holder::Nobody),
                Some(&own),
                false,
            ),
        ] {
            assert_eq!(named(&both, says).is_some(), is_named, "{case}");
        }
    }
}
