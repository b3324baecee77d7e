//! An update that fails, is taken back, or was never asked for.

use super::*;
use crate::api::names::LABEL_MACHINE_DEPLOYMENT;
use crate::machine::ControlPlaneMachine;

/// The condition that was reported of a Machine, by the given generation.
fn told(
    observed: Observed,
    (type_, status, reason): (&str, &str, &str),
    generation: i64,
) -> Observed {
    let condition = json!({
        "type": type_, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": at(0).to_string(), "observedGeneration": generation,
    });
    let change = json!({
        "metadata": { "generation": 2 },
        "status": { "conditions": [condition] },
    });
    edited(observed, &change)
}

fn failure_at(step: &str) -> UnitState {
    match failure("no") {
        UnitState::Failed(mut failure) => {
            failure.at.step = step.into();
            UnitState::Failed(failure)
        }
        other => other,
    }
}

#[test]
fn a_kubelet_that_does_not_start_is_replaced_by_the_one_before() {
    // the Node still reports the old one, for the new one never started
    let wants = json!({ "spec": { "versions": { "kubelet": "v1.35.4" } } });
    let failed = [
        (JobKind::Upgrade, UnitState::Succeeded),
        (JobKind::Kubelet, failure("no")),
    ];
    let back = edited(shows(old_worker(&[]), &failed, "v1.36.3"), &wants);
    let mut back = told(back, ("Updating", "True", "UpdateFailed"), 1);
    node_is(&mut back, |node| {
        (node.ready, node.ready_reason) = (None, "NodeStatusUnknown".into());
    });
    let run = [Action::RunJob(JobKind::Kubelet)];
    let replaced = plan(&back, at(0));
    expect(
        "set back",
        &replaced,
        &run,
        says("Updating", "KubeletUpdate"),
    );
    // it was installed, and systemd has not started it anew
    let killed = [(JobKind::Kubelet, UnitState::Interrupted(step("kubelet")))];
    let mut killed = edited(shows(old_worker(&[]), &killed, "v1.36.3"), &wants);
    killed = told(killed, ("Updating", "True", "KubeletUpdate"), 1);
    let all = plan(&killed, at(0)).actions;
    assert_eq!(all.last(), Some(&run[0]), "{all:?}");
}

#[test]
fn kubeadm_that_broke_off_is_run_to_its_end() {
    let new = with_turn(old_control_plane(&[OWN], &[]), ME);
    let broken = [(JobKind::Upgrade, UnitState::Interrupted(step("upgrade")))];
    let mut new = shows(new, &broken, "v1.36.3");
    new = with_cluster(new, |c| c.components = Some(components("v1.36.3")));
    runs(&mut new, "v1.36.3");
    let again = plan(&new, at(0));
    let run = [Action::RunJob(JobKind::Upgrade)];
    expect("again", &again, &run, says("Updating", "KubeadmUpgrade"));
}

#[test]
fn a_retry_asks_for_the_quorum_again_unless_kubeadm_stopped_its_own_member() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let sick = |which: usize, step: &str| {
        let failed = [(JobKind::Upgrade, failure_at(step))];
        let observed = with_turn(old_control_plane(&three, &failed), ME);
        with_cluster(observed, |cluster| {
            let mut members = (*etcd_at(&three)).clone();
            let id = members.at(three[which]).expect("a member").id;
            members.health.remove(&id);
            cluster.etcd = Lookup::Known(Arc::new(members));
        })
    };
    let returns = |plan: &Plan| {
        let returned =
            |action: &Action| matches!(action, Action::ReturnTurn(TurnIsOver::Member(_)));
        plan.actions.iter().any(returned)
    };
    let another = plan(&sick(1, "kubeadm"), at(0));
    assert_eq!(finding(&another, "UpToDate").reason(), Reason::QuorumAtRisk);
    assert!(returns(&another), "others may leave meanwhile");
    let half = plan(&sick(1, "upgrade"), at(0));
    assert_eq!(finding(&half, "UpToDate").reason(), Reason::QuorumAtRisk);
    assert!(returns(&half), "its own member serves");
    // an attempt before that one may have stopped it
    for step in ["upgrade", "kubeadm"] {
        let own = plan(&sick(0, step), at(0));
        assert_eq!(own.actions, [Action::RunJob(JobKind::Upgrade)], "{step}");
    }
}

