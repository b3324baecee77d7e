//! The drain: its beginning, its end and its limits.

use super::super::super::drain::volumes_have_timed_out;
use super::*;
use crate::api::names::ANNOTATION_CORDONED;

/// Case, observed, limit, time, what is done, what Draining says.
type Case<'a> = (&'a str, Observed, i64, i64, &'a [Action], Option<&'a str>);

/// A Machine in deletion since the time 0, whose status says this of its drain.
fn draining(status: &str, reason: &str, since: i64) -> Observed {
    let condition = json!({ "type": "Draining", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": at(since).to_string() });
    let change = json!({ "status": { "conditions": [condition] } });
    edited(deleting(running(worker())), &change)
}

fn limited(observed: Observed, seconds: i64) -> Observed {
    let limits =
        json!({ "nodeDrainTimeoutSeconds": seconds, "nodeVolumeDetachTimeoutSeconds": seconds });
    edited(observed, &json!({ "spec": { "deletion": limits } }))
}

#[test]
fn a_drain_ends_by_its_limit_from_its_beginning_on_or_by_annotation() {
    let release = [Action::Release(Release::Now)];
    let drains = drain();
    let told: Vec<Case> = vec![
        (
            "it begins late",
            deleting(running(worker())),
            60,
            1_000,
            &drains,
            Some("Draining"),
        ),
        (
            "a moment before",
            draining("True", "Draining", 100),
            60,
            159,
            &drains,
            Some("Draining"),
        ),
        (
            "over time",
            draining("True", "DrainBlocked", 100),
            60,
            160,
            &release,
            Some("DrainTimedOut"),
        ),
        (
            "no limit",
            draining("True", "DrainBlocked", 100),
            0,
            1_000_000,
            &drains,
            Some("Draining"),
        ),
        (
            "it stays over",
            draining("False", "DrainTimedOut", 160),
            60,
            161,
            &release,
            None,
        ),
        (
            "drained",
            draining("False", "Drained", 100),
            60,
            1_000,
            &drains,
            None,
        ),
        (
            "stopped before",
            draining("False", "DrainStopped", 100),
            60,
            1_000,
            &drains,
            Some("Draining"),
        ),
    ];
    for (case, observed, limit, now, actions, says) in told {
        let plan = plan(&limited(observed, limit), at(now));
        assert_eq!(plan.actions, actions, "{case}");
        let told = plan
            .findings
            .iter()
            .find(|f| f.condition == ConditionType::Draining);
        assert_eq!(told.map(|told| told.reason().as_str()), says, "{case}");
    }
    let excluded = json!({ "metadata": { "annotations": { (ANNOTATION_EXCLUDE_DRAIN): "" } } });
    let excluded = edited(draining("True", "DrainBlocked", 0), &excluded);
    let plan = plan(&excluded, at(1));
    assert_eq!(plan.actions, release);
    assert_eq!(finding(&plan, "Draining").reason(), "DrainSkipped");
}

#[test]
fn a_drain_that_cannot_begin_has_its_limit_from_the_first_attempt_on() {
    let silent = |mut observed: Observed| {
        observed.node = Lookup::Unknown("no answer".into());
        limited(observed, 60)
    };
    let first = plan(&silent(deleting(running(worker()))), at(1_000));
    assert_eq!(first.actions, []);
    let begun = finding(&first, "Draining");
    assert_eq!(
        (begun.status, begun.reason()),
        (Status::True, Reason::WaitingForApi)
    );
    let later = silent(draining("True", "WaitingForApi", 1_000));
    assert_eq!(plan(&later, at(1_059)).actions, []);
    let over = plan(&later, at(1_060));
    assert_eq!(over.actions, [Action::Release(Release::Now)]);
    assert_eq!(finding(&over, "Draining").reason(), "DrainTimedOut");
}

#[test]
fn a_silence_after_the_drain_has_the_limits_that_follow_it_and_begins_none_anew() {
    let silent = |now: i64| {
        let mut observed = limited(draining("False", "Drained", 100), 60);
        observed.node = Lookup::Unknown("no answer".into());
        plan(&observed, at(now))
    };
    let waits = silent(159);
    assert_eq!(waits.actions, []);
    let told = waits
        .findings
        .iter()
        .find(|f| f.condition == ConditionType::Draining);
    assert_eq!(told, None);
    assert_eq!(silent(160).actions, [Action::Release(Release::Now)]);
}

#[test]
fn what_is_read_again_in_a_moment_does_not_interrupt_a_drain() {
    let control_plane = |etcd: Lookup<Arc<Members>>| {
        let condition = json!({ "type": "Draining", "status": "True", "reason": "Draining", "message": "",
            "lastTransitionTime": at(0).to_string() });
        let begun = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): "{}" } },
            "status": { "conditions": [condition] } });
        let observed = edited(deleting(running(control_plane())), &begun);
        with_cluster(observed, |c| c.etcd = etcd)
    };
    let silent = plan(&control_plane(Lookup::Unknown("late".into())), at(1));
    assert_eq!(finding(&silent, "Deleting").reason(), "EtcdUnreachable");
    assert!(
        silent
            .findings
            .iter()
            .all(|f| f.condition != ConditionType::Draining)
    );
    let mut contested = control_plane(Lookup::Unknown("late".into()));
    contested.claims = vec!["host-a".into(), "host-b".into()];
    assert_eq!(
        finding(&plan(&contested, at(1)), "Draining").reason(),
        "DrainStopped"
    );
}

