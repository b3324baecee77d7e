//! What explore has found, and what is mended: each history from its world, which holds now.

use crate::search::comes_to_rest;
use crate::world::events::Event::{self, *};
use crate::world::events::Next;
use crate::world::events::Who::{Cluster, Machine};
use crate::world::events::happen;
use crate::world::pass::Cut::{Deposed, Killed, Unanswered};
use crate::world::safety::broken;
use crate::worlds::named;

/// Nothing is broken by a history, nor afterwards on the way to rest. What of it is not possible any more is left out.
#[track_caller]
fn holds(name: &str, history: &[Event]) {
    let mut state = named(name).start;
    for event in history {
        match happen(&state, *event) {
            Next::State(next) => state = *next,
            Next::Broken(what) => panic!("{what}, by {event:?}"),
            Next::Nothing => (),
        }
        assert_eq!(broken(&state), None, "by {event:?}");
    }
    assert_eq!(comes_to_rest(&state), Ok(()));
}

/// A manager had decided to start another kubelet, and was deposed before that reached the host; its start arrives after the next
/// manager has brought that update to its end, and while another control plane has the turn. The host compared the marker alone.
#[test]
fn a_late_start_of_an_update_stops_no_second_member() {
    let history = [
        Pass(Machine(2)),
        Goes(2),
        Goes(2),
        CutPass(Machine(2), 3, Deposed),
        Pass(Machine(2)),
        Goes(2),
        Goes(2),
        Pass(Machine(2)),
        Late,
    ];
    holds("update", &history);
}

/// The same of kubeadm join: the turn was returned meanwhile, because nothing ran on the host and etcd could not take one more.
#[test]
fn a_late_start_of_kubeadm_join_does_not_run_without_the_turn() {
    let mut history = vec![Pass(Machine(1)); 4];
    history.extend([
        Goes(1),
        Pass(Machine(1)),
        CutPass(Machine(1), 3, Deposed),
        Connect,
        Silent(0),
        Pass(Machine(1)),
        Late,
    ]);
    holds("join", &history);
}

/// The settings are taken back while the job that starts the only control plane's kubelet anew is cut: the next attempt has the name
/// of what kubeadm's ConfigMaps have by then, and kubeadm has not written that on the host.
#[test]
fn settings_taken_back_start_no_kubelet_under_their_name_before_kubeadm_has_written_them() {
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
    holds("settings", &history);
}

/// A worker has begun to follow settings, which are taken back then: the control plane begins to go back before the worker has.
#[test]
fn settings_taken_back_are_followed_by_one_node_at_a_time() {
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
    holds("settings", &history);
}

/// The record of kubeadm init was written on the Secret alone when the manager was killed, and its Machine is deleted; it is
/// completed from what its host shows: else the other candidate would wait for ever.
#[test]
fn a_record_of_init_on_the_secret_alone_is_completed_though_its_machine_is_deleted() {
    let mut history = vec![Pass(Machine(0)); 4];
    history.extend([
        Goes(0),
        Pass(Machine(0)),
        Pass(Machine(0)),
        Goes(0),
        Goes(0),
    ]);
    history.extend([CutPass(Machine(0), 2, Killed), Delete(0)]);
    holds("init", &history);
}

/// Somebody removes the record of init from the Cluster, while a control plane that has joined still has the turn of that: it took any
/// turn of its own for that of init, and its host had run kubeadm already, so that nothing was read before `kubeadm init`.
#[test]
fn the_turn_of_a_join_is_not_that_of_init() {
    let mut history = vec![Pass(Machine(1)); 4];
    history.extend([Goes(1), Pass(Machine(1)), Pass(Machine(1))]);
    history.extend([Goes(1), Goes(1), Pass(Machine(1))]);
    history.extend(vec![Pass(Machine(0)); 4]);
    history.extend([Goes(0), CutPass(Machine(0), 1, Unanswered)]);
    history.extend([Pass(Machine(0)), Goes(0), Goes(0), Goes(0)]);
    history.push(ForgetRecord(false));
    holds("init", &history);
}