#[test]
fn a_member_that_knows_no_leader_is_not_taken_for_one_that_its_update_has_stopped() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    // another one died: there is an election, and the own API server has not been away for long
    for step in ["kubeadm", "upgrade"] {
        let failed = [(JobKind::Upgrade, failure_at(step))];
        let observed = with_turn(old_control_plane(&three, &failed), ME);
        let observed = with_cluster(observed, |cluster| {
            let mut members = (*etcd_at(&three)).clone();
            for address in &three[..2] {
                let id = members.at(address).expect("a member").id;
                members.health.remove(&id);
            }
            cluster.etcd = Lookup::Known(Arc::new(members));
            cluster.other_control_planes.push(ControlPlaneMachine {
                name: "cp-1".into(),
                address: Some(three[1].into()),
                applied: None,
                leaves: false,
                look: LastLook::Idle,
                runs: None,
            });
        });
        let waits = plan(&observed, at(0));
        let runs = |action: &Action| matches!(action, Action::RunJob(_));
        assert!(
            !waits.actions.iter().any(runs),
            "{step}: {:?}",
            waits.actions
        );
        let says = finding(&waits, "UpToDate");
        assert_eq!(says.reason(), Reason::TooFewMembersAnswer, "{step}");
    }
}

#[test]
fn a_kubelet_that_starts_etcd_anew_waits_for_the_quorum_too() {
    let three = [OWN, "192.0.2.21", "192.0.2.22"];
    let sick = |which: usize, kubelet: Option<UnitState>| {
        let kubelet = kubelet.map(|state| (JobKind::Kubelet, state));
        let upgraded = (JobKind::Upgrade, UnitState::Succeeded);
        let jobs: Vec<_> = [upgraded].into_iter().chain(kubelet).collect();
        let observed = with_turn(old_control_plane(&three, &jobs), ME);
        let observed = with_cluster(observed, |cluster| {
            let mut members = (*etcd_at(&three)).clone();
            let id = members.at(three[which]).expect("a member").id;
            members.health.remove(&id);
            cluster.etcd = Lookup::Known(Arc::new(members));
            cluster.components = Some(components("v1.36.3"));
        });
        plan(&observed, at(0))
    };
    let returns = |plan: &Plan| {
        let mut actions = plan.actions.iter();
        actions.any(|action| matches!(action, Action::ReturnTurn(_)))
    };
    let another = sick(1, None);
    assert_eq!(finding(&another, "UpToDate").reason(), Reason::QuorumAtRisk);
    assert!(returns(&another), "others may leave meanwhile");
    assert_eq!(another.actions.len(), 1, "{:?}", another.actions);
    let half = sick(1, Some(failure("no")));
    assert_eq!(finding(&half, "UpToDate").reason(), Reason::QuorumAtRisk);
    assert!(returns(&half), "{:?}", half.actions);
    let own = sick(0, Some(failure("no")));
    let again = Action::RunJob(JobKind::Kubelet);
    assert_eq!(own.actions.last(), Some(&again), "{:?}", own.actions);
}

#[test]
fn a_kubelet_that_took_the_api_with_it_is_put_back_before_kubeadm_is_asked() {
    let jobs = [
        (JobKind::Upgrade, UnitState::Succeeded),
        (JobKind::Kubelet, failure("no")),
    ];
    let mut lone = with_turn(old_control_plane(&[OWN], &jobs), ME);
    lone = with_cluster(lone, |cluster| {
        cluster.etcd = Lookup::Unknown("no answer".into());
        cluster.components = Some(components("v1.36.3"));
    });
    lone.node = Lookup::Unknown("no answer".into());
    let again = Action::RunJob(JobKind::Kubelet);
    assert_eq!(plan(&lone, at(0)).actions, std::slice::from_ref(&again));
    let wants = json!({ "spec": { "versions": { "kubelet": "v1.35.4" } } });
    let back = plan(&edited(lone, &wants), at(0));
    assert_eq!(back.actions, [again]);
}

