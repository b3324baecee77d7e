//! The ends that are less usual: in mid-join, during a reset, without a place, and of who holds the
//! address.

use super::*;
use crate::control_plane::component::{Answer, Component, ComponentState, Components};
use crate::machine::{LastLook, status};
use crate::node::Follow;

#[test]
fn a_join_that_may_run_is_waited_for_before_its_machine_is_released() {
    let of = |contact: Contact| {
        let mut observed = beside(deleted(control_plane(), at(0)), |c| {
            c.turn = Some(turn(ME, TurnAction::Join));
            c.etcd = Lookup::Known(etcd_at(&[FIRST]));
        });
        let settings = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } } });
        observed = edited(observed, &settings);
        observed.placement = held(contact);
        plan(&observed, at(1))
    };
    let joining = |state| {
        let observed = control_plane();
        let unit = unit(&observed, JobKind::Join, state);
        Contact::Seen(Box::new(Observation {
            owner: own(&observed),
            ..unmarked(vec![unit])
        }))
    };
    let says = ("Deleting", "WaitingForHost", &["kubeadm join runs"][..]);
    let runs = joining(UnitState::Running(step("join")));
    expect("it runs", &of(runs), &[], says);
    expect("it is followed", &of(Contact::NotAsked), &[], says);
    let silent = Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no route".into(),
    };
    let says = (
        "Deleting",
        "WaitingForHost",
        &["no route", "declare-gone"][..],
    );
    expect("it is silent", &of(silent), &[], says);
    let ended = of(joining(failure("it failed")));
    let kinds = ended.actions.as_slice();
    assert!(
        matches!(
            kinds,
            [
                Action::ReturnTurn(TurnIsOver::Member(_)),
                Action::Release(_)
            ]
        ),
        "{kinds:?}"
    );
}

#[test]
fn a_member_is_removed_also_of_a_machine_that_is_being_reset() {
    let member = etcd_at(&[OWN, FIRST, SECOND]).list[0].clone();
    let of = |observed: Observed, holder: Option<&str>| {
        let observed = beside(deleted(observed, at(0)), |c| {
            c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
            c.turn = holder.map(|holder| turn(holder, TurnAction::Remove));
        });
        let plan = plan(&observed, at(1));
        (plan.asks.map(|asks| asks.action), plan.actions)
    };
    let mut releasing = running(control_plane());
    if let Placement::Held(held) = &mut releasing.placement {
        held.releasing = true;
    }
    let asks = (Some(TurnAction::Remove), Vec::new());
    assert_eq!(of(releasing.clone(), None), asks);
    let leave = (None, vec![Action::RemoveMember(member.clone())]);
    assert_eq!(of(releasing, Some(ME)), leave);
}

#[test]
fn the_member_of_a_join_that_runs_stays_until_that_has_ended() {
    let leaving = |joining: Observed| {
        let begun = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } } });
        beside(deleted(edited(joining, &begun), at(0)), |c| {
            c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
            c.turn = Some(turn(ME, TurnAction::Join));
        })
    };
    let of = |state: UnitState| {
        let joining = prepared(control_plane(), &[(JobKind::Join, state)]);
        plan(&leaving(joining), at(1))
    };
    let runs = of(UnitState::Running(step("join")));
    assert_eq!(runs.actions, []);
    assert_eq!(finding(&runs, "Deleting").reason(), Reason::WaitingForHost);
    let mut followed = prepared(control_plane(), &[]);
    followed.placement = held(Contact::NotAsked);
    followed.follow = Some(Follow {
        job: followed.marker.job(JobKind::Join),
        progress: None,
        since: at(0),
        retried: None,
    });
    let followed = plan(&leaving(followed), at(1));
    assert_eq!(followed.actions, []);
    assert_eq!(
        finding(&followed, "Deleting").reason(),
        Reason::WaitingForHost
    );
    let ended = of(failure("no"));
    let asks = ended.asks.map(|asks| asks.action);
    assert_eq!(asks, Some(TurnAction::Remove), "{:?}", ended.actions);
}

