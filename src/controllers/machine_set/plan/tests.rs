use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::*;
use crate::api::conditions::Status;
use crate::api::machine::MachineDeletion;
use crate::api::machine_set::DeletePolicy;
use crate::api::names::{ANNOTATION_DELETE_MACHINE, ANNOTATION_PAUSED, LABEL_MACHINE_SET};
use crate::controllers::machine_set::Gate;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn labels() -> std::collections::BTreeMap<String, String> {
    [("pool".to_owned(), "a".to_owned())].into()
}

fn set(replicas: i32) -> Observed {
    let mut set = Observed {
        name: "ms".into(),
        uid: "set".into(),
        replicas,
        selector: LabelSelector {
            match_labels: Some(labels()),
            match_expressions: None,
        },
        ..Observed::default()
    };
    set.template.metadata.labels = labels();
    set
}

/// An available Machine of the set.
fn machine(name: &str) -> ObservedMachine {
    let mut labels = labels();
    labels.insert(LABEL_MACHINE_SET.into(), "ms".into());
    ObservedMachine {
        name: name.into(),
        uid: name.into(),
        created: at(0),
        labels,
        ready_since: Some(at(0)),
        has_node: true,
        ..ObservedMachine::default()
    }
}

fn with(mut set: Observed, machines: impl IntoIterator<Item = ObservedMachine>) -> Observed {
    set.machines.extend(machines);
    set
}