#[test]
fn that_no_list_is_read_is_no_sign_that_the_own_member_does_not_serve() {
    let jobs = [
        (JobKind::Upgrade, UnitState::Succeeded),
        (JobKind::Kubelet, failure("no")),
    ];
    let answered = |answer: Option<Answer>| {
        let observed = with_turn(old_control_plane(&[OWN, "192.0.2.21"], &jobs), ME);
        let observed = with_cluster(observed, |cluster| {
            let mut components = (*components("v1.36.3")).clone();
            // what is said of the member beside a list that cannot be read
            let unread = Answer::Unasked("no answer".into());
            let answers = [
                (Component::Etcd, Some(unread)),
                (Component::ApiServer, answer.clone()),
            ];
            for (component, answer) in answers {
                for second in [5, 25] {
                    let Some(answer) = answer.clone() else { break };
                    let state = components.states.get(&component);
                    let state = ComponentState::next(state, answer, at(second));
                    components.states.insert(component, state);
                }
            }
            cluster.components = Some(Arc::new(components));
            cluster.etcd = Lookup::Unknown("no answer".into());
            cluster.other_control_planes.push(ControlPlaneMachine {
                name: "cp-1".into(),
                address: Some("192.0.2.21".into()),
                applied: None,
                leaves: false,
                look: LastLook::Idle,
                runs: None,
            });
        });
        plan(&observed, at(30))
    };
    for answer in [None, Some(Answer::Unasked("refused".into()))] {
        let waits = answered(answer);
        assert_eq!(waits.actions, [], "it may serve, with all that is left");
        assert_eq!(
            finding(&waits, "UpToDate").reason(),
            Reason::EtcdUnreachable
        );
    }
    let stopped = answered(Some(Answer::Fails("its port is closed".into())));
    let again = Action::RunJob(JobKind::Kubelet);
    assert_eq!(stopped.actions.last(), Some(&again));
}

#[test]
fn what_nobody_asked_for_is_told_and_left() {
    let by_hand = |condition| {
        let mut observed = told(old_worker(&[]), condition, 2);
        runs(&mut observed, "v1.36.4");
        observed
    };
    let says = says("UpToDate", "KubeletVersionDiffers");
    for condition in [
        ("UpToDate", "True", "VersionsEqual"),
        ("UpToDate", "False", "KubeletVersionDiffers"),
        ("UpToDate", "False", "SettingsDiffer"),
    ] {
        expect("by hand", &plan(&by_hand(condition), at(0)), &[], says);
    }
    let asked = told(old_worker(&[]), ("UpToDate", "True", "VersionsEqual"), 1);
    let begins = plan(&asked, at(0));
    assert_eq!(begins.actions, [Action::RunJob(JobKind::Upgrade)]);
}

