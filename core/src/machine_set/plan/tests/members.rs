//! Which Machines belong to a set, and what it makes and keeps of them.

use super::*;

#[test]
fn an_orphan_is_taken_in_and_counts_at_once() {
    let orphan = ObservedMachine {
        owner: Owner::Orphan,
        ..machine("x")
    };
    let plan = plan(&with(set(2), [orphan]), at(0));
    assert_eq!(
        plan.actions[0],
        Action::Adopt {
            name: "x".into(),
            uid: "x".into()
        }
    );
    assert_eq!(created(&plan).len(), 1);
}

#[test]
fn an_orphan_that_is_no_replica_of_the_template_is_left_alone() {
    let orphan = || ObservedMachine {
        owner: Owner::Orphan,
        ..machine("x")
    };
    let control_plane = ObservedMachine {
        control_plane: true,
        ..orphan()
    };
    let leaving = ObservedMachine {
        deleting: Some(at(0)),
        ..orphan()
    };
    let other_labels = ObservedMachine {
        labels: [].into(),
        ..orphan()
    };
    for left_alone in [control_plane, leaving, other_labels] {
        assert_eq!(
            plan(&with(set(0), [left_alone.clone()]), at(0)).actions,
            [],
            "{left_alone:?}"
        );
    }
    let mut of_cluster = with(set(0), [orphan()]);
    of_cluster.labels.insert(LABEL_CLUSTER.into(), "c".into());
    assert_eq!(
        plan(&of_cluster, at(0)).actions,
        [],
        "it is of another cluster"
    );
}

#[test]
fn an_empty_or_unreadable_selector_matches_nothing() {
    let mut observed = with(set(3), [machine("ms-0")]);
    observed.selector = LabelSelector::default();
    let plan = plan(&observed, at(0));
    assert_eq!(plan.actions, []);
    assert_eq!(
        finding(&plan, "MachinesReady").reason(),
        "InvalidConfiguration"
    );
}

#[test]
fn the_counters_tell_apart_who_is_ready_available_starting_and_unhealthy() {
    let mut observed = set(6);
    observed.min_ready_seconds = 30;
    observed
        .template
        .metadata
        .labels
        .insert("tier".into(), "gold".into());
    let mut labeled = machine("ms-0");
    labeled.labels.insert("tier".into(), "gold".into());
    let settling = ObservedMachine {
        ready_since: Some(at(80)),
        ..machine("ms-1")
    };
    let starting = ObservedMachine {
        ready_since: None,
        has_node: false,
        created: at(90),
        ..machine("ms-2")
    };
    let lost = ObservedMachine {
        ready_since: None,
        not_ready_since: Some(at(-300)),
        ..machine("ms-3")
    };
    let joining = ObservedMachine {
        ready_since: None,
        not_ready_since: Some(at(70)),
        ..machine("ms-4")
    };
    let leaving = ObservedMachine {
        deleting: Some(at(95)),
        ..machine("ms-5")
    };
    let plan = plan(
        &with(
            observed,
            [labeled, settling, starting, lost, joining, leaving],
        ),
        at(100),
    );
    let expected = Counts {
        replicas: 5,
        fully_labeled: 1,
        ready: 2,
        available: 1,
        unhealthy: 1,
        starting: 1,
        deleting: 1,
        last_progress: Some(at(95)),
    };
    assert_eq!(plan.counts, expected);
    assert_eq!(
        plan.wake_at,
        Some(at(110)),
        "when the next Machine becomes available"
    );
    assert_eq!(plan.label_selector.as_deref(), Some("pool=a"));
    assert_eq!(
        finding(&plan, "MachinesReady").message(),
        "2/6 ready, 1 unhealthy, 1 without a Node yet"
    );
}

