//! The way out.

mod drains;
mod hooks;
mod simulated;
mod unclear;
mod unheld;

use std::time::Duration;

use super::super::super::observed::Stuck;
use super::*;
use crate::api::names::ANNOTATION_HOST_IS_GONE;
use crate::host::PowerState;
use crate::proof::HostIsGone;

fn drain() -> [Action; 3] {
    let (node, uid) = ("host-a".to_owned(), "node".to_owned());
    [
        Action::Drain {
            node: node.clone(),
            uid,
        },
        Action::AwaitVolumes { node },
        Action::Release(Release::Now),
    ]
}

/// What ends a Machine with a Node, by this proof.
fn over(proof: &Proof) -> [Action; 2] {
    [delete_node_by(proof), finalizer_by(proof)]
}

fn release_limit(seconds: i64) -> Value {
    json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": seconds } } })
}

fn deleting(observed: Observed) -> Observed {
    deleted(observed, at(0))
}

fn released(mut observed: Observed) -> Observed {
    if let Placement::Held(held) = &mut observed.placement {
        held.releasing = true;
    }
    observed
}

/// Let go of at a host that has not answered since.
fn silent_since(observed: Observed, since: Timestamp) -> Observed {
    let mut observed = released(observed);
    if let Placement::Held(held) = &mut observed.placement {
        held.stuck = Some(Stuck::Silent(since));
        held.contact = Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "no route".into(),
        };
    }
    observed
}

/// Let go of, and its host says that it was reset.
fn reset(observed: Observed) -> Observed {
    let mut observed = released(observed);
    if let Placement::Held(held) = &mut observed.placement {
        held.contact = says(reset_of(ME));
    }
    observed
}

#[test]
fn a_worker_is_drained_then_let_go_then_its_node_goes_then_it() {
    let cases: [(&str, Observed, &[Action], &str); 4] = [
        ("a Node", deleting(running(worker())), &drain(), "Draining"),
        (
            "let go",
            deleting(released(running(worker()))),
            &[],
            "WaitingForHost",
        ),
        (
            "host reset",
            deleting(reset(running(worker()))),
            &over(&by_reset()),
            "Finishing",
        ),
        (
            "nothing held",
            deleting(worker()),
            &[finalizer_by(&by_nothing())],
            "Finishing",
        ),
    ];
    for (case, observed, actions, reason) in cases {
        let plan = plan(&observed, at(1));
        expect(case, &plan, actions, ("Deleting", reason, &[]));
        assert_eq!(plan.phase, Phase::Deleting, "{case}");
        assert_eq!(finding(&plan, "Ready").reason(), reason, "{case}");
    }
}

#[test]
fn nothing_is_drained_when_the_whole_cluster_goes() {
    let observed = with_cluster(deleting(running(worker())), |c| c.deleting = true);
    let says = ("Deleting", "Releasing", &["host-a"][..]);
    expect(
        "Cluster deleting",
        &plan(&observed, at(1)),
        &[Action::Release(Release::Now)],
        says,
    );
    let mut orphan = deleting(running(worker()));
    orphan.cluster = None;
    expect(
        "Cluster gone",
        &plan(&orphan, at(1)),
        &[Action::Release(Release::Now)],
        says,
    );
}

#[test]
fn a_node_that_cannot_be_looked_at_is_neither_reset_nor_left_behind() {
    let silent = |mut observed: Observed| {
        observed.node = Lookup::Unknown("the API of Cluster a does not answer".into());
        deleting(observed)
    };
    let remedies = [
        "does not answer",
        "nodeDrainTimeoutSeconds",
        ANNOTATION_EXCLUDE_DRAIN,
    ];
    let says = ("Deleting", "WaitingForApi", &remedies[..]);
    let held = silent(running(worker()));
    let free = silent(reset(running(worker())));
    for (case, observed) in [("held", &held), ("free", &free)] {
        let plan = plan(observed, at(1));
        expect(case, &plan, &[], says);
        assert_ne!(
            plan.next,
            Next::OnChange,
            "{case}: the limit has to be noticed"
        );
    }
    let excluded = json!({ "metadata": { "annotations": { (ANNOTATION_EXCLUDE_DRAIN): "" } } });
    let held = edited(held, &excluded);
    assert_eq!(plan(&held, at(60)).actions, [Action::Release(Release::Now)]);
    let limited = json!({ "spec": { "deletion": { "nodeDrainTimeoutSeconds": 60 } } });
    for change in [limited, excluded] {
        let free = edited(free.clone(), &change);
        let finalizer = finalizer_by(&by_reset());
        assert_eq!(plan(&free, at(60)).actions, [finalizer]);
    }
}

