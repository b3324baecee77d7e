//! What is known to go wrong, each as the world in which it does and a shortest history to it. Who mends one makes its test fail, and
//! then allows its faults in [`crate::worlds`].

use tatara_core::api::conditions::Reason;

use crate::search::replay;
use crate::world::events::Event::*;
use crate::world::events::Who::Machine;
use crate::world::pass::Cut::Killed;
use crate::world::rest::round;
use crate::worlds::named;

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
