//! Who holds the virtual IP while a control plane leaves.

use super::*;
use crate::machine::must_ask;
use crate::node::{Follow, give_address};

const THREE: &[&str] = &[OWN, FIRST, SECOND];

fn virtual_ip(cluster: &mut ObservedCluster) {
    let endpoint =
        json!({ "controlPlaneEndpoint": { "host": "192.0.2.100", "heldBy": "virtualIP" } });
    cluster.spec = Ok(serde_json::from_value(endpoint).expect("settings"));
    cluster.etcd = Lookup::Known(etcd_at(THREE));
    cluster.other_control_planes[0].applied = Some("unit".into());
}

fn leaves(cluster: &mut ObservedCluster) {
    virtual_ip(cluster);
    cluster.turn = Some(turn(ME, TurnAction::Remove));
}

/// A drained one of three that is being deleted, behind a virtual IP.
fn leaving(change: impl FnOnce(&mut ObservedCluster)) -> Observed {
    let mut observed = deleted(running(control_plane()), at(0));
    observed.node = Lookup::Known(None);
    observed.own_address = Some(OWN.into());
    beside(observed, change)
}

/// Its host shows this job of kind Address.
fn shows(mut observed: Observed, identity: &str, state: UnitState) -> Observed {
    let job = UnitStatus {
        retried: None,
        job: observed.marker.job(JobKind::Address),
        identity: identity.into(),
        state,
    };
    if job.state == UnitState::Succeeded {
        observed.applied_address = Some(job.identity.clone());
    }
    ours(observed, vec![job])
}

fn part(observed: &Observed) -> String {
    units::address(observed).expect("a part").identity
}

fn given() -> String {
    give_address().render().expect("a unit").identity()
}

/// Nobody took the address, for the first time then.
fn failed_since(seconds: i64) -> UnitState {
    UnitState::Failed(Failure {
        attempt: 3,
        since: Some(at(seconds).as_millisecond()),
        causes: vec!["why: nobody answers".into(), "do: see the others".into()],
        at: step("give-address"),
        exit_code: 1,
        findings: Vec::new(),
        output: String::new(),
    })
}

fn remove() -> Action {
    Action::RemoveMember(etcd_at(THREE).list[0].clone())
}

#[test]
fn the_virtual_ip_is_not_left_without_a_holder() {
    let waits = plan(
        &leaving(|c| {
            virtual_ip(c);
            c.other_control_planes[0].applied = None;
        }),
        at(1),
    );
    assert_eq!(finding(&waits, "Deleting").reason(), "AddressChanging");
    assert_eq!(waits.actions, []);
}

#[test]
fn the_virtual_ip_is_given_away_with_the_turn_and_before_the_member_is_removed() {
    let with_turn = || leaving(leaves);
    let own = part(&with_turn());
    let silent = Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no route".into(),
    };
    let mut followed = with_turn();
    followed.follow = Some(Follow {
        job: followed.marker.job(JobKind::Address),
        progress: None,
        since: at(0),
        retried: None,
    });
    let mut dead = with_turn();
    dead.placement = held(silent);
    let mut another_owner = shows(with_turn(), &own, UnitState::Succeeded);
    if let Placement::Held(held) = &mut another_owner.placement
        && let Contact::Seen(seen) = &mut held.contact
    {
        seen.owner = Ownership::Nobody;
    }
    let gone = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let give = vec![Action::GiveAddress];
    let leave = vec![remove()];
    let succeeded = || UnitState::Succeeded;
    let runs = || UnitState::Running(step("give-address"));
    let cut = || UnitState::Interrupted(step("give-address"));
    let cases = vec![
        ("it asks for the turn first", leaving(virtual_ip), vec![]),
        (
            "it takes part",
            shows(with_turn(), &own, succeeded()),
            give.clone(),
        ),
        (
            "its part as init made it",
            ours(with_turn(), Vec::new()),
            give.clone(),
        ),
        (
            "its part was not changed last",
            shows(with_turn(), &own, failure("no")),
            give.clone(),
        ),
        (
            "it runs, and the manager has started since",
            shows(with_turn(), &given(), runs()),
            give.clone(),
        ),
        ("it is followed", followed, vec![]),
        (
            "it was cut",
            shows(with_turn(), &given(), cut()),
            give.clone(),
        ),
        (
            "nobody took it, and it is tried again",
            shows(with_turn(), &given(), failed_since(0)),
            give.clone(),
        ),
        (
            "nobody took it for an hour",
            shows(with_turn(), &given(), failed_since(-3600)),
            give,
        ),
        (
            "another one has it",
            shows(with_turn(), &given(), succeeded()),
            leave.clone(),
        ),
        ("its host is silent", dead, leave.clone()),
        ("its host is another's", another_owner, leave.clone()),
        (
            "its user says gone",
            edited(with_turn(), &gone),
            leave.clone(),
        ),
        (
            "an address that is not ours",
            leaving(|c| {
                c.etcd = Lookup::Known(etcd_at(THREE));
                c.turn = Some(turn(ME, TurnAction::Remove));
            }),
            leave,
        ),
    ];
    for (case, observed, actions) in cases {
        assert_eq!(plan(&observed, at(1)).actions, actions, "{case}");
    }
}

