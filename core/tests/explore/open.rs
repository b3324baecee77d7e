//! What is known to go wrong, each as the world in which it does and a shortest history to it. Who mends one makes its test fail, and
//! then allows its faults in [`crate::worlds`].

use tatara_core::api::conditions::Reason;

use crate::search::{comes_to_rest, replay};
use crate::world::events::Event::{self, *};
use crate::world::events::Next;
use crate::world::events::Who::{Cluster, Machine};
use crate::world::events::happen;
use crate::world::pass::Cut::{Deposed, Killed};
use crate::world::rest::round;
use crate::world::safety::broken;
use crate::worlds::named;

/// What goes wrong by a history, or afterwards on the way to rest.
#[track_caller]
fn goes_wrong(name: &str, history: &[Event]) -> String {
    let mut state = named(name).start;
    for event in history {
        match happen(&state, *event) {
            Next::State(next) => state = *next,
            Next::Broken(what) => return what,
            Next::Nothing => panic!("{event:?} changes nothing"),
        }
    }
    let found = broken(&state).or_else(|| comes_to_rest(&state).err());
    found.expect("it is still open")
}

/// A manager had decided to start another kubelet, and was deposed before that reached the host; its start arrives after the next
/// manager has brought that update to its end, and while another control plane has the turn. The host compares the marker alone.
#[test]
fn open_a_late_start_of_an_update_stops_a_second_member() {
    let history = [
        Pass(Machine(2)),
        Goes(2),
        Goes(2),
        CutPass(Machine(2), 3, Deposed),
        Pass(Machine(2)),
        Goes(2),
        Goes(2),
        Pass(Machine(2)),
    ];
    let what = goes_wrong("update", &history);
    assert!(what.contains("two members are down"), "{what}");
}

/// The same of kubeadm join: the turn was returned meanwhile, because nothing ran on the host and etcd could not take one more.
#[test]
fn open_a_late_start_of_kubeadm_join_runs_without_the_turn() {
    let mut history = vec![Pass(Machine(1)); 4];
    history.extend([
        Goes(1),
        Pass(Machine(1)),
        CutPass(Machine(1), 3, Deposed),
        Connect,
        Silent(0),
        Pass(Machine(1)),
    ]);
    let what = goes_wrong("join", &history);
    assert!(what.contains("Join of m-1 runs"), "{what}");
}

/// The settings are taken back while the job that starts the only control plane's kubelet anew is cut: the next attempt has the name
/// of what kubeadm's ConfigMaps have by then, and kubeadm has not written that on the host.
#[test]
fn open_settings_taken_back_start_a_kubelet_before_kubeadm_has_written_them() {
    let history = [
        Pass(Cluster),
        Pass(Machine(0)),
        Pass(Machine(0)),
        Goes(0),
        Goes(0),
        Edit(0),
        Pass(Machine(0)),
        Pass(Cluster),
        Goes(0),
        Breaks(0, true),
    ];
    let what = goes_wrong("settings", &history);
    assert!(
        what.contains("settings that kubeadm did not write"),
        "{what}"
    );
}

/// A worker has begun to follow settings, which are taken back then: the control plane begins to go back before the worker has.
#[test]
fn open_settings_taken_back_are_followed_by_two_nodes_at_once() {
    let history = [
        Pass(Cluster),
        Pass(Machine(0)),
        Pass(Machine(0)),
        Goes(0),
        Goes(0),
        Pass(Machine(0)),
        Goes(0),
        Goes(0),
        Pass(Machine(0)),
        Pass(Machine(1)),
        Edit(0),
        Pass(Cluster),
    ];
    let what = goes_wrong("settings", &history);
    assert!(what.contains("two nodes follow settings"), "{what}");
}

/// The record of kubeadm init was written on the Secret alone when the manager was killed, and its Machine is deleted: nobody
/// completes the record, although its host proves it, and the other candidate waits for a person.
#[test]
fn open_a_record_of_init_on_the_secret_alone_is_completed_by_nobody() {
    let mut history = vec![Pass(Machine(0)); 4];
    history.extend([
        Goes(0),
        Pass(Machine(0)),
        Pass(Machine(0)),
        Goes(0),
        Goes(0),
    ]);
    history.extend([CutPass(Machine(0), 2, Killed), Delete(0)]);
    let mut state = replay(&named("init").start, &history);
    for _ in 0..50 {
        state = round(&state).expect("nothing breaks");
    }
    let objects = &state.objects;
    assert_eq!(objects.secret.initialized, Some(0));
    assert_eq!(objects.cluster.initialized, None, "it is completed");
    let waits = objects.machines[1].status.bootstrap;
    assert_eq!(waits, Some((Some(false), Reason::WaitingForTurn)));
}