#[test]
fn no_machine_of_a_cluster_that_goes_is_touched_while_its_profile_is_there() {
    for machine in [worker(), control_plane()] {
        let published = with_cluster(deleting(running(machine)), |cluster| {
            cluster.deleting = true;
            cluster.published = true;
            cluster.workers_left = 0;
        });
        let says = (
            "Deleting",
            "WaitingForClusterProfile",
            &["is removed first"][..],
        );
        expect("published", &plan(&published, at(1_000_000)), &[], says);
        let gone = with_cluster(published, |cluster| cluster.published = false);
        assert_eq!(
            plan(&gone, at(1_000_000)).actions,
            [Action::Release(Release::Now)]
        );
    }
}

#[test]
fn a_control_plane_machine_goes_after_the_last_worker_and_only_with_its_cluster() {
    let control_plane = || deleting(running(control_plane()));
    let going = |workers_left| {
        with_cluster(control_plane(), |cluster| {
            cluster.deleting = true;
            cluster.initialized_by = Some(ME.into());
            cluster.workers_left = workers_left;
        })
    };
    let says = (
        "Deleting",
        "WaitingForWorkers",
        &["2 worker Machines", "Cluster a"][..],
    );
    expect("workers left", &plan(&going(2), at(1_000_000)), &[], says);
    let says = ("Deleting", "Releasing", &[][..]);
    expect(
        "the last",
        &plan(&going(0), at(1)),
        &[Action::Release(Release::Now)],
        says,
    );
    let alone = with_cluster(control_plane(), |c| c.initialized_by = Some(ME.into()));
    let says = (
        "Deleting",
        "LastControlPlane",
        &[
            "only copy",
            "keeps running",
            "create another control-plane Machine",
        ][..],
    );
    expect("Cluster stays", &plan(&alone, at(1_000_000)), &[], says);
}

#[test]
fn a_host_that_is_being_reset_is_waited_for_whatever_the_limit() {
    let limited = edited(deleting(released(running(worker()))), &release_limit(1));
    let plan = plan(&limited, at(1_000_000));
    expect("reset", &plan, &[], ("Deleting", "WaitingForHost", &[]));
    // its Host wakes it; else, not before it would be stuck
    assert_eq!(plan.next, Next::OnChange);
    assert_eq!(plan.late, Next::After(Duration::from_hours(1)));
}

#[test]
fn the_node_of_a_silent_host_is_kept_and_what_is_unsafe_is_said() {
    let parts = [
        "host-a has not answered since",
        "Node host-a is kept",
        "hostReleaseTimeoutSeconds",
    ];
    let says = ("Deleting", "HostUnreachable", &parts[..]);
    let silent = silent_since(deleting(running(worker())), at(60));
    let unlimited = edited(silent.clone(), &release_limit(0));
    for (case, observed) in [("no limit", silent), ("a limit of zero", unlimited)] {
        let plan = plan(&observed, at(1_000_000));
        expect(case, &plan, &[], says);
        assert_eq!(plan.next, Next::OnChange, "{case}");
    }
}

#[test]
fn a_host_whose_reset_fails_is_waited_for_until_the_limit() {
    let mut observed = released(deleting(running(worker())));
    if let Placement::Held(held) = &mut observed.placement {
        held.stuck = Some(Stuck::ResetFails);
    }
    let parts = ["could not be reset yet", "hostReleaseTimeoutSeconds"];
    let says = ("Deleting", "ResetFailed", &parts[..]);
    expect("no limit", &plan(&observed, at(1_000_000)), &[], says);
    // the Machine is deleted at 0
    let observed = edited(observed, &release_limit(60));
    let early = plan(&observed, at(59));
    assert_eq!(
        (early.actions, early.next),
        (vec![], Next::After(Duration::from_secs(1)))
    );
    let late = plan(&observed, at(60)).actions;
    assert_eq!(late, over(&by_limit()));
}

