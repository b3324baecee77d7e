//! A machine that is a Node already.

use super::*;

#[test]
fn a_running_machine_keeps_its_node_as_it_says() {
    let plan_of = |observed: &Observed| plan(observed, at(0));
    let steady = plan_of(&running(worker()));
    let says = ("Ready", "NodeReady", &[][..]);
    expect("as it says", &steady, &[], says);
    assert_eq!(steady.phase, Phase::Running);

    let mut sick = running(worker());
    for (ready, phase) in [(Some(false), Phase::NotReady), (None, Phase::Unknown)] {
        let said = NodeView { ready, ..node() };
        sick.node = Lookup::Known(Some(Arc::new(said)));
        assert_eq!(plan_of(&sick).phase, phase);
    }
    let Placement::Held(held) = &mut sick.placement else {
        panic!("a host")
    };
    held.why = Some(("SshUnreachable".into(), "no route; is it on?".into()));
    let parts = &["Node host-a", ". Host host-a: no route; is it on?"][..];
    let off = ("Ready", "NodeNotReady", parts);
    expect("its host is off", &plan_of(&sick), &[], off);
    sick.node = Lookup::Unknown("no answer".into());
    assert_eq!(plan_of(&sick).phase, Phase::Unknown);
    let old = json!({ "spec": { "versions": { "kubelet": "v1.20.0" } } });
    assert_eq!(plan_of(&edited(worker(), &old)).phase, Phase::Failed);

    let labelled = edited(
        running(worker()),
        &json!({ "spec": { "metadata": { "labels": { "disk": "ssd" } } } }),
    );
    let update = Action::UpdateNode {
        node: "host-a".into(),
        uid: "node".into(),
    };
    expect("a label", &plan_of(&labelled), &[update], says);

    let mut with_turn = with_cluster(running(worker()), |c| c.turn = Some(turn_of(ME)));
    with_turn.has_token = true;
    let actions = [
        Action::ReturnTurn(TurnIsOver::Recorded),
        Action::RemoveToken,
    ];
    expect("a turn and a token", &plan_of(&with_turn), &actions, says);

    let settings = r#"{"kubeletConfiguration":{"maxPods":110}}"#;
    let annotation = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): settings } } });
    let behind = with_cluster(edited(running(worker()), &annotation), |cluster| {
        let settings = json!({ "kubeletConfiguration": { "maxPods": 200 } });
        cluster.spec = Ok(serde_json::from_value(settings).expect("settings"));
    });
    let parts = [
        "kubeletConfiguration.maxPods is 110, wanted 200",
        "set them back",
    ];
    let says = ("UpToDate", "SettingsDiffer", &parts[..]);
    expect("other settings", &plan_of(&behind), &[], says);
}

#[test]
fn a_node_that_a_lost_machine_left_behind_goes_and_any_other_stands_in_the_way() {
    let joining_after = |reset: &[UnitStatus], is_left_over, ready, marked: Option<&str>| {
        let observed = with_cluster(worker(), |c| c.initialized_by = Some(OTHER.into()));
        let mut observed = prepared(observed, &[]);
        if let Placement::Held(Infrastructure {
            contact: Contact::Seen(seen),
            ..
        }) = &mut observed.placement
        {
            seen.units.extend_from_slice(reset);
        }
        observed.namesake = Some(crate::machine::Namesake {
            node: Arc::new(NodeView {
                ready,
                provider_id: Some(format!("tatara://ssh/{OTHER}")),
                ..node()
            }),
            is_left_over,
            marked: marked.map(Into::into),
        });
        plan(&observed, at(0))
    };
    let reset = reset_of(OTHER).units;
    let joining = |is_left_over, ready, marked| joining_after(&reset, is_left_over, ready, marked);
    let unproven = joining_after(&[], true, Some(false), None);
    let says = (
        "BootstrapReady",
        "NodeNameTaken",
        &["nothing proves", "delete node host-a"][..],
    );
    expect("not reset here", &unproven, &[], says);
    let other = joining_after(&reset_of("another").units, true, Some(false), None);
    expect("another was reset here", &other, &[], says);
    let delete = Action::DeleteLeftNode {
        node: "host-a".into(),
        uid: "node".into(),
    };
    let says = ("BootstrapReady", "DeletingOldNode", &["host-a"][..]);
    for ready in [None, Some(false)] {
        let plan = joining(true, ready, None);
        expect(
            "of a Machine that does not exist any more",
            &plan,
            std::slice::from_ref(&delete),
            says,
        );
    }
    let lives = ("BootstrapReady", "NodeNameTaken", &["is Ready"][..]);
    expect("it lives", &joining(true, Some(true), None), &[], lives);
    let named = (
        "BootstrapReady",
        "NodeNameTaken",
        &["marker on Host h9"][..],
    );
    expect("it is named", &joining(true, None, Some("h9")), &[], named);
    let says = (
        "BootstrapReady",
        "NodeNameTaken",
        &[
            "host-a",
            "--kubeconfig <(tatara kubeconfig a -n default) delete node host-a",
        ][..],
    );
    let taken = joining(false, None, None);
    expect("taken", &taken, &[], says);
    assert_ne!(
        taken.next,
        Next::OnChange,
        "the end of that Node wakes nobody here"
    );
}

