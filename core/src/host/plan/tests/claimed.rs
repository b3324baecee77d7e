//! A host that a Machine has is as true as a free one; and what keeps a host from its reset is
//! said.

use std::time::Duration;

use super::*;
use crate::api::conditions::Reason;
use crate::node::Follow;

fn error(reason: Reason) -> ContactError {
    ContactError {
        reason,
        message: "sshd is there, and a script hangs".into(),
        transient: true,
    }
}

fn following(mut observed: Observed, unit: JobKind) -> Observed {
    observed.following = Some(Follow {
        retried: None,
        job: Job::new(unit, "m"),
        progress: Some(step()),
        since: at(0),
    });
    observed
}

#[test]
fn a_claimed_host_is_asked_as_often_as_a_free_one() {
    let free = plan(&saying(&json!({}), Ownership::Nobody), at(0));
    let asked = plan(&saying(&claim("m", false), marked("here", "m")), at(0));
    assert_eq!(asked.next, free.next);
    let mut heard = observed(&claim("m", false), Contact::NotAsked);
    heard.heard_at = Some(at(-20));
    let waits = plan(&heard, at(0));
    assert_eq!(
        waits.next,
        Next::After(STANDING.saturating_sub(Duration::from_secs(20)))
    );
    assert!(is_fresh(at(-59), at(0)) && !is_fresh(at(-60), at(0)));
}

#[test]
fn a_name_in_a_claim_is_pasted_only_where_it_is_one() {
    let mut change = claim("m", false);
    change["spec"]["maintenance"] = true.into();
    change["spec"]["consumerRef"]["name"] = "w-0; reboot".into();
    let in_use = plan(&of(STAYING, observed(&change, Contact::NotAsked)), at(0));
    let message = finding(&in_use, "Available").message();
    assert!(message.ends_with("delete machine NAME"), "{message}");
}

#[test]
fn a_host_in_use_says_that_it_is_in_maintenance_and_is_ready() {
    let mut change = claim("m", false);
    change["spec"]["maintenance"] = true.into();
    let mut not_asked = observed(&change, Contact::NotAsked);
    not_asked.has_its_marker = true;
    for observed in [saying(&change, marked("here", "m")), not_asked] {
        let plan = plan(&of(STAYING, observed), at(0));
        let says = &[
            "claimed by Machine w-0; spec.maintenance is true",
            "delete machine w-0",
        ];
        expect("in use", &plan, State::Claimed, &[], "Maintenance", says);
        let ready = finding(&plan, "Ready");
        assert_eq!(
            (ready.status, ready.reason()),
            (Status::True, Reason::Maintenance)
        );
    }
}

#[test]
fn a_claimed_host_that_went_away_or_hangs_or_runs_somebody_elses_says_so() {
    for reason in [
        Reason::HostHangs,
        Reason::SshUnreachable,
        Reason::HostKeyChanged,
    ] {
        let away = observed(&claim("m", false), Contact::Failed(error(reason)));
        let away = plan(&away, at(0));
        expect(
            reason.as_str(),
            &away,
            State::Claimed,
            &[],
            reason.as_str(),
            &["hangs"],
        );
        let reachable = finding(&away, "Reachable");
        assert_eq!(
            (reachable.status, reachable.reason()),
            (Status::False, reason)
        );
    }
    let foreign = || occupied(saying(&claim("m", false), Ownership::Nobody));
    let is_so = |observed: &Observed, reason: &str| {
        let clean = finding(&plan(observed, at(0)), "Clean").clone();
        assert_eq!(
            (clean.status, clean.reason().as_str()),
            (Status::False, reason)
        );
        clean.message()
    };
    is_so(&of(UNBEGUN, foreign()), "Occupied");
    // a node whose /var is not mounted must not be told to run kubeadm reset
    let message = is_so(&foreign(), "MarkerMissing");
    assert!(!message.contains("reset"), "{message}");
    assert!(message.contains("delete machine w-0"), "{message}");
    let mut control_plane = foreign();
    control_plane.guards = Some("a".into());
    let message = is_so(&control_plane, "MarkerMissing");
    assert!(!message.contains("delete machine"), "{message}");
}

#[test]
fn a_free_host_that_hangs_is_not_available() {
    let hangs = observed(&json!({}), Contact::Failed(error(Reason::HostHangs)));
    let hangs = plan(&hangs, at(0));
    expect("free", &hangs, State::Unreachable, &[], "HostHangs", &[]);
}