#[test]
fn a_changed_template_reaches_machines_in_place_and_only_what_differs() {
    let mut observed = set(1);
    observed
        .template
        .metadata
        .labels
        .insert("tier".into(), "gold".into());
    observed
        .template
        .metadata
        .annotations
        .insert("note".into(), "x".into());
    observed
        .template
        .spec
        .metadata
        .labels
        .insert("zone".into(), "b".into());
    observed
        .template
        .spec
        .metadata
        .annotations
        .insert("rack".into(), "r".into());
    let taint = Taint {
        key: "gpu".into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    };
    observed.template.spec.taints = vec![taint.clone()];
    let deletion = MachineDeletion {
        node_drain_timeout_seconds: Some(60),
        ..MachineDeletion::default()
    };
    observed.template.spec.deletion = Some(deletion.clone());
    let mut own = machine("ms-0");
    own.labels.insert("own".into(), "kept".into());
    let plan = plan(&with(observed, [own]), at(0));
    let one = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    let changes = InPlace {
        labels: one("tier", "gold"),
        annotations: one("note", "x"),
        node_labels: one("zone", "b"),
        node_annotations: one("rack", "r"),
        taints: Some(vec![taint]),
        deletion: Some(deletion),
    };
    let name = "ms-0".to_owned();
    assert_eq!(
        plan.actions,
        [Action::UpdateInPlace {
            uid: name.clone(),
            name,
            changes
        }]
    );
}

#[test]
fn of_a_machine_in_deletion_the_shorter_time_limit_counts() {
    let limit = |seconds: Option<i64>| MachineDeletion {
        host_release_timeout_seconds: seconds,
        ..MachineDeletion::default()
    };
    let goes = Some(at(0));
    // in deletion, on the Machine, in the template, what is written
    for (deleting, have, template, expected) in [
        (None, Some(60), Some(3600), Some(Some(3600))),
        (goes, Some(60), Some(3600), None),
        (goes, Some(60), None, None),
        (goes, Some(60), Some(0), None),
        (goes, Some(3600), Some(60), Some(Some(60))),
        (goes, None, Some(60), Some(Some(60))),
    ] {
        let written = ObservedMachine {
            deleting,
            deletion: Some(limit(have)),
            ..machine("ms-0")
        };
        let mut observed = with(set(1), [written]);
        observed.template.spec.deletion = Some(limit(template));
        let actions = plan(&observed, at(1)).actions;
        let wrote = actions.iter().find_map(|action| match action {
            Action::UpdateInPlace { changes, .. } => changes.deletion.clone(),
            _ => None,
        });
        assert_eq!(
            wrote,
            expected.map(limit),
            "{deleting:?} {have:?} {template:?}"
        );
    }
}

#[test]
fn a_machine_is_made_from_the_template_and_belongs_to_its_set_and_cluster() {
    let mut observed = set(1);
    observed.namespace = "prod".into();
    observed.labels.insert(LABEL_CLUSTER.into(), "c".into());
    observed.template.spec.metadata.name = Some("node".into());
    observed.template.spec.provider_id = Some("x".into());
    let machine = desired_machine(&observed, "ms-0");
    let labels = machine.metadata.labels.expect("labels");
    assert_eq!(labels[LABEL_CLUSTER], "c");
    assert_eq!(labels[LABEL_MACHINE_SET], "ms");
    assert_eq!(labels["pool"], "a");
    let owner = &machine.metadata.owner_references.expect("an owner")[0];
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str(), owner.controller),
        ("MachineSet", "set", Some(true))
    );
    assert_eq!(machine.metadata.namespace.as_deref(), Some("prod"));
    assert_eq!(
        (machine.spec.metadata.name, machine.spec.provider_id),
        (None, None)
    );
}

#[test]
fn what_depends_on_the_set_at_this_moment_is_looked_at_first() {
    let orphan = ObservedMachine {
        owner: Owner::Orphan,
        ..machine("x")
    };
    let mut differs = set(1);
    differs.template.spec.deletion = Some(MachineDeletion {
        node_drain_timeout_seconds: Some(60),
        ..MachineDeletion::default()
    });
    let table = [
        ("taking in", with(set(1), [orphan]), true, true),
        ("deleting", with(set(0), [machine("x")]), true, true),
        ("making", set(1), true, false),
        (
            "a change in place",
            with(differs, [machine("x")]),
            false,
            false,
        ),
        ("nothing", with(set(1), [machine("x")]), false, false),
    ];
    for (what, observed, at_first, later) in table {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.needs_look(false), at_first, "{what}");
        assert_eq!(plan.needs_look(true), later, "{what}");
    }
    let orphan = ObservedMachine {
        owner: Owner::Orphan,
        ..machine("x")
    };
    let leaving = Observed {
        deleting: true,
        ..with(set(1), [orphan])
    };
    let plan = plan(&leaving, at(0));
    assert_eq!(plan.actions, [], "a set that goes takes nothing in");
}
