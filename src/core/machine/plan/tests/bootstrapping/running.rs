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
        observed.namesake = Some(crate::core::machine::Namesake {
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
