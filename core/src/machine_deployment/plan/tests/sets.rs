//! Which sets there are, and which is the current one.

use super::*;

#[test]
fn a_new_set_is_made_with_everything_inline() {
    let mut observed = deployment(3, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.labels.insert(LABEL_CLUSTER.into(), "c".into());
    observed.template.spec.provider_spec =
        serde_json::from_value(json!({"valueFrom": {"machineClass": {"name": "large"}}}))
            .expect("a provider spec");
    observed.template.spec.metadata.name = Some("node".into());
    observed.min_ready_seconds = 7;
    let plan = plan(&observed, at(110));
    let Some(Action::CreateSet(new)) = plan.actions.last() else {
        panic!("{:?}", plan.actions)
    };
    let set = desired_set(&observed, new);
    assert_eq!(
        set.spec.template.spec.provider_spec.value,
        Some(json!({"kind": "X"}))
    );
    assert_eq!(set.spec.template.spec.provider_spec.value_from, None);
    assert_eq!(
        set.spec.template.spec.metadata.name, None,
        "all Nodes would have the name"
    );
    assert_eq!((set.spec.replicas, set.spec.min_ready_seconds), (1, 7));
    let labels = set.metadata.labels.expect("labels");
    assert_eq!(labels[LABEL_CLUSTER], "c");
    assert_eq!(labels[LABEL_MACHINE_DEPLOYMENT], "md");
    let hash = &labels[LABEL_TEMPLATE_HASH];
    assert_eq!(new.name, format!("md-{hash}"));
    let selector = set.spec.selector.match_labels.expect("labels");
    assert_eq!(
        (selector["pool"].as_str(), &selector[LABEL_TEMPLATE_HASH]),
        ("a", hash)
    );
    let annotations = set.metadata.annotations.expect("annotations");
    assert_eq!(annotations[ANNOTATION_REVISION], "2");
    assert_eq!(annotations[ANNOTATION_REVISION_X], "2");
    assert_eq!(annotations[ANNOTATION_DESIRED_REPLICAS], "3");
    assert_eq!(annotations[ANNOTATION_MAX_REPLICAS], "4");
    let owner = &set.metadata.owner_references.expect("an owner")[0];
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str()),
        ("MachineDeployment", "md")
    );
    assert_eq!(
        new.because,
        [
            "no MachineSet has this template; from old: versions.kubelet 1.35.0 → 1.36.3",
            "3 current Machines < 3 spec.replicas + 1 maxSurge",
        ]
    );
}

#[test]
fn the_autoscaler_finds_the_sets_and_their_revisions_under_the_names_that_it_knows() {
    // as an earlier release left them
    let mut sets = vec![old("old", (1, 1, 1)), new((2, 2, 2))];
    for set in &mut sets {
        set.labels.remove(LABEL_MACHINE_DEPLOYMENT_X);
        set.annotations.remove(ANNOTATION_REVISION_X);
    }
    let plan = plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110));
    for name in ["old", "new"] {
        let labels = &update(&plan, name).labels;
        assert_eq!(labels[LABEL_MACHINE_DEPLOYMENT_X], "md", "{name}");
    }
    // a set without the number is an old one to it
    let annotations = |name: &str| update(&plan, name).annotations.get(ANNOTATION_REVISION_X);
    assert_eq!(annotations("new"), Some(&Some("9".into())));
    assert_eq!(annotations("old"), None);
}

#[test]
fn a_set_of_someone_else_with_the_name_makes_a_second_one() {
    let mut observed = deployment(3, rolling(Int(1), Int(0)), vec![]);
    let named = |observed: &Observed| match plan(observed, at(0)).actions.as_slice() {
        [Action::CreateSet(new)] => new.name.clone(),
        other => panic!("{other:?}"),
    };
    let first = named(&observed);
    observed.taken.insert(first.clone());
    assert_eq!(named(&observed), format!("{first}-1"));
}

#[test]
fn where_several_sets_match_the_one_with_most_machines_is_the_current_one() {
    let twins = vec![
        set("a", NEW, 1, (1, 1, 1)),
        set("b", "1.36.3", 2, (2, 2, 2)),
    ];
    let plan = plan(&deployment(3, rolling(Int(1), Int(0)), twins), at(110));
    assert_eq!(steps(&plan), ["b 3"]);
}

#[test]
fn a_left_over_set_is_taken_in_and_one_made_by_hand_is_not() {
    let left_over = ObservedSet {
        owner: Owner::Orphan,
        ..new((3, 3, 3))
    };
    let adopted = plan(
        &deployment(3, rolling(Int(1), Int(0)), vec![left_over.clone()]),
        at(110),
    );
    assert_eq!(
        adopted.actions[0],
        Action::AdoptSet {
            name: "new".into(),
            uid: "new".into()
        }
    );
    let mut by_hand = left_over;
    by_hand.labels.clear();
    let plan = plan(
        &deployment(3, rolling(Int(1), Int(0)), vec![by_hand]),
        at(110),
    );
    assert_eq!(steps(&plan), ["+ 3"]);
}

#[test]
fn what_needs_no_new_machines_is_written_on_active_sets_and_leaves_the_rest_of_the_template() {
    let sets = vec![
        set("idle", "v1.34.0", 1, (0, 0, 0)),
        set("old", "v1.35.0", 2, (2, 2, 2)),
        new((1, 1, 1)),
    ];
    let mut observed = deployment(3, rolling(Int(1), Int(0)), sets);
    observed
        .template
        .metadata
        .labels
        .insert("tier".into(), "gold".into());
    observed
        .template
        .spec
        .metadata
        .labels
        .insert("zone".into(), "b".into());
    let plan = plan(&observed, at(110));
    let template = update(&plan, "old").template.as_ref().expect("a template");
    assert_eq!(template.metadata.labels["tier"], "gold");
    assert_eq!(template.spec.metadata.labels["zone"], "b");
    assert_eq!(
        template.spec.versions.as_ref().map(|v| v.kubelet.as_str()),
        Some("v1.35.0")
    );
    assert_eq!(
        template.spec.provider_spec.value,
        Some(json!({"kind": "X"}))
    );
    assert!(update(&plan, "new").template.is_some());
    let idle = plan
        .actions
        .iter()
        .any(|action| matches!(action, Action::UpdateSet(u) if u.name == "idle"));
    assert!(!idle, "a set without Machines is history");
}