#[test]
fn it_is_said_that_nobody_takes_the_virtual_ip_and_what_ends_that() {
    let says = |state| {
        let plan = plan(&shows(leaving(leaves), &given(), state), at(1));
        let said = finding(&plan, "Deleting");
        (said.reason(), said.message())
    };
    let (reason, message) = says(failed_since(0));
    assert_eq!(reason, Reason::AddressFailed);
    let end = "to let it leave without that, only if two other control planes are healthy: switch its host off";
    assert!(
        message.starts_with("nobody answers. See the others.")
            && message.to_lowercase().contains(end)
    );
    let (reason, _) = says(UnitState::Running(step("give-address")));
    assert_eq!(reason, Reason::AddressChanging);
}

#[test]
fn a_host_on_which_nothing_can_be_started_is_tried_with_back_off_and_does_not_hold_its_machine() {
    let unstarted = |since: i64, last: i64, now: i64| {
        let mut observed = leaving(leaves);
        let own = part(&observed);
        let attempts = Attempts {
            failed: 3,
            since: Some(at(since)),
            last: Some(at(last)),
            error: Some("why: the disk is full\ndo: free it".into()),
        };
        observed.attempts = [(JobKind::Address, attempts)].into();
        plan(&shows(observed, &own, UnitState::Succeeded), at(now)).actions
    };
    assert_eq!(unstarted(0, 1, 1), []);
    assert_eq!(unstarted(-200, -100, 1), [Action::GiveAddress]);
    // what failed before its deletion does not count
    assert_eq!(unstarted(-3600, 1, 1), []);
    assert_eq!(unstarted(-3600, 300, 301), [remove()]);
}

#[test]
fn who_gave_the_virtual_ip_away_and_does_not_leave_takes_part_again() {
    let takes_part = [Action::RunJob(JobKind::Address)];
    let three = etcd_at(THREE);
    let proof = MemberProof::of(ME, (&[OWN], &[]), &three).expect("a proof");
    let returned = Action::ReturnTurn(TurnIsOver::Member(proof));
    let gave = |observed: Observed, state| shows(observed, &given(), state);
    let at_risk = |c: &mut ObservedCluster| {
        leaves(c);
        c.etcd = unhealthy(THREE, FIRST);
        c.other_control_planes.push(ControlPlaneMachine {
            name: "cp-2".into(),
            address: Some(SECOND.into()),
            applied: Some("unit".into()),
            leaves: false,
            look: LastLook::Idle,
            runs: None,
        });
    };
    for state in [UnitState::Succeeded, failed_since(0)] {
        let observed = gave(leaving(at_risk), state);
        let plan = plan(&observed, at(1));
        assert_eq!(plan.actions, [takes_part[0].clone(), returned.clone()]);
        assert_eq!(finding(&plan, "Deleting").reason(), Reason::QuorumAtRisk);
        assert!(must_ask(&observed));
    }
    let hook = format!("{}/x", crate::api::names::HOOK_PRE_TERMINATE);
    let hook = json!({ "metadata": { "annotations": { (hook): "" } } });
    let held = gave(edited(leaving(leaves), &hook), UnitState::Succeeded);
    let held = plan(&held, at(1));
    assert_eq!(held.actions, takes_part);
    assert_eq!(finding(&held, "Deleting").reason(), Reason::WaitingForHook);
    // one that never began does nothing
    let own = part(&leaving(leaves));
    let drains = shows(
        edited(leaving(virtual_ip), &hook),
        &own,
        UnitState::Succeeded,
    );
    assert_eq!(plan(&drains, at(1)).actions, []);
}

#[test]
fn a_host_is_asked_only_while_its_machine_leaves() {
    let knows = |observed: Observed| {
        let own = part(&observed);
        Observed {
            applied_address: Some(own),
            ..observed
        }
    };
    let stays = |change: fn(&mut ObservedCluster)| {
        let mut observed = beside(running(control_plane()), change);
        observed.own_address = Some(OWN.into());
        observed
    };
    let not_ours = leaving(|c| {
        c.etcd = Lookup::Known(etcd_at(THREE));
        c.turn = Some(turn(ME, TurnAction::Remove));
    });
    let drained = |observed: Observed| {
        let draining = json!({
            "type": "Draining", "status": "True", "reason": "Draining", "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z",
        });
        edited(observed, &json!({ "status": { "conditions": [draining] } }))
    };
    let looked = |last_look| Observed {
        last_look,
        ..knows(stays(virtual_ip))
    };
    for (case, observed) in [
        ("at rest", knows(stays(virtual_ip))),
        ("its drain may last", drained(knows(leaving(virtual_ip)))),
    ] {
        assert!(!must_ask(&observed), "{case}");
    }
    for (case, observed) in [
        ("before its turn", knows(leaving(virtual_ip))),
        ("it leaves", knows(leaving(leaves))),
        ("an address that is not ours", not_ours),
        ("not asked since the start", looked(LastLook::Never)),
        ("a job ran", looked(LastLook::Runs(JobKind::Upgrade))),
    ] {
        assert!(must_ask(&observed), "{case}");
    }
}