#[test]
fn what_a_restored_backup_does_not_know_is_told_with_both_versions_and_where_to_set_them() {
    let owned = json!({ "metadata": {
        "labels": { (LABEL_MACHINE_DEPLOYMENT): "cp" },
        "ownerReferences": [{ "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "name": "cp-1",
            "uid": "cp-1", "controller": true }],
    }});
    // wants v1.36.3
    let newer = |owner: &Value, kubelet: &str| {
        let mut observed = edited(old_control_plane(&["host-a", "cp-1", "cp-2"], &[]), owner);
        runs(&mut observed, kubelet);
        let observed = with_cluster(observed, |cluster| {
            cluster.components = Some(components("v1.36.4"));
        });
        told(observed, ("UpToDate", "True", "VersionsEqual"), 2)
    };
    let message = |observed: &Observed| {
        let plan = plan(observed, at(0));
        assert_eq!(plan.actions, []);
        let told = finding(&plan, "UpToDate");
        assert_eq!(told.reason(), Reason::KubeletVersionDiffers);
        told.message()
    };
    let of_template = "Set spec.template.spec.versions of MachineDeployment cp to kubelet v1.36.4 and controlPlane v1.36.4, then";
    let both = "control plane v1.36.4, wanted v1.36.3; kubelet v1.36.4, wanted v1.36.3. ";
    let said = message(&newer(&owned, "v1.36.4"));
    assert!(
        said.starts_with(both) && said.contains(of_template),
        "{said}"
    );
    // none of an older version would join instead
    assert!(!said.contains("delete machine"), "{said}");
    let alone = message(&newer(&json!({}), "v1.36.3"));
    assert!(
        alone.starts_with("control plane v1.36.4, wanted v1.36.3. "),
        "{alone}"
    );
    let patch = r#""versions":{"kubelet":"v1.36.3","controlPlane":"v1.36.4"}"#;
    assert!(alone.contains(patch), "{alone}");
    let mut worker = told(old_worker(&[]), ("UpToDate", "True", "VersionsEqual"), 2);
    runs(&mut worker, "v1.36.4");
    let said = message(&worker);
    assert!(
        said.contains(r#""versions":{"kubelet":"v1.36.4"}"#),
        "{said}"
    );
    assert!(said.ends_with("delete machine w-0"), "{said}");
}

#[test]
fn workers_that_no_set_counts_are_drained_one_at_a_time() {
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let behind = with_cluster(old_worker(&done), |c| {
        c.peers.lane.drained_after = Some("w-9".into());
    });
    let waits = plan(&behind, at(0));
    let told = ("Updating", "WaitingForTurn", &["Machine w-9"][..]);
    expect("behind", &waits, &[], told);
    let mut cordoned = behind;
    node_is(&mut cordoned, |node| {
        node.annotations
            .insert(ANNOTATION_CORDONED.into(), "true".into());
    });
    assert_eq!(plan(&cordoned, at(0)).actions.first(), Some(&drain()));
}

#[test]
fn a_kubelet_that_is_the_users_is_there_before_the_node_is_drained() {
    let done = [(JobKind::Upgrade, UnitState::Succeeded)];
    let preinstalled = |kubelet| {
        let mut observed = running(worker());
        runs(&mut observed, "v1.35.4");
        let observed = with_cluster(observed, |c| c.peers.take_pods = true);
        plan(&shows(observed, &done, kubelet), at(0))
    };
    let missing = preinstalled("v1.35.4");
    let told = (
        "Updating",
        "UpdateFailed",
        &["Install kubelet v1.36.3 there"][..],
    );
    expect("not there", &missing, &[], told);
    let all = [drain(), Action::RunJob(JobKind::Kubelet)];
    assert_eq!(preinstalled("v1.36.3").actions, all);
}

#[test]
fn a_host_that_is_off_is_told_once_with_what_to_do() {
    let updating = json!({ "status": { "conditions": [{
        "type": "Updating", "status": "True", "reason": "ReplacingKubelet", "message": "",
        "lastTransitionTime": at(0).to_string(),
    }] } });
    let silent = "host-a:22 does not answer; check its power";
    let off = |mut observed: Observed| {
        node_is(&mut observed, |node| node.ready = None);
        observed.placement = held(Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: silent.into(),
        });
        if let Placement::Held(held) = &mut observed.placement {
            held.why = Some((Reason::SshUnreachable.as_str().into(), silent.into()));
        }
        plan(&edited(observed, &updating), at(0))
    };
    let worker = off(old_worker(&[]));
    let delete = "lost for good, delete the Machine (nothing creates another; the deletion says how to confirm the loss): kubectl -n default delete machine w-0 --wait=false";
    let parts = [silent, "Power its host on", delete];
    expect(
        "a worker",
        &worker,
        &[],
        ("Updating", "SshUnreachable", &parts),
    );
    expect(
        "a worker",
        &worker,
        &[],
        ("UpToDate", "SshUnreachable", &parts),
    );
    let health = &finding(&worker, "NodeHealthy").message();
    assert_eq!(health.matches(silent).count(), 1, "{health}");
    let lone = off(old_control_plane(&["cp-0"], &[]));
    let lone = &finding(&lone, "Updating").message();
    assert!(lone.contains("Do not delete this Machine"), "{lone}");
    assert!(!lone.contains("kubectl"), "{lone}");
}
