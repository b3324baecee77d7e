//! A pass of the planner of the control plane: by what the watches show, and what the manager remembers of hosts and etcd.

use tatara_core::control_plane::turn::take;
use tatara_core::machine::is_begun;
use tatara_core::planner::{Action, MemberView, Observed, Seat, Wants, plan};

use super::build::{CLUSTER_UID, address, both, machine, machine_name};
use super::pass::{Cut, Doing};
use super::perform::go;
use super::scope::changes_member;
use super::state::{MOST, State};

/// A pass of the planner.
pub fn of_planner(state: &State, stop: Option<(u8, Cut)>) -> Doing {
    let mut doing = Doing::new(state, stop);
    for action in plan(&observed(state)).actions {
        match action {
            // as with every manager that connects
            Action::Read => (),
            Action::Grant(to) => {
                go(&mut doing, |both| take(both, &to));
            }
        }
    }
    doing
}

fn observed(state: &State) -> Observed {
    let known = state.known();
    let is_plane = |which: &usize| {
        let machine = &known.machines[*which];
        machine.exists && machine.is_control_plane
    };
    Observed {
        cluster: ("default".into(), "a".into()),
        uid: CLUSTER_UID.into(),
        has_orphan: known.asks,
        both: state.memory.connected.then(|| both(known)),
        seats: (0..MOST)
            .filter(is_plane)
            .map(|which| seat(state, which))
            .collect(),
    }
}

fn seat(state: &State, which: usize) -> Seat {
    let object = &state.known().machines[which];
    let built = machine(which, object);
    let look = state.memory.look[which];
    let followed = state.memory.follow[which];
    let followed = followed.filter(|kind| changes_member(*kind, object.status.node.is_some()));
    let members = state.members_now().ok();
    let address = object.chosen.map(|host| address(host.into()));
    Seat {
        uid: built.metadata.uid.clone().unwrap_or_default(),
        name: machine_name(which).into(),
        wants: Wants::of(&built, false),
        is_begun: is_begun(&built),
        runs: followed.or(look.job()),
        look,
        member: MemberView::of(members.as_ref(), address.as_slice(), &[]),
    }
}
