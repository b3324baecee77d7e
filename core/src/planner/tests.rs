//! Who gets the turn, by what is known of a control plane.

use serde_json::json;

use super::*;
use crate::Next;
use crate::api::Machine;
use crate::api::cluster::{Turn, TurnAction};
use crate::control_plane::turn::{Both, Holder, Marks};
use crate::machine::LastLook;
use crate::node::JobKind;

mod lanes;
mod order;

const SPARE: MemberView = MemberView {
    serves: true,
    may_restart: true,
};
const NEEDED: MemberView = MemberView {
    serves: true,
    may_restart: false,
};
const DOWN: MemberView = MemberView {
    serves: false,
    may_restart: false,
};

fn seat(name: &str, asks: Option<bool>) -> Seat {
    Seat {
        uid: format!("uid-{name}"),
        name: name.into(),
        wants: asks.map_or(Wants::Nothing, |is_begun| {
            Wants::Asks(Asks {
                action: TurnAction::Upgrade,
                half_done: is_begun,
            })
        }),
        is_begun: true,
        look: LastLook::Idle,
        member: SPARE,
        ..Seat::default()
    }
}

fn turn(name: &str, action: TurnAction) -> Turn {
    Turn {
        machine: format!("uid-{name}"),
        name: name.into(),
        action,
    }
}

fn both(holder: Holder) -> Both {
    let marks = Marks {
        turn: holder,
        initialized: Some("uid-a".into()),
    };
    Both {
        secret: marks.clone(),
        cluster: marks,
        no_secret: false,
    }
}

fn observed(holder: Holder, seats: Vec<Seat>) -> Observed {
    Observed {
        cluster: ("default".into(), "c".into()),
        both: Some(both(holder)),
        uid: "uid-c".into(),
        has_orphan: false,
        seats,
    }
}

/// Whom a plan gives the turn.
fn granted(plan: &Plan) -> Option<&str> {
    match &plan.actions[..] {
        [Action::Grant(turn)] => Some(&turn.name),
        _ => None,
    }
}

const UPGRADE: TurnAction = TurnAction::Upgrade;

fn asks(name: &str) -> Seat {
    seat(name, Some(false))
}

fn idle(name: &str) -> Seat {
    seat(name, None)
}

fn of(name: &str, action: TurnAction) -> Holder {
    Holder::Of(turn(name, action))
}

/// Who gets the turn of these, while it is held so.
#[track_caller]
fn expect(case: &str, holder: Holder, seats: Vec<Seat>, expected: Option<&str>) {
    let plan = plan(&observed(holder, seats));
    assert_eq!(granted(&plan), expected, "{case}");
}

#[test]
fn one_machine_gets_the_turn_that_asks_for_it_while_nobody_has_it() {
    let free = || Holder::Nobody;
    expect("nobody asks", free(), vec![idle("a"), idle("b")], None);
    expect("one asks", free(), vec![idle("a"), asks("b")], Some("b"));
    expect("by name", free(), vec![asks("b"), asks("a")], Some("a"));
    let half = vec![asks("a"), seat("b", Some(true))];
    expect("what is half done goes first", free(), half, Some("b"));
    let both = || vec![asks("a"), idle("b")];
    expect("another has it", of("b", UPGRADE), both(), None);
    expect("it has it", of("a", UPGRADE), both(), None);
    let join = of("a", TurnAction::Join);
    expect("it has it for what it did before", join, both(), Some("a"));
    let runs = Seat {
        runs: Some(JobKind::Upgrade),
        ..idle("b")
    };
    // after a restore, nobody may know of that job
    let join = of("a", TurnAction::Join);
    expect("and a job runs", join, vec![asks("a"), runs], None);
    let orphan = of("cluster", TurnAction::Remove);
    expect("the Cluster removes a member", orphan, both(), None);
    // that turn is free: init is recorded
    expect("of init", of("b", TurnAction::Init), both(), Some("a"));
    let unreadable = Holder::Unreadable("?".into());
    expect("nobody can read it", unreadable, both(), None);
}

#[test]
fn nobody_gets_it_while_another_may_change_its_member_or_is_about_to() {
    let beside = |case: &str, other: Seat, expected| {
        expect(case, Holder::Nobody, vec![asks("a"), other], expected);
    };
    let looked = |look, member| Seat {
        look,
        member,
        ..idle("b")
    };
    let runs = Seat {
        runs: Some(JobKind::Upgrade),
        ..idle("b")
    };
    beside("a job runs", runs, None);
    let (never, silent) = (LastLook::Never, LastLook::Silent);
    let (down, spare) = (DOWN, SPARE);
    beside("a host was not asked", looked(never, down), None);
    beside("a silent host serves", looked(silent, spare), None);
    beside("a dead host", looked(silent, down), Some("a"));
    let new = Seat {
        is_begun: false,
        ..looked(never, down)
    };
    beside("a new Machine", new, Some("a"));
    let leaves = || Seat {
        wants: Wants::Soon,
        ..idle("b")
    };
    beside("another leaves first", leaves(), None);
    let half = vec![seat("a", Some(true)), leaves()];
    expect(
        "what is half done goes before that",
        Holder::Nobody,
        half,
        Some("a"),
    );
}