#[test]
fn the_node_of_a_control_plane_that_registers_anew_gets_the_marks_of_kubeadm() {
    use crate::kubeadm::CONTROL_PLANE_LABELS;
    use crate::machine::{plan::marks, status};
    let of = |recorded: &str, settings: Value, marked: bool| {
        let change = json!({ "status": { "nodeRef": { "name": "host-a", "uid": recorded } } });
        let mut observed = edited(running(control_plane()), &change);
        observed = with_cluster(observed, |cluster| {
            let settings = json!({ "kubeadm": settings });
            cluster.spec = Ok(serde_json::from_value(settings).expect("settings"));
        });
        if let (true, Lookup::Known(Some(node))) = (marked, &observed.node) {
            let mut node = node.as_ref().clone();
            let labels = CONTROL_PLANE_LABELS.map(|label| (label.to_owned(), String::new()));
            node.labels.extend(labels);
            node.taints = marks::wanted(&observed).taints;
            observed.node = Lookup::Known(Some(Arc::new(node)));
        }
        observed
    };
    let none = json!({ "joinConfiguration": { "nodeRegistration": { "taints": [] } } });
    let another = json!({ "initConfiguration": { "nodeRegistration": { "taints": [] } } });
    let own = json!({ "joinConfiguration": { "nodeRegistration": {
        "taints": [{ "key": "etcd", "value": "here", "effect": "NoExecute" }],
    } } });
    let role = "node-role.kubernetes.io/control-plane";
    let update = [Action::UpdateNode {
        node: "host-a".into(),
        uid: "node".into(),
    }];
    // what is recorded, the settings, whether it has the marks; whether they are set, and the
    // taints
    let table = [
        ("the recorded one", "node", json!({}), false, false, &[][..]),
        ("another", "before", json!({}), false, true, &[role]),
        (
            "it has them by now",
            "before",
            json!({}),
            true,
            false,
            &[role],
        ),
        ("no taint is wanted", "before", none, false, true, &[]),
        ("of init alone", "before", another, false, true, &[role]),
        ("another taint", "before", own, false, true, &["etcd"]),
    ];
    for (case, recorded, settings, marked, is_set, taints) in table {
        let observed = of(recorded, settings, marked);
        let wanted = marks::wanted(&observed);
        let keys: Vec<_> = wanted.taints.iter().map(|taint| &*taint.key).collect();
        assert_eq!(keys, taints, "{case}");
        let has_labels = CONTROL_PLANE_LABELS
            .iter()
            .all(|label| wanted.labels.contains_key(*label));
        assert_eq!(has_labels, recorded != "node", "{case}");
        let plan = plan(&observed, at(0));
        let actions = if is_set { &update[..] } else { &[] };
        assert_eq!(plan.actions, actions, "{case}");
        // recorded only then: a manager that is stopped in between sets them as well
        let before = observed.machine.status.clone().expect("a status");
        let status = status::status(&observed, &plan, &before, at(0));
        let uid = status.node_ref.and_then(|node| node.uid);
        let expected = if is_set { recorded } else { "node" };
        assert_eq!(uid.as_deref(), Some(expected), "{case}");
    }
    let change = json!({ "status": { "nodeRef": { "name": "host-a", "uid": "before" } } });
    let worker = edited(running(worker()), &change);
    assert_eq!(plan(&worker, at(0)).actions, []);
}