fn created(plan: &Plan) -> Vec<&str> {
    let names = plan.actions.iter().filter_map(|action| match action {
        Action::Create { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn deleted(plan: &Plan) -> Vec<&str> {
    let names = plan.actions.iter().filter_map(|action| match action {
        Action::Delete { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    plan.findings
        .iter()
        .find(|finding| finding.condition == condition)
        .expect("the finding")
}

#[test]
fn what_is_missing_is_made_with_the_lowest_free_ordinals() {
    let leaving = ObservedMachine {
        deleting: Some(at(0)),
        ..machine("ms-0")
    };
    let foreign = ObservedMachine {
        owner: Owner::Other,
        ..machine("ms-3")
    };
    let observed = with(set(4), [leaving, machine("ms-1"), foreign]);
    let first = plan(&observed, at(10));
    assert_eq!(
        created(&first),
        ["ms-2", "ms-4", "ms-5"],
        "names in use are not taken again"
    );
    assert_eq!(
        first,
        plan(&observed, at(10)),
        "the same knowledge gives the same names"
    );
    assert_eq!(
        finding(&first, "ScalingUp").message,
        "1 Machines < 4 spec.replicas; creating ms-2, ms-4, ms-5"
    );
}

#[test]
fn a_machine_in_deletion_does_not_keep_its_replacement_away() {
    let leaving = ObservedMachine {
        deleting: Some(at(0)),
        ..machine("ms-0")
    };
    let plan = plan(&with(set(1), [leaving]), at(10));
    assert_eq!(created(&plan), ["ms-1"]);
    assert_eq!((plan.counts.replicas, plan.counts.deleting), (0, 1));
}

#[test]
fn a_machine_in_deletion_counts_as_the_first_to_go() {
    let leaving = ObservedMachine {
        deleting: Some(at(0)),
        ..machine("ms-0")
    };
    let plan = plan(
        &with(set(2), [leaving, machine("ms-1"), machine("ms-2")]),
        at(10),
    );
    assert_eq!(plan.actions, []);
    assert_eq!(finding(&plan, "ScalingDown").reason, "WaitingForDeletion");
}

#[test]
fn the_right_number_is_left_alone() {
    let plan = plan(&with(set(2), [machine("ms-0"), machine("ms-1")]), at(10));
    assert_eq!(plan.actions, []);
    assert_eq!(finding(&plan, "MachinesReady").status, Status::True);
    assert_eq!(plan.wake_at, None);
}

/// Machines, worst first, in the order in which they go under each policy.
#[test]
#[allow(clippy::too_many_lines)] // a table
fn machines_go_marked_ones_first_then_the_worst_then_as_the_policy_says() {
    let marked = |name: &str| {
        let annotations = [(ANNOTATION_DELETE_MACHINE.to_owned(), "yes".to_owned())];
        ObservedMachine {
            annotations: annotations.into(),
            ..machine(name)
        }
    };
    let failed = |name: &str| ObservedMachine {
        failed: true,
        ..machine(name)
    };
    let created = |name: &str, seconds| ObservedMachine {
        created: at(seconds),
        ..machine(name)
    };
    let starting = |name: &str| ObservedMachine {
        ready_since: None,
        has_node: false,
        ..machine(name)
    };
    let not_ready = |name: &str| ObservedMachine {
        ready_since: None,
        ..machine(name)
    };
    let settling = |name: &str| ObservedMachine {
        ready_since: Some(at(95)),
        ..machine(name)
    };
    let unmarked = ObservedMachine {
        annotations: [(ANNOTATION_DELETE_MACHINE.to_owned(), String::new())].into(),
        ..machine("c")
    };
    let table: Vec<(&str, DeletePolicy, Vec<ObservedMachine>, Vec<&str>)> = vec![
        (
            "ties go by name",
            DeletePolicy::Oldest,
            vec![machine("b"), machine("a")],
            vec!["a"],
        ),
        (
            "oldest",
            DeletePolicy::Oldest,
            vec![created("a", 2), created("b", 1)],
            vec!["b"],
        ),
        (
            "newest",
            DeletePolicy::Newest,
            vec![created("a", 1), created("b", 2)],
            vec!["b"],
        ),
        (
            "a mark beats age",
            DeletePolicy::Newest,
            vec![marked("a"), created("b", 2)],
            vec!["a"],
        ),
        (
            "a mark beats sickness",
            DeletePolicy::Random,
            vec![failed("a"), marked("b")],
            vec!["b"],
        ),
        (
            "an empty mark is none",
            DeletePolicy::Oldest,
            vec![unmarked, machine("a")],
            vec!["a"],
        ),
        (
            "sickness beats age",
            DeletePolicy::Oldest,
            vec![machine("a"), failed("b")],
            vec!["b"],
        ),
        (
            "by how well they are",
            DeletePolicy::Oldest,
            vec![
                settling("e"),
                not_ready("d"),
                starting("c"),
                failed("b"),
                machine("a"),
            ],
            vec!["b", "c", "d", "e"],
        ),
        (
            "two marks go by age",
            DeletePolicy::Oldest,
            vec![
                ObservedMachine {
                    created: at(2),
                    ..marked("a")
                },
                marked("b"),
                machine("c"),
            ],
            vec!["b", "a"],
        ),
    ];
    for (name, policy, machines, expected) in table {
        let replicas = machines.len() - expected.len();
        let mut observed = with(set(i32::try_from(replicas).expect("few")), machines);
        observed.delete_policy = policy;
        observed.min_ready_seconds = 10;
        assert_eq!(deleted(&plan(&observed, at(100))), expected, "{name}");
    }
}

#[test]
fn random_is_the_same_every_time_and_does_not_follow_the_names() {
    let names: Vec<String> = (0..20).map(|at| format!("ms-{at}")).collect();
    let machines: Vec<_> = names.iter().map(|name| machine(name)).collect();
    let mut reversed = machines.clone();
    reversed.reverse();
    let victims = deleted_names(&with(set(15), machines));
    assert_eq!(victims, deleted_names(&with(set(15), reversed)));
    assert_ne!(victims, names[..5]);
}

fn deleted_names(observed: &Observed) -> Vec<String> {
    deleted(&plan(observed, at(10)))
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn every_deletion_says_why_and_why_this_one() {
    let sick = ObservedMachine {
        failed: true,
        ..machine("ms-1")
    };
    let plan = plan(&with(set(1), [machine("ms-0"), sick]), at(10));
    let [Action::Delete { because, .. }] = plan.actions.as_slice() else {
        panic!("{:?}", plan.actions)
    };
    assert_eq!(because, "2 Machines > 1 spec.replicas; it is unhealthy");
    assert!(
        finding(&plan, "ScalingDown")
            .message
            .contains(because.as_str())
    );
}

#[test]
fn a_gate_holds_back_creation_and_nothing_else() {
    let gate = Gate {
        reason: "ControlPlaneUpgrading",
        message: "the control plane is being upgraded".into(),
    };
    let mut observed = set(2);
    observed.gate = Some(gate);
    let up = plan(&observed, at(0));
    assert_eq!(up.actions, []);
    let finding = finding(&up, "ScalingUp");
    assert_eq!(
        (finding.status, finding.reason),
        (Status::True, "ControlPlaneUpgrading")
    );
    assert!(
        finding
            .message
            .ends_with("the control plane is being upgraded")
    );
    observed.replicas = 0;
    assert_eq!(
        deleted(&plan(&with(observed, [machine("ms-0")]), at(0))),
        ["ms-0"]
    );
}

#[test]
fn the_annotation_of_on_delete_holds_back_creation() {
    for (value, made) in [("true", 0), ("", 0), ("false", 1)] {
        let mut observed = set(1);
        observed
            .annotations
            .insert(ANNOTATION_DISABLE_CREATE.into(), value.into());
        assert_eq!(created(&plan(&observed, at(0))).len(), made, "{value:?}");
    }
}

#[test]
fn nothing_is_done_while_paused_or_in_deletion_but_counted_all_the_same() {
    let mut paused = with(set(3), [machine("ms-0")]);
    paused.paused_by = Some("Cluster c".into());
    let plan_paused = plan(&paused, at(0));
    assert_eq!(
        (plan_paused.actions.len(), plan_paused.counts.replicas),
        (0, 1)
    );
    let message = &finding(&plan_paused, "Paused").message;
    assert!(message.starts_with("Cluster c") && message.contains(ANNOTATION_PAUSED));
    let deleting = Observed {
        deleting: true,
        ..with(set(3), [machine("ms-0")])
    };
    assert_eq!(plan(&deleting, at(0)).actions, []);
}

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
    assert_eq!(created(&plan), ["ms-0"]);
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
        finding(&plan, "MachinesReady").reason,
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
        finding(&plan, "MachinesReady").message,
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