#[test]
fn one_that_leaves_needs_no_host_and_one_that_joins_no_member() {
    let of = |action, look| Seat {
        wants: Wants::Asks(Asks {
            action,
            half_done: false,
        }),
        look,
        member: DOWN,
        ..idle("a")
    };
    let (never, silent, idle) = (LastLook::Never, LastLook::Silent, LastLook::Idle);
    for look in [never, silent, idle] {
        let leaves = vec![of(TurnAction::Remove, look)];
        expect("leaves", Holder::Nobody, leaves, Some("a"));
    }
    for (look, expected) in [(never, None), (silent, None), (idle, Some("a"))] {
        let joins = vec![of(TurnAction::Join, look)];
        expect("joins", Holder::Nobody, joins, expected);
    }
}

#[test]
fn nobody_gets_it_that_could_not_go_on() {
    let one = |case: &str, seat: Seat, expected| {
        expect(case, Holder::Nobody, vec![seat, idle("b")], expected);
    };
    let with = |is_begun, member| Seat {
        member,
        ..seat("a", Some(is_begun))
    };
    one("etcd needs its member", with(false, NEEDED), None);
    one("and also half done", with(true, NEEDED), None);
    one("it is down", with(false, DOWN), None);
    // etcd does without it already
    let dead = MemberView {
        serves: false,
        may_restart: true,
    };
    one(
        "it is down, and another would be",
        with(false, dead),
        Some("a"),
    );
    one("by its update", with(true, DOWN), Some("a"));
    let held = Seat {
        wants: Wants::Held,
        ..idle("a")
    };
    one("it is held", held, None);
    for look in [LastLook::Never, LastLook::Silent] {
        one("its host was not asked", Seat { look, ..asks("a") }, None);
    }
    // the next one can
    let needed = with(false, NEEDED);
    expect(
        "another",
        Holder::Nobody,
        vec![needed, asks("b")],
        Some("b"),
    );
}

#[test]
fn nothing_is_granted_before_the_secret_was_read_or_init_is_recorded() {
    let seats = vec![seat("a", Some(false))];
    let unread = Observed {
        both: None,
        seats: seats.clone(),
        ..Observed::default()
    };
    assert_eq!(plan(&unread).actions, [Action::Read]);
    // nor is anything read for nobody
    let calm = Observed {
        both: None,
        seats: vec![seat("a", None)],
        ..Observed::default()
    };
    assert_eq!(plan(&calm), Plan::default());
    let mut unmade = observed(Holder::Nobody, seats.clone());
    for marks in unmade
        .both
        .iter_mut()
        .flat_map(|both| [&mut both.secret, &mut both.cluster])
    {
        marks.initialized = None;
    }
    assert_eq!(plan(&unmade).actions, []);
    let mut lost = observed(Holder::Nobody, seats);
    lost.both = lost.both.map(|both| Both {
        secret: Marks::default(),
        no_secret: true,
        ..both
    });
    // the CA Secret is authoritative, and gone: `take` refuses as well
    assert_eq!(plan(&lost).actions, []);
}

#[test]
fn while_somebody_waits_it_is_planned_again() {
    let silent = Seat {
        look: LastLook::Silent,
        ..idle("b")
    };
    let waits = plan(&observed(
        Holder::Nobody,
        vec![seat("a", Some(false)), silent],
    ));
    assert!(matches!(waits.next, Next::After(_)));
    let [(uid, why)] = &waits.waits[..] else {
        panic!("{waits:?}");
    };
    assert_eq!(uid, "uid-a");
    assert!(
        why.contains("kubeadm may be changing the member of Machine b"),
        "{why}"
    );
}

/// The last control plane stays, and its update is brought to its end.
#[test]
fn one_in_deletion_asks_to_leave_or_for_what_it_has_begun() {
    let time = "2026-11-29T08:00:00Z";
    let asks = |action: &str, deleted: Option<&str>, begun: bool, half_done: bool| {
        let machine = json!({
            "metadata": { "name": "a", "deletionTimestamp": deleted },
            "spec": { "providerSpec": {} },
            "status": {
                "lastUpdated": time, "recordedAt": time,
                "change": { "kind": "Update", "begun": begun, "since": time },
                "turnRequest": { "action": action, "halfDone": half_done, "since": time },
            },
        });
        let machine: Machine = serde_json::from_value(machine).expect("a Machine");
        Wants::of(&machine, false) != Wants::Nothing
    };
    let updates = |begun, half_done| asks("upgrade", Some(time), begun, half_done);
    assert_eq!(
        [
            updates(false, false),
            updates(true, false),
            updates(false, true)
        ],
        [false, true, true]
    );
    for half_done in [false, true] {
        let of = |action, deleted| asks(action, deleted, false, half_done);
        assert_eq!([of("join", None), of("join", Some(time))], [true, false]);
        assert_eq!(
            [of("remove", None), of("remove", Some(time))],
            [false, true]
        );
    }
    assert!(!asks("init", None, true, true));
}