#[test]
fn a_drain_that_is_interrupted_begins_again_with_its_whole_time() {
    let observed = limited(draining("True", "DrainBlocked", 0), 60);
    let mut paused = observed.clone();
    paused.paused_by = Some("Machine w-0".into());
    assert_eq!(
        finding(&plan(&paused, at(1)), "Draining").reason(),
        "DrainStopped"
    );
    let told = draining("False", "DrainStopped", 1);
    let again = plan(&limited(told, 60), at(1_000));
    assert_eq!(again.actions, drain());
    assert_eq!(finding(&again, "Draining").status, Status::True);
}

#[test]
fn the_end_of_a_drain_names_what_was_left() {
    let condition = json!({ "type": "Draining", "status": "True", "reason": "DrainBlocked",
        "message": "1 pod left: default/web is blocked. Let the budget allow it",
        "lastTransitionTime": at(0).to_string() });
    let change = json!({ "status": { "conditions": [condition] } });
    let observed = limited(edited(deleting(running(worker())), &change), 60);
    let over = plan(&observed, at(60));
    let said = &finding(&over, "Draining").message();
    assert!(
        said.contains("nodeDrainTimeoutSeconds (60 s); then: 1 pod left: default/web is blocked. "),
        "{said}"
    );
    let goes = with_cluster(observed, |c| c.deleting = true);
    let skipped = plan(&goes, at(60));
    let said = finding(&skipped, "Draining");
    assert_eq!(said.reason(), "DrainSkipped");
    assert!(said.message().contains("whole Cluster") && said.message().ends_with("is blocked"));
}

#[test]
fn volumes_have_their_limit_from_the_end_of_the_drain_on() {
    for (case, observed, now, expected) in [
        (
            "still draining",
            draining("True", "Draining", 0),
            1_000,
            false,
        ),
        ("before", draining("False", "Drained", 100), 159, false),
        ("after", draining("False", "Drained", 100), 160, true),
        (
            "nothing is known",
            deleting(running(worker())),
            1_000,
            false,
        ),
    ] {
        let observed = limited(observed, 60);
        assert_eq!(
            volumes_have_timed_out(&observed, at(now)),
            expected,
            "{case}"
        );
    }
}

#[test]
fn what_holds_a_drain_is_said_of_the_deletion_too_and_it_is_over_when_volumes_are_waited_for() {
    let observed = deleting(running(worker()));
    let mut blocked = plan(&observed, at(1));
    let budget = "1 pod left: a budget";
    let found = Finding::yes(ConditionType::Draining, Reason::DrainBlocked, budget);
    assert!(blocked.learn(&observed, Some(found)));
    for condition in ["Draining", "Deleting"] {
        let said = finding(&blocked, condition);
        assert_eq!(
            (said.reason(), said.message().as_str()),
            (Reason::DrainBlocked, budget)
        );
    }
    assert_eq!(finding(&blocked, "Ready").message(), budget);

    let mut detaching = plan(&observed, at(1));
    let found = Finding::yes(ConditionType::Deleting, Reason::WaitingForVolumes, "pv-1");
    assert!(detaching.learn(&observed, Some(found)));
    let said = finding(&detaching, "Draining");
    assert_eq!(
        (said.status, said.reason()),
        (Status::False, Reason::Drained)
    );
    assert_eq!(
        finding(&detaching, "Deleting").reason(),
        Reason::WaitingForVolumes
    );
}

#[test]
fn a_machine_that_was_let_go_says_that_its_drain_is_over() {
    let released = released(draining("True", "Draining", 0));
    let plan = plan(&released, at(1));
    assert_eq!(finding(&plan, "Draining").reason(), "Drained");
}

#[test]
fn the_node_of_a_control_plane_that_stays_is_uncordoned_if_we_cordoned_it() {
    let last = |cordoned: bool| {
        let mut observed = deleting(running(control_plane()));
        if let Lookup::Known(Some(node)) = &mut observed.node {
            let mut view = node.as_ref().clone();
            view.unschedulable = true;
            if cordoned {
                view.annotations
                    .insert(ANNOTATION_CORDONED.into(), "true".into());
            }
            *node = Arc::new(view);
        }
        with_cluster(observed, |c| c.initialized_by = Some(ME.into()))
    };
    let uncordon = [Action::UncordonNode {
        node: "host-a".into(),
        uid: "node".into(),
    }];
    let says = ("Deleting", "LastControlPlane", &[][..]);
    expect("ours", &plan(&last(true), at(1)), &uncordon, says);
    expect("somebody else's", &plan(&last(false), at(1)), &[], says);
}