#[test]
fn a_hook_after_the_drain_keeps_the_member_too() {
    let hook = format!("{}/x", crate::api::names::HOOK_PRE_TERMINATE);
    let hook = json!({ "metadata": { "annotations": { (hook): "" } } });
    let leaving = edited(deleted(running(control_plane()), at(0)), &hook);
    let observed = beside(leaving, |c| {
        c.etcd = Lookup::Known(etcd_at(&[OWN, FIRST, SECOND]));
    });
    let actions = plan(&observed, at(1)).actions;
    assert!(
        matches!(
            actions.as_slice(),
            [
                Action::Drain { .. },
                Action::AwaitVolumes { .. },
                Action::AwaitHooks(_)
            ]
        ),
        "{actions:?}"
    );
}

#[test]
fn a_component_that_does_not_serve_is_said_and_the_machine_stays_ready() {
    let fails = || Answer::Fails("/healthz answers 500: no lease".into());
    let state = [0, 20].into_iter();
    let state = state.fold(None, |before: Option<ComponentState>, now| {
        Some(ComponentState::next(before.as_ref(), fails(), at(now)))
    });
    let serves = ComponentState::next(None, Answer::Serves, at(0));
    let components = Components {
        version: Some("v1.36.2".into()),
        states: [
            (Component::ApiServer, serves),
            (Component::Scheduler, state.expect("a state")),
        ]
        .into(),
    };
    let begun = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } } });
    let observed = beside(edited(running(control_plane()), &begun), |c| {
        c.components = Some(Arc::new(components));
    });
    let plan = plan(&observed, at(1));
    assert_eq!(finding(&plan, "APIServerHealthy").reason(), Reason::Answers);
    let said = finding(&plan, "SchedulerHealthy");
    assert_eq!(
        (said.status, said.reason()),
        (Status::False, Reason::ComponentUnhealthy)
    );
    assert!(
        said.message()
            .contains("kube-scheduler on host-a does not serve: /healthz answers 500")
    );
    assert_eq!(finding(&plan, "Ready").status, Status::True);
    // what runs is what its own API server says, not what is wanted
    let old = observed.machine.status.clone().unwrap_or_default();
    let status = status::status(&observed, &plan, &old, at(0));
    let versions = status.versions.expect("versions");
    assert_eq!(versions.control_plane.as_deref(), Some("v1.36.2"));
}

#[test]
fn kubeadm_that_runs_on_its_host_is_waited_for_whoever_has_the_turn() {
    let three = &[OWN, FIRST, SECOND];
    let running_on_host = |kind, joined: bool, holder: Option<&str>| {
        let observed = beside(deleted(running(control_plane()), at(0)), |c| {
            c.turn = holder.map(|holder| turn(holder, TurnAction::Remove));
            c.etcd = Lookup::Known(etcd_at(three));
        });
        let job = unit(&observed, kind, UnitState::Running(step("kubeadm")));
        let mut observed = ours(observed, vec![job]);
        if let Placement::Held(Infrastructure {
            contact: Contact::Seen(seen),
            ..
        }) = &mut observed.placement
            && let Ownership::Owner(owner) = &mut seen.owner
        {
            owner.joined = joined;
        }
        plan(&observed, at(1))
    };
    for holder in [None, Some(ME), Some(OTHER)] {
        for (kind, joined) in [
            (JobKind::Upgrade, true),
            (JobKind::Kubelet, true),
            (JobKind::Join, false),
        ] {
            let case = format!("{kind:?}, turn of {holder:?}");
            let waits = running_on_host(kind, joined, holder);
            let says = ("Deleting", "WaitingForHost", &["runs on its host"][..]);
            let ends = |action: &Action| {
                matches!(
                    action,
                    Action::RemoveMember(_) | Action::RunJob(JobKind::Address)
                ) || matches!(action, Action::TakeTurn | Action::Release(..))
            };
            assert!(
                !waits.actions.iter().any(ends),
                "{case}: {:?}",
                waits.actions
            );
            let found = finding(&waits, says.0);
            assert_eq!(found.reason().as_str(), says.1, "{case}");
            assert!(
                found.message().contains(says.2[0]),
                "{case}: {}",
                found.message()
            );
        }
    }
}

