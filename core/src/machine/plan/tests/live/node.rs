use super::*;
use crate::drain::{BlockedPod, DrainProgress, PodRef, Skip};
use crate::machine::live::node::{
    NodeFacts, Wait, detached, drained, is_exclusive, may_cordon, may_delete_left,
};

/// A Node whose kubelet does not answer.
fn unreachable() -> NodeView {
    NodeView {
        ready: None,
        ready_reason: "NodeStatusUnknown".into(),
        ..node()
    }
}

fn cordoned() -> NodeView {
    let mut node = node();
    let annotation = crate::api::names::ANNOTATION_CORDONED;
    node.annotations.insert(annotation.into(), "true".into());
    node
}

/// A Machine that is being deleted, on a host that does not answer.
fn silent() -> Observed {
    let mut observed = deleted(running(worker()), at(0));
    observed.placement = held(Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no answer".into(),
    });
    observed
}

fn facts(view: &NodeView, has_bmc: bool) -> NodeFacts<'_> {
    NodeFacts {
        name: "host-a",
        view: Some(view),
        has_bmc,
    }
}

fn blocked() -> DrainProgress {
    DrainProgress {
        blocked: vec![BlockedPod {
            pod: PodRef::default(),
            budgets: Vec::new(),
            message: "no".into(),
        }],
        ..DrainProgress::default()
    }
}

/// What a wait comes to, by the reason of its finding.
fn says(wait: Wait) -> (&'static str, Option<Reason>) {
    match wait {
        Wait::Over => ("over", None),
        Wait::Ends(finding) => ("ends", Some(finding.reason())),
        Wait::Lasts(finding) => ("lasts", Some(finding.reason())),
    }
}

#[test]
#[allow(clippy::large_stack_arrays)] // a table
fn a_drain_lasts_until_no_pod_is_left_or_the_release_of_a_dead_machine_ends_them() {
    let evicted = DrainProgress {
        evicted: vec![PodRef::default()],
        ..DrainProgress::default()
    };
    let unconfirmed = DrainProgress {
        skipped: vec![(PodRef::default(), Skip::Unconfirmed)],
        ..DrainProgress::default()
    };
    let ends = ("ends", Some(Reason::PodsUnconfirmed));
    let blocks = ("lasts", Some(Reason::DrainBlocked));
    let drains = ("lasts", Some(Reason::Draining));
    let done = DrainProgress::default();
    let (answers, lost) = (node(), unreachable());
    for (case, observed, view, has_bmc, progress, expected) in [
        ("none left", silent(), &answers, true, &done, ("over", None)),
        ("none ends", silent(), &lost, true, &unconfirmed, ends),
        ("dead", silent(), &lost, true, &blocked(), ends),
        ("no BMC", silent(), &lost, false, &blocked(), blocks),
        ("kubelet", silent(), &answers, true, &blocked(), blocks),
        ("eviction", silent(), &lost, true, &evicted, drains),
        (
            "it stays",
            Observed {
                machine: worker().machine,
                ..silent()
            },
            &lost,
            true,
            &blocked(),
            blocks,
        ),
        (
            "its machine answers",
            deleted(running(worker()), at(0)),
            &lost,
            true,
            &blocked(),
            blocks,
        ),
    ] {
        let wait = drained(&observed, facts(view, has_bmc), progress, false);
        assert_eq!(says(wait), expected, "{case}");
    }
}

#[test]
fn the_remedy_of_a_silent_node_is_told_where_it_was_drained_as_one() {
    let view = unreachable();
    for (was_unreachable, is_told) in [(true, true), (false, false)] {
        let wait = drained(&silent(), facts(&view, false), &blocked(), was_unreachable);
        let Wait::Lasts(finding) = wait else {
            panic!("{wait:?}");
        };
        let message = finding.message();
        assert_eq!(message.contains("does not answer"), is_told, "{message}");
    }
}

#[test]
fn volumes_are_waited_for_until_they_are_detached_or_the_limit_passes() {
    let limit = json!({ "spec": { "deletion": { "nodeVolumeDetachTimeoutSeconds": 60 } } });
    let drained = json!({ "status": { "conditions": [{
        "type": "Draining", "status": "False", "reason": "Drained", "message": "",
        "lastTransitionTime": at(0).to_string(),
    }] } });
    let limited = || edited(edited(silent(), &limit), &drained);
    let (some, none) = (["pv".to_owned()], []);
    let lasts = ("lasts", Some(Reason::WaitingForVolumes));
    let timed_out = ("ends", Some(Reason::VolumeDetachTimedOut));
    let (answers, lost) = (node(), unreachable());
    for (case, observed, view, has_bmc, attached, now, expected) in [
        (
            "none",
            silent(),
            &answers,
            false,
            &none[..],
            0,
            ("over", None),
        ),
        ("some", silent(), &answers, false, &some[..], 0, lasts),
        ("dead", silent(), &lost, true, &some, 0, ("over", None)),
        ("no BMC", silent(), &lost, false, &some, 0, lasts),
        ("in time", limited(), &answers, false, &some, 59, lasts),
        ("too late", limited(), &answers, false, &some, 60, timed_out),
    ] {
        let wait = detached(&observed, facts(view, has_bmc), attached, at(now));
        assert_eq!(says(wait), expected, "{case}");
    }
}

#[test]
fn a_node_is_cordoned_for_an_update_only_beside_others_that_are_not() {
    let stays = running(worker());
    assert!(is_exclusive(&stays, Some(&node())));
    assert!(is_exclusive(&stays, None));
    assert!(!is_exclusive(&stays, Some(&cordoned())), "it is already");
    let leaves = deleted(running(worker()), at(0));
    assert!(!is_exclusive(&leaves, Some(&node())), "it leaves");

    let other = machine("w-1", OTHER, false);
    for (case, node, is_free) in [
        ("gone", None, true),
        ("takes pods", Some(node()), true),
        ("drained", Some(cordoned()), false),
    ] {
        let may = may_cordon(&stays, &other, node.as_ref());
        assert_eq!(may.is_ok(), is_free, "{case}");
        let reason = may.err().map(|finding| finding.reason());
        assert!(reason.is_none_or(|reason| reason == Reason::WaitingForTurn));
    }
}

#[test]
fn the_node_of_a_machine_that_is_gone_is_left_alone_while_it_is_ready() {
    let not_ready = NodeView {
        ready: Some(false),
        ..node()
    };
    for (case, node, is_free) in [
        ("gone", None, true),
        ("not Ready", Some(not_ready), true),
        ("unknown", Some(unreachable()), true),
        ("Ready", Some(node()), false),
    ] {
        let may = may_delete_left("host-a", node.as_ref());
        assert_eq!(may.is_ok(), is_free, "{case}");
        let reason = may.err().map(|finding| finding.reason());
        assert!(reason.is_none_or(|reason| reason == Reason::NodeNameTaken));
    }
}
