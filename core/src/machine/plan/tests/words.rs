//! Remedies that can be pasted.

use super::super::super::observed::Stuck;
use super::super::{correct, time_limit, unanswered};
use super::*;
use crate::api::conditions::{ConditionType, Reason};
use crate::api::names::ANNOTATION_HOST_IS_GONE;

mod doubt;

#[track_caller]
fn contains(message: &str, parts: &[String]) {
    for part in parts {
        assert!(message.contains(part), "no \"{part}\" in: {message}");
    }
}

#[test]
fn a_time_limit_comes_as_a_command_and_says_that_it_does_not_return_the_turn() {
    let patch = r#"kubectl -n default patch machine w-0 --type=merge -p '{"spec":{"deletion":{"hostReleaseTimeoutSeconds":60}}}'"#;
    let worker = time_limit(&worker());
    contains(&worker, &[patch.to_owned()]);
    assert!(!worker.contains("turn"), "{worker}");
    let holder = with_cluster(control_plane(), |cluster| cluster.turn = Some(turn_of(ME)));
    let act = "tatara machine declare-gone cp-0 -n default".to_owned();
    let says = "the time limit does not return the control-plane turn".to_owned();
    contains(&time_limit(&holder), &[says, act]);
}

#[test]
fn a_provider_spec_is_corrected_where_admission_lets_it() {
    let with_owner = json!({ "metadata": { "ownerReferences": [
        { "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "name": "pool", "uid": "set", "controller": true }
    ] } });
    let free = json!({ "spec": { "providerID": null } });
    let delete = "kubectl -n default delete machine w-0";
    let cases = [
        (
            "has a place",
            json!({}),
            vec!["cannot change", delete, "apply it again"],
        ),
        (
            "no place yet",
            free,
            vec!["kubectl -n default edit machine w-0"],
        ),
        (
            "of a set",
            with_owner,
            vec!["the template of MachineSet pool", delete],
        ),
    ];
    for (case, change, parts) in cases {
        let remedy = correct::remedy(&edited(worker(), &change).machine);
        for part in parts {
            assert!(remedy.contains(part), "{case}: no \"{part}\" in: {remedy}");
        }
    }
    // it is said with the condition, and only where something is to be corrected
    let mut wrong = worker();
    wrong.spec = Err(Why::new(
        Reason::InvalidConfiguration,
        "hostSelecter: unknown field",
    ));
    let says = (
        "InfrastructureReady",
        "InvalidConfiguration",
        &["unknown field. ", "apply it again"][..],
    );
    expect("frozen", &plan(&wrong, at(0)), &[], says);
}

#[test]
fn a_version_in_a_command_is_one_or_is_left_out() {
    for (said, in_command) in [
        ("v1.36.3", "v1.36.3"),
        ("v1.36.3+dist.1", "v1.36.3+dist.1"),
        ("v1'; reboot; '", "VERSION"),
    ] {
        let remedy = correct::versions(&worker().machine, said, Some(said));
        let versions =
            format!(r#"{{"kubelet":"{in_command}","controlPlane":"{in_command}"}}}}}}'"#);
        assert!(remedy.ends_with(&versions), "{remedy}");
    }
}

fn claimed_by_another(observed: Observed, seen: Observation) -> Observed {
    lost(observed, Unheld::Taken("orig".into(), says(seen)))
}

#[test]
fn a_machine_whose_host_has_another_claim_is_no_reason_to_touch_that_claim() {
    let gone = "tatara machine declare-gone w-0 -n default";
    let copy = claimed_by_another(running(worker()), reset_of(OTHER));
    let stays = plan(&copy, at(0));
    let parts = [
        "looks like a copy of orig".to_owned(),
        "Leave orig and the Host alone".into(),
        format!("kubectl -n default delete machine w-0 --wait=false; {gone}"),
    ];
    let message = &finding(&stays, "InfrastructureReady").message();
    contains(message, &parts);
    assert!(!message.contains("patch host"), "{message}");
    let copy = deleted(copy, at(0));
    let goes = plan(&copy, at(1));
    let message = &finding(&goes, "Deleting").message();
    contains(message, &[gone.into()]);
    assert!(!message.contains("delete machine"), "{message}");
}

#[test]
fn a_marker_or_silence_behind_another_claim_is_no_copy() {
    let own = ours(running(worker()), Vec::new());
    let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = own.placement
    else {
        panic!("a host")
    };
    let marked = claimed_by_another(running(worker()), *seen);
    let silent = Unheld::Taken(
        "orig".into(),
        Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "no route".into(),
        },
    );
    let silent = lost(running(worker()), silent);
    let patch = "kubectl -n default patch host host-a";
    for (observed, part) in [(marked, patch), (silent, "bring the Host back first")] {
        let plan = plan(&observed, at(0));
        let message = &finding(&plan, "InfrastructureReady").message();
        contains(message, &[part.to_owned()]);
        assert!(!message.contains("a copy of"), "{message}");
        assert!(!message.contains("declare-gone"), "{message}");
    }
}

#[test]
fn a_host_with_the_marker_of_another_is_not_given_back() {
    let mut seen = unmarked(Vec::new());
    seen.owner = Ownership::Owner(Owner {
        marker: marker("w-9", OTHER),
        initialized: false,
        joined: true,
    });
    let observed = lost(running(worker()), Unheld::Asked(says(seen)));
    let plan = plan(&observed, at(0));
    let message = &finding(&plan, "InfrastructureReady").message();
    contains(
        message,
        &["marker of Machine w-9".into(), "declare-gone".into()],
    );
    assert!(!message.contains("patch host"), "{message}");
}

#[test]
fn what_keeps_a_released_host_from_its_reset_is_said_in_its_own_words() {
    let gone = "tatara machine declare-gone";
    let limit = "hostReleaseTimeoutSeconds";
    let cases: [(_, _, &[&str], &str); 6] = [
        (
            Stuck::Silent(at(0)),
            "SshUnreachable",
            &[
                "has not been reachable for its reset since 20",
                "SshUnreachable: words",
                limit,
            ],
            "HostUnreachable",
        ),
        (
            Stuck::Silent(at(0)),
            "HostKeyChanged",
            &[
                "HostKeyChanged: words. It may still run its pods",
                "Fix that first",
                gone,
            ],
            "HostUnreachable",
        ),
        (
            Stuck::ResetFails,
            "ResetFailed",
            &[
                "ResetFailed: words",
                "its server is cut, and it stays off",
                limit,
            ],
            "ResetFailed",
        ),
        (
            Stuck::Waits,
            "WaitingForStep",
            &[
                "host-a is not reset yet: words",
                "Nobody has to act: a step is stopped after 45 minutes",
            ],
            "WaitingForHost",
        ),
        (
            Stuck::LeftAlone,
            "Orphaned",
            &["was released and is not being reset: Orphaned: words", gone],
            "Orphaned",
        ),
        (
            Stuck::LeftAlone,
            "Paused",
            &["kubectl -n default annotate host host-a cluster.k8s.io/paused-"],
            "WaitingForHost",
        ),
    ];
    for (stuck, reason, parts, expected) in cases {
        let mut observed = deleted(running(worker()), at(0));
        let Placement::Held(held) = &mut observed.placement else {
            panic!("a host")
        };
        held.releasing = true;
        held.stuck = Some(stuck);
        held.why = Some((reason.into(), "words".into()));
        let says = ("Deleting", expected, parts);
        let plan = plan(&observed, at(1));
        expect(reason, &plan, &[], says);
        if stuck == Stuck::Waits {
            let gives_up = [gone, "hostReleaseTimeoutSeconds"];
            let message = &plan.findings[0].message();
            assert!(
                !gives_up.iter().any(|text| message.contains(text)),
                "{message}"
            );
        }
    }
}

#[test]
fn whoever_does_not_wait_for_a_drain_gets_the_command_and_what_is_left_to_do() {
    let without =
        "kubectl -n default annotate machine w-0 machine.cluster.k8s.io/exclude-node-draining=";
    let parts = [
        "does not answer, and nothing proves that its pods have ended, so this may never end",
        "only on proof",
        without,
    ];
    contains(&unanswered(&worker(), "host-a"), &parts.map(str::to_owned));
    let mut observed = deleted(running(worker()), at(0));
    observed.node = Lookup::Unknown("no answer".into());
    let parts = [
        without,
        "kubectl --kubeconfig <(tatara kubeconfig a -n default) delete node host-a",
    ];
    let says = ("Deleting", "WaitingForApi", &parts[..]);
    expect("API", &plan(&observed, at(1)), &[], says);
}

#[test]
fn a_marker_that_cannot_be_read_is_looked_at_before_anything_is_deleted() {
    let observed = on(worker(), Ownership::Unreadable("{".into()), Vec::new());
    let parts = [
        "Inspect that file on the host first",
        "the Host is not freed",
    ];
    let says = ("HostClean", "Occupied", &parts[..]);
    expect("unreadable", &plan(&observed, at(0)), &[], says);
}

#[test]
fn a_node_that_is_gone_is_brought_back_and_a_control_plane_is_not_deleted_for_it() {
    let status = json!({ "status": { "nodeRef": { "name": "host-a" } } });
    let delete = "kubectl -n default delete machine";
    for (observed, may_go) in [(worker(), true), (control_plane(), false)] {
        let mut observed = edited(prepared(observed, &[]), &status);
        let Placement::Held(held) = &mut observed.placement else {
            panic!("a host")
        };
        held.contact = Contact::NotAsked;
        let parts = &[
            "Node host-a does not exist any more",
            "systemctl restart kubelet",
        ][..];
        let plan = plan(&observed, at(0));
        expect("gone", &plan, &[], ("NodeHealthy", "NodeGone", parts));
        let message = &finding(&plan, "NodeHealthy").message();
        assert_eq!(message.contains(delete), may_go, "{message}");
    }
}

#[test]
fn that_a_host_is_gone_waits_for_the_deletion_and_is_said_beside_a_healthy_node() {
    let says_gone = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let armed = edited(running(worker()), &says_gone);
    let remove = "kubectl -n default annotate machine w-0 tatara.dev/host-is-gone-";
    let parts = &["when this Machine is deleted", remove][..];
    let plan = plan(&armed, at(0));
    let says = ("HostIsGoneUsed", "WaitsForDeletion", parts);
    expect("armed", &plan, &[], says);
    assert_eq!(finding(&plan, "Ready").reason(), "NodeReady");
    // where it counts for nothing, that is said
    let of_other = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): OTHER } } });
    let made = with_cluster(running(control_plane()), |c| {
        c.initialized_by = Some(ME.into());
    });
    for (observed, reason) in [
        (edited(running(worker()), &of_other), "OtherMachine"),
        (edited(made, &says_gone), "LastControlPlane"),
    ] {
        let plan = super::plan(&observed, at(0));
        let says = ("HostIsGoneUsed", reason, &["is ignored"][..]);
        expect(reason, &plan, &plan.actions, says);
    }
}