#[test]
fn a_host_that_was_let_go_in_mid_step_says_what_it_waits_for() {
    for (releasing, reason) in [(true, "WaitingForStep"), (false, "Claimed")] {
        let busy = observed(&claim("m", releasing), Contact::NotAsked);
        let busy = plan(&following(busy, JobKind::Prepare), at(0));
        let state = if releasing {
            State::Releasing
        } else {
            State::Claimed
        };
        expect(reason, &busy, state, &[], reason, &[]);
    }
    let busy = observed(&claim("m", true), Contact::NotAsked);
    let busy = plan(&following(busy, JobKind::Prepare), at(0));
    let says = ["released it", "prepare: 1/3 kubeadm-reset"];
    expect(
        "says",
        &busy,
        State::Releasing,
        &[],
        "WaitingForStep",
        &says,
    );
}

/// What is on its hosts waits for one another: etcd for its peers, kubeadm for the API.
type Change = fn(&mut Observed);

#[test]
fn where_the_whole_cluster_goes_a_job_that_needs_it_is_stopped() {
    let stop = [Action::StopJobs(marker("here", "m"))];
    let waits = |kind| {
        let busy = observed(&claim("m", true), Contact::NotAsked);
        following(busy, kind)
    };
    let runs = |kind| {
        let busy = saying(&claim("m", true), marked("here", "m"));
        with_unit(busy, kind, UnitState::Running(step()))
    };
    let says = ["Cluster is deleted", "kubeadm upgrade is stopped"];
    for mut busy in [waits(JobKind::Upgrade), runs(JobKind::Upgrade)] {
        busy.cluster_goes = true;
        let releasing = State::Releasing;
        expect(
            "goes",
            &plan(&busy, at(0)),
            releasing,
            &stop,
            "Resetting",
            &says,
        );
    }
    let changes: [(&str, Change); 5] = [
        ("the Cluster stays", |of| of.cluster_goes = false),
        ("its Machine stays", |of| of.consumer = STAYING),
        ("of another Cluster's etcd", |of| {
            of.guards = Some("b".into());
        }),
        ("not released", |of| {
            let host = Arc::make_mut(&mut of.host);
            host.spec.consumer_ref.as_mut().expect("a claim").releasing = false;
        }),
        ("kept as it is", |of| {
            Arc::make_mut(&mut of.host).spec.wipe_policy = WipePolicy::Retain;
        }),
    ];
    for kind in [JobKind::Prepare, JobKind::Images] {
        let mut busy = waits(kind);
        busy.cluster_goes = true;
        assert_eq!(plan(&busy, at(0)).actions, [], "{kind:?} ends by itself");
    }
    for (case, change) in changes {
        for mut busy in [waits(JobKind::Upgrade), runs(JobKind::Upgrade)] {
            busy.cluster_goes = true;
            change(&mut busy);
            let actions = plan(&busy, at(0)).actions;
            assert!(!actions.contains(&stop[0]), "{case}: {actions:?}");
        }
    }
    // stopped before, by us or by a loss of power
    let busy = saying(&claim("m", true), marked("here", "m"));
    let mut stopped = with_unit(busy, JobKind::Upgrade, UnitState::Interrupted(step()));
    stopped.cluster_goes = true;
    let reset = [Action::Reset(marker("here", "m"))];
    assert_eq!(plan(&stopped, at(0)).actions, reset);
}

#[test]
fn nothing_is_said_of_a_host_before_the_keys_that_it_showed_are_pinned() {
    let mut first = saying(&json!({}), Ownership::Nobody);
    first.first_contact_keys = vec!["ssh-ed25519 AAAA".into()];
    let first = plan(&first, at(0));
    let pin = Action::PinKeys(vec!["ssh-ed25519 AAAA".into()]);
    assert_eq!((first.actions, first.findings), (vec![pin], Vec::new()));
}