#[test]
fn a_job_that_was_seen_on_a_host_that_is_silent_by_now_holds_only_what_it_may_undo() {
    let of = |seen, silent: bool, etcd: &[&str], action: Option<TurnAction>| {
        let leaving = beside(deleted(running(control_plane()), at(0)), |c| {
            c.turn = action.map(|action| turn(ME, action));
            c.etcd = Lookup::Known(etcd_at(etcd));
        });
        let contact = if silent {
            Contact::Unreachable {
                reason: Reason::SshUnreachable,
                message: "no route".into(),
            }
        } else {
            Contact::NotAsked
        };
        let observed = Observed {
            last_look: LastLook::Runs(seen),
            placement: held(contact),
            ..leaving
        };
        plan(&observed, at(1))
    };
    let (there, gone) = (&[OWN, FIRST, SECOND][..], &[FIRST, SECOND][..]);
    let remove = Some(TurnAction::Remove);
    for turn in [None, remove] {
        let waits = of(JobKind::Upgrade, false, there, turn);
        assert_eq!(finding(&waits, "Deleting").reason(), Reason::WaitingForHost);
        for kind in [JobKind::Upgrade, JobKind::Kubelet, JobKind::Join] {
            let leaves = of(kind, true, there, turn);
            let removes = |action: &Action| matches!(action, Action::RemoveMember(_));
            let has_begun = leaves.actions.iter().any(removes);
            let asks = leaves.asks.or(leaves.asks_then);
            let asks = asks.map(|asks| asks.action);
            assert_eq!(has_begun, turn.is_some(), "{kind:?}: {:?}", leaves.actions);
            assert_eq!(asks, remove.filter(|_| turn.is_none()), "{kind:?}");
        }
    }
    // its member is gone: the turn ends, and its host is released, by a BMC or a time limit if need
    // be
    for kind in [JobKind::Upgrade, JobKind::Kubelet] {
        let released = of(kind, true, gone, remove).actions;
        assert!(
            matches!(&*released, [Action::ReturnTurn(_), .., Action::Release(_)]),
            "{kind:?}: {released:?}"
        );
    }
    let parts = &["no route", "declare-gone"][..];
    let says = ("Deleting", "WaitingForHost", parts);
    let joins = of(JobKind::Join, true, gone, remove);
    expect("it may add a member", &joins, &[], says);
}

#[test]
fn a_virtual_machine_is_silent_while_its_gateway_does_not_answer() {
    let looked = |is_connecting| {
        let mut observed = virtual_machines::silent(beside(running(control_plane()), |_| ()));
        observed.last_look = LastLook::Never;
        if let Some(machine) = &mut observed.virtual_machine {
            machine.is_connecting = is_connecting;
        }
        observed.learn_look();
        observed.last_look
    };
    assert_eq!(looked(true), LastLook::Never);
    assert_eq!(looked(false), LastLook::Silent);
}

#[test]
fn no_member_is_changed_while_a_job_runs_on_the_host_of_another() {
    let three = &[OWN, FIRST, SECOND];
    let busy = |c: &mut ObservedCluster| c.other_control_planes[0].runs = Some(JobKind::Upgrade);
    let parts = &["kubeadm upgrade runs on the host of control-plane Machine cp-1"][..];
    let joins = beside(prepared(control_plane(), &[]), busy);
    let told = ("BootstrapReady", "WaitingForTurn", parts);
    expect("a join", &plan(&joins, at(0)), &[Action::AwaitRecord], told);
    for holder in [None, Some(ME)] {
        let leaves = beside(deleted(running(control_plane()), at(0)), |c| {
            c.turn = holder.map(|holder| turn(holder, TurnAction::Remove));
            c.etcd = Lookup::Known(etcd_at(three));
            busy(c);
        });
        let waits = plan(&ours(leaves, Vec::new()), at(1));
        let found = finding(&waits, "Deleting");
        assert_eq!(found.reason().as_str(), "WaitingForTurn", "{holder:?}");
        assert!(found.message().contains(parts[0]), "{}", found.message());
        let changes = |action: &Action| {
            matches!(
                action,
                Action::RemoveMember(_) | Action::TakeTurn | Action::RunJob(_)
            )
        };
        assert!(!waits.actions.iter().any(changes), "{:?}", waits.actions);
    }
}