#[test]
fn the_node_and_the_machine_of_a_fenced_host_go_at_once() {
    let fenced = |observed: Observed| {
        let mut observed = released(deleting(observed));
        if let Placement::Held(held) = &mut observed.placement {
            held.stuck = Some(Stuck::Fenced);
            held.power = Some(Ok(PowerState::Off));
        }
        observed
    };
    let says = ("Deleting", "HostFenced", &["host-a", "is off"][..]);
    let off = Proof::of_power(ME, PowerState::Off).expect("off");
    let actions = over(&off);
    expect(
        "fenced",
        &plan(&fenced(running(worker())), at(1)),
        &actions,
        says,
    );
    let mut silent = fenced(running(worker()));
    silent.node = Lookup::Unknown("the API of Cluster a does not answer".into());
    let says = ("Deleting", "WaitingForApi", &["is off"][..]);
    expect("no API", &plan(&silent, at(1)), &[], says);
    // nothing of a half made control plane runs, and its host is reset before it is handed out
    let turn = with_cluster(fenced(running(control_plane())), |cluster| {
        cluster.turn = Some(Turn {
            machine: ME.into(),
            name: "cp-0".into(),
            action: TurnAction::Init,
        });
        cluster.etcd = Lookup::Known(members::etcd_at(&["192.0.2.9"]));
    });
    let [node, finalizer] = actions;
    let actions = [node, turn_by(&off), finalizer];
    assert_eq!(plan(&turn, at(1)).actions, actions);

    let says = (
        "Deleting",
        "WaitingForHost",
        &["no longer confirms that"][..],
    );
    for power in [
        Some(Ok(PowerState::On)),
        Some(Err("no answer".into())),
        None,
    ] {
        let mut again = fenced(running(worker()));
        if let Placement::Held(held) = &mut again.placement {
            held.power.clone_from(&power);
        }
        expect("on again", &plan(&again, at(1)), &[], says);
    }
}

#[test]
fn the_limit_of_a_silent_host_runs_from_the_silence_and_from_the_deletion() {
    // the Machine is deleted at 0
    for (silent, now, goes) in [
        (-60, 59, false),
        (-60, 60, true),
        (30, 89, false),
        (30, 90, true),
    ] {
        let observed = silent_since(deleting(running(worker())), at(silent));
        let plan = plan(&edited(observed, &release_limit(60)), at(now));
        if goes {
            assert_eq!(
                plan.actions,
                over(&by_limit()),
                "silent since {silent}, at {now}"
            );
        } else {
            assert_eq!(plan.actions, [], "silent since {silent}, at {now}");
            assert_eq!(plan.next, Next::After(Duration::from_secs(1)));
        }
    }
}

/// The condition that calls it silent may be from before an outage of the manager.
#[test]
fn a_host_is_given_up_by_its_time_limit_only_where_it_is_still_silent() {
    let silent = edited(
        silent_since(deleting(running(worker())), at(0)),
        &release_limit(60),
    );
    let busy = Contact::Unreachable {
        reason: Reason::SshBusy,
        message: "too many".into(),
    };
    let again = "is asked once more";
    for (contact, part) in [
        (says(unmarked(Vec::new())), "answers again"),
        (Contact::NotAsked, again),
        (busy, again),
    ] {
        let mut observed = silent.clone();
        if let Placement::Held(held) = &mut observed.placement {
            held.contact = contact;
        }
        let says = ("Deleting", "WaitingForHost", &[part][..]);
        expect(part, &plan(&observed, at(60)), &[], says);
    }
    assert_eq!(plan(&silent, at(60)).actions, over(&by_limit()));
}

#[test]
fn the_turn_to_init_is_returned_when_the_host_was_reset_and_not_before() {
    let observed = with_cluster(deleting(prepared(control_plane(), &[])), |cluster| {
        cluster.turn = Some(turn_of(ME));
    });
    let observed = edited(observed, &release_limit(60));
    let silent = plan(&silent_since(observed.clone(), at(0)), at(60));
    assert_eq!(
        silent.actions,
        [finalizer_by(&by_limit())],
        "its host may run kubeadm init yet"
    );
    let proof = by_reset();
    let ended = [turn_by(&proof), finalizer_by(&proof)];
    assert_eq!(plan(&reset(observed), at(60)).actions, ended);
}

#[test]
fn a_machine_whose_claim_is_not_seen_yet_is_not_let_go() {
    let mut observed = deleting(worker());
    observed.claiming = Some("host-a".into());
    let says = ("Deleting", "WaitingForHost", &["host-a"][..]);
    expect("claimed", &plan(&observed, at(1_000_000)), &[], says);
}

#[test]
fn a_machine_that_was_let_go_by_hand_says_that_it_cannot_go_on() {
    let says = (
        "InfrastructureReady",
        "Released",
        &["host-a", "kubectl -n default delete machine w-0"][..],
    );
    let observed = released(prepared(worker(), &[]));
    expect("released", &plan(&observed, at(0)), &[], says);
}