#[test]
fn a_host_that_is_deleted_is_reset_and_not_installed_anew() {
    let mut change = claim("m", true);
    change["spec"]["wipePolicy"] = "reinstall".into();
    change["metadata"] = json!({ "finalizers": [FINALIZER_IN_USE] });
    let installs = plan(&saying(&change, marked("here", "m")), at(0));
    assert_eq!(finding(&installs, "Available").reason(), "ReinstallWaits");
    change["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    let reset = [Action::Reset(marker("here", "m"))];
    let resets = plan(&saying(&change, marked("here", "m")), at(0));
    expect(
        "marked",
        &resets,
        State::Releasing,
        &reset,
        "Resetting",
        &[],
    );
    let clean = saying(&change, Ownership::Nobody);
    let clean = with_unit(clean, JobKind::Reset, UnitState::Succeeded);
    let clean = of(Consumer::Missing, clean);
    assert_eq!(plan(&clean, at(0)).actions, [free_of(&clean)]);
}

#[test]
fn of_a_name_with_two_servers_every_look_stands_for_itself_and_only_the_marked_one_is_reset() {
    let deleting = Consumer::Exists {
        is_deleting: true,
        is_begun: true,
    };
    let looks = || {
        [
            marked("here", "m"),
            Ownership::Nobody,
            marked("here", "another"),
        ]
    };
    for owner in looks() {
        let held = of(STAYING, saying(&claim("m", false), owner));
        assert_eq!(plan(&held, at(0)).actions, [], "{held:?}");
    }
    let reset = Action::Reset(marker("here", "m"));
    for (owner, actions) in looks().into_iter().zip([vec![reset], vec![], vec![]]) {
        let released = of(deleting, saying(&claim("m", true), owner));
        assert_eq!(plan(&released, at(0)).actions, actions, "{released:?}");
    }
}

#[test]
fn a_host_that_was_given_its_claim_back_by_hand_is_kept_from_deletion() {
    let mut change = claim("m", false);
    change["metadata"] = json!({ "finalizers": [] });
    let given_back = saying(&change, marked("here", "m"));
    assert_eq!(plan(&given_back, at(0)).actions, [Action::Hold]);
    change["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    let goes = saying(&change, marked("here", "m"));
    assert_eq!(plan(&goes, at(0)).actions, [], "it is too late");
    let another = saying(&claim("m", false), marked("here", "m"));
    assert_eq!(plan(&another, at(0)).actions, [], "it is held");
}

#[test]
fn a_claimed_host_that_shows_another_disk_stays_unready_until_it_is_asked_again() {
    let mut change = claim("m", false);
    change["status"] = json!({"conditions": [{"type": "Clean", "status": "False", "reason": "MarkerMissing",
        "message": "as with another disk", "lastTransitionTime": at(0).to_string()}]});
    let plan = plan(&observed(&change, Contact::NotAsked), at(0));
    let said = finding(&plan, "Ready");
    assert_eq!(
        (said.status, said.reason()),
        (Status::False, Reason::MarkerMissing)
    );
    assert_eq!(said.message(), "as with another disk");
}

#[test]
fn a_claimed_host_is_never_ready_beside_being_unreachable() {
    let said = |status: &str, reason: &str| {
        let mut change = claim("m", false);
        change["status"] = json!({"conditions": [{"type": "Reachable", "status": status, "reason": reason,
            "message": "no route to host", "lastTransitionTime": at(0).to_string()}]});
        observed(&change, Contact::NotAsked)
    };
    let unreachable = || said("False", "SshUnreachable");
    let starting = |observed: Observed| {
        let mut observed = following(observed, JobKind::Prepare);
        if let Some(follow) = &mut observed.following {
            follow.progress = None;
        }
        observed
    };
    let answers = Some(Status::True);
    for (case, observed, reachable, ready) in [
        ("not asked again yet", unreachable(), None, "SshUnreachable"),
        (
            "a unit starts",
            starting(unreachable()),
            None,
            "SshUnreachable",
        ),
        (
            "the unit goes on",
            following(unreachable(), JobKind::Prepare),
            answers,
            "Claimed",
        ),
        ("it answered", said("True", "Answers"), None, "Claimed"),
    ] {
        let plan = plan(&observed, at(0));
        let find = |name| plan.findings.iter().find(|found| found.condition == name);
        let found = find(ConditionType::Reachable).map(|found| found.status);
        assert_eq!(found, reachable, "{case}");
        let said = finding(&plan, "Ready");
        let is_ready = said.status == Status::True;
        assert_eq!(
            (said.reason().as_str(), is_ready),
            (ready, ready == "Claimed"),
            "{case}"
        );
    }
}
