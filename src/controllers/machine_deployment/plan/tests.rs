use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::{self, Int};
use serde_json::json;

use super::*;
use crate::api::conditions::Status;
use crate::api::machine_deployment::{RollingUpdate, Strategy};
use crate::api::names::{
    ANNOTATION_DESIRED_REPLICAS, ANNOTATION_DISABLE_CREATE, ANNOTATION_MAX_REPLICAS,
    ANNOTATION_REVISION, LABEL_CLUSTER, LABEL_MACHINE_DEPLOYMENT, LABEL_TEMPLATE_HASH,
};
use crate::api::{MachineVersions, ProviderSpec};
use crate::controllers::machine_deployment::{Counts, ObservedSet, Unresolved};
use crate::controllers::machine_set::Owner;

const NEW: &str = "v1.36.3";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn template(version: &str) -> MachineTemplate {
    let mut template = MachineTemplate::default();
    template.metadata.labels.insert("pool".into(), "a".into());
    template.spec.versions = Some(MachineVersions {
        kubelet: version.into(),
        control_plane: None,
    });
    template
}

fn rolling(surge: IntOrString, unavailable: IntOrString) -> Strategy {
    let rolling_update = RollingUpdate {
        max_surge: Some(surge),
        max_unavailable: Some(unavailable),
    };
    Strategy {
        type_: StrategyType::RollingUpdate,
        rolling_update: Some(rolling_update),
    }
}

/// A deployment of [`NEW`] with these sets.
fn deployment(replicas: i32, strategy: Strategy, sets: Vec<ObservedSet>) -> Observed {
    Observed {
        name: "md".into(),
        namespace: "default".into(),
        uid: "md".into(),
        labels: [].into(),
        replicas,
        min_ready_seconds: 0,
        revision_history_limit: 1,
        progress_deadline_seconds: 600,
        strategy,
        paused: false,
        paused_by: None,
        deleting: false,
        selector: LabelSelector {
            match_labels: Some([("pool".to_owned(), "a".to_owned())].into()),
            match_expressions: None,
        },
        template: template(NEW),
        provider_spec: Ok(json!({"kind": "X"})),
        taken: sets.iter().map(|set| set.name.clone()).collect(),
        sets,
    }
}

/// A set as its deployment of three would leave it: wanted, current and available Machines.
fn set(
    name: &str,
    version: &str,
    revision: i64,
    (wanted, current, available): (i32, i32, i32),
) -> ObservedSet {
    let mut template = template(version);
    template
        .metadata
        .labels
        .insert(LABEL_MACHINE_DEPLOYMENT.into(), "md".into());
    template
        .metadata
        .labels
        .insert(LABEL_TEMPLATE_HASH.into(), name.into());
    template.spec.provider_spec = ProviderSpec {
        value: Some(json!({"kind": "X"})),
        value_from: None,
    };
    let annotations = [(ANNOTATION_REVISION.to_owned(), revision.to_string())];
    ObservedSet {
        name: name.into(),
        uid: name.into(),
        created: at(revision),
        labels: template.metadata.labels.clone(),
        annotations: annotations.into(),
        template,
        counts: Counts {
            wanted,
            current,
            ready: available,
            available,
            ..Counts::default()
        },
        last_progress: Some(at(100)),
        ..ObservedSet::default()
    }
}

fn old(name: &str, counts: (i32, i32, i32)) -> ObservedSet {
    set(name, "v1.35.0", 1, counts)
}

fn new(counts: (i32, i32, i32)) -> ObservedSet {
    set("new", NEW, 9, counts)
}

fn unhealthy(mut set: ObservedSet) -> ObservedSet {
    set.counts.unhealthy = set.counts.current - set.counts.available;
    set
}

fn deleting(mut set: ObservedSet, count: i32) -> ObservedSet {
    set.counts.deleting = count;
    set
}

/// The replicas that a plan changes, as `name to`.
fn steps(plan: &Plan) -> Vec<String> {
    let steps = plan.actions.iter().filter_map(|action| match action {
        Action::UpdateSet(update) => update
            .replicas
            .map(|(_, to)| format!("{} {to}", update.name)),
        Action::CreateSet(set) => Some(format!("+ {}", set.replicas)),
        _ => None,
    });
    steps.collect()
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    plan.findings
        .iter()
        .find(|finding| finding.condition == condition)
        .expect("the finding")
}

fn update<'a>(plan: &'a Plan, name: &str) -> &'a SetUpdate {
    let found = plan.actions.iter().find_map(|action| match action {
        Action::UpdateSet(update) if update.name == name => Some(update),
        _ => None,
    });
    found.expect("an update of the set")
}

type Case = (
    &'static str,
    i32,
    (i32, i32),
    Vec<ObservedSet>,
    &'static [&'static str],
);

fn check(cases: Vec<Case>) {
    for (name, replicas, (surge, unavailable), sets, expected) in cases {
        let observed = deployment(replicas, rolling(Int(surge), Int(unavailable)), sets);
        let plan = plan(&observed, at(110));
        assert_eq!(steps(&plan), expected, "{name}: {:?}", plan.findings);
    }
}

#[test]
fn the_current_set_grows_within_what_there_may_be_and_shrinks_to_what_is_asked_for() {
    check(vec![
        (
            "up to what is asked for",
            2,
            (1, 0),
            vec![new((0, 0, 0))],
            &["new 2"],
        ),
        (
            "down to nothing",
            0,
            (1, 0),
            vec![new((2, 2, 2))],
            &["new 0"],
        ),
        ("it is as asked for", 2, (1, 0), vec![new((2, 2, 2))], &[]),
        (
            "by the surge alone",
            3,
            (2, 0),
            vec![old("old", (3, 3, 3)), new((0, 0, 0))],
            &["new 2"],
        ),
        (
            "there is no room",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "not beyond what is asked for",
            6,
            (3, 0),
            vec![old("old", (1, 1, 1)), new((5, 5, 4))],
            &["new 6"],
        ),
        (
            "what an old set has not deleted yet takes room",
            3,
            (1, 0),
            vec![old("old", (2, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "what an old set has not made yet takes room",
            3,
            (2, 0),
            vec![old("old", (3, 2, 2)), new((2, 2, 2))],
            &[],
        ),
        (
            "what is in deletion takes room",
            3,
            (1, 0),
            vec![deleting(old("old", (2, 2, 2)), 1), new((1, 1, 1))],
            &[],
        ),
        (
            "what a set that is being deleted still has takes room",
            3,
            (1, 0),
            vec![
                ObservedSet {
                    deleting: true,
                    ..old("gone", (2, 2, 2))
                },
                new((2, 2, 2)),
            ],
            &[],
        ),
    ]);
}

#[test]
fn old_sets_shrink_only_by_what_can_be_done_without() {
    check(vec![
        (
            "nothing is left",
            3,
            (1, 0),
            vec![old("old", (0, 0, 0)), new((3, 3, 3))],
            &[],
        ),
        (
            "at the minimum",
            3,
            (1, 0),
            vec![old("old", (2, 2, 2)), new((2, 2, 1))],
            &[],
        ),
        (
            "below the minimum",
            3,
            (1, 0),
            vec![old("old", (2, 2, 2)), new((2, 2, 0))],
            &[],
        ),
        (
            "one to spare",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 1))],
            &["old 2"],
        ),
        (
            "all to spare",
            3,
            (3, 0),
            vec![old("old", (3, 3, 3)), new((3, 3, 3))],
            &["old 0"],
        ),
        (
            "what is going already is not to spare",
            3,
            (1, 0),
            vec![old("old", (2, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "nor what goes from another set",
            6,
            (1, 0),
            vec![old("a", (2, 3, 3)), old("b", (3, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "a new one that is not there yet",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 0, 0))],
            &[],
        ),
        (
            "a new one that is not available yet",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "the oldest set first",
            6,
            (1, 1),
            vec![
                set("b", "v1.35.1", 2, (2, 2, 2)),
                set("a", "v1.35.0", 1, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 1", "new 3"],
        ),
        (
            "several sets, as far as it goes",
            6,
            (0, 3),
            vec![
                set("a", "v1.35.0", 1, (2, 2, 2)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what the current set gives up in the same step is not to spare",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((4, 4, 4))],
            &["old 0", "new 3"],
        ),
    ]);
}

#[test]
fn unhealthy_machines_of_old_sets_go_first() {
    check(vec![
        (
            "before available ones",
            3,
            (1, 0),
            vec![unhealthy(old("old", (3, 3, 2))), new((1, 1, 1))],
            &["old 2"],
        ),
        (
            "of a newer set before available ones of an older",
            4,
            (1, 0),
            vec![
                old("a", (3, 3, 3)),
                unhealthy(set("b", "v1.35.1", 2, (1, 1, 0))),
                new((1, 1, 1)),
            ],
            &["b 0"],
        ),
        (
            "never so many that too few are left should all be well after all",
            3,
            (1, 0),
            vec![unhealthy(old("old", (3, 3, 0))), new((1, 1, 0))],
            &[],
        ),
        (
            "and available ones with them, where they can be spared",
            4,
            (2, 1),
            vec![unhealthy(old("old", (4, 4, 3))), new((2, 2, 2))],
            &["old 1"],
        ),
    ]);
}

#[test]
fn the_roll_waits_for_what_an_old_set_must_bring_back() {
    check(vec![
        (
            "a lost Machine",
            6,
            (1, 2),
            vec![old("old", (3, 2, 2)), new((3, 3, 3))],
            &[],
        ),
        (
            "one that is made again and not available yet",
            6,
            (0, 2),
            vec![old("old", (3, 3, 2)), new((3, 3, 3))],
            &[],
        ),
        (
            "but an unhealthy one goes meanwhile",
            6,
            (0, 3),
            vec![
                unhealthy(old("a", (2, 2, 1))),
                set("b", "v1.35.1", 2, (2, 2, 1)),
                new((2, 2, 2)),
            ],
            &["a 1"],
        ),
    ]);
}

#[test]
fn after_the_deadline_nothing_is_waited_for_that_can_be_done_without() {
    let table: [(&str, Vec<ObservedSet>, &[&str]); 6] = [
        (
            "a lost Machine",
            vec![old("old", (2, 1, 1)), new((2, 2, 2))],
            &["old 1"],
        ),
        (
            "one that does not become available",
            vec![old("old", (2, 2, 1)), new((2, 2, 2))],
            &["old 1"],
        ),
        (
            "even when the new one does not either: it may need the room",
            vec![old("old", (3, 3, 2)), new((1, 1, 0))],
            &["old 2"],
        ),
        (
            "one at a time",
            vec![unhealthy(old("old", (3, 3, 1))), new((1, 1, 0))],
            &["old 2"],
        ),
        (
            "never an available one",
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "nor when nothing is available",
            vec![old("old", (3, 3, 0)), new((1, 1, 0))],
            &[],
        ),
    ];
    for (name, sets, expected) in table {
        let observed = deployment(3, rolling(Int(1), Int(0)), sets);
        let late = plan(&observed, at(700));
        assert_eq!(steps(&late), expected, "{name}: {:?}", late.findings);
    }
}

#[test]
fn a_deadlock_is_broken_only_when_nothing_moves_and_the_new_machines_are_well() {
    // The room is taken by a deletion that is over in a moment; nothing else can go on.
    let stuck = |old_counts, new_counts| vec![unhealthy(old("old", old_counts)), new(new_counts)];
    let gate = |sets: Vec<ObservedSet>| {
        let observed = deployment(4, rolling(Int(0), Int(1)), sets);
        steps(&plan(&observed, at(110)))
    };
    assert_eq!(gate(stuck((2, 2, 1), (2, 2, 2))), ["old 1"]);
    assert_eq!(
        gate(stuck((2, 2, 1), (2, 2, 1))),
        [] as [&str; 0],
        "the new ones are not well"
    );
    assert_eq!(
        gate(stuck((1, 2, 1), (2, 2, 2))),
        [] as [&str; 0],
        "one is going already"
    );
}

#[test]
fn a_replaced_revision_gives_up_what_has_no_node_yet() {
    let mut bad = set("bad", "v1.36.0", 2, (2, 2, 1));
    bad.counts.starting = 1;
    let mut repairing = set("good", "v1.35.0", 1, (2, 2, 1));
    repairing.counts.starting = 1;
    let mut observed = deployment(3, rolling(Int(1), Int(0)), vec![repairing, bad]);
    let first = plan(&observed, at(110));
    assert_eq!(
        steps(&first),
        ["bad 1", "+ 0"],
        "what the older set repairs is kept"
    );
    assert!(
        matches!(first.actions.last(), Some(Action::CreateSet(_))),
        "the old ones are written first"
    );
    observed
        .template
        .spec
        .versions
        .get_or_insert_default()
        .control_plane = Some(NEW.into());
    assert_eq!(
        steps(&plan(&observed, at(110))),
        ["+ 0"],
        "it may be running kubeadm init"
    );
}

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
fn on_delete_replaces_what_was_deleted_and_nothing_else() {
    let table: [(&str, i32, Vec<ObservedSet>, &[&str]); 8] = [
        (
            "nothing was deleted",
            4,
            vec![
                old("a", (3, 3, 3)),
                set("b", "v1.35.1", 2, (1, 1, 1)),
                new((0, 0, 0)),
            ],
            &[],
        ),
        (
            "old sets shrink to what is left",
            3,
            vec![
                old("a", (3, 2, 2)),
                set("b", "v1.35.1", 2, (1, 0, 0)),
                new((0, 0, 0)),
            ],
            &["a 2", "b 0"],
        ),
        (
            "what is too many comes from old sets",
            3,
            vec![
                old("a", (1, 1, 1)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what was deleted counts to that",
            3,
            vec![
                old("a", (1, 0, 0)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what is missing comes from the current set",
            6,
            vec![old("a", (1, 1, 1)), new((2, 2, 2))],
            &["new 5"],
        ),
        (
            "too many of the current template",
            1,
            vec![new((5, 5, 5))],
            &["new 1"],
        ),
        (
            "and old ones with them",
            1,
            vec![old("a", (3, 3, 3)), new((5, 5, 5))],
            &["a 0", "new 1"],
        ),
        (
            "what is not available goes before what is",
            3,
            vec![old("a", (3, 3, 3)), new((2, 2, 0))],
            &["new 0"],
        ),
    ];
    let strategy = Strategy {
        type_: StrategyType::OnDelete,
        rolling_update: None,
    };
    for (name, replicas, sets, expected) in table {
        let plan = plan(&deployment(replicas, strategy.clone(), sets), at(110));
        assert_eq!(steps(&plan), expected, "{name}: {:?}", plan.findings);
    }
}

#[test]
fn under_on_delete_old_sets_make_no_machines_and_under_rolling_update_they_may() {
    let sets = vec![old("old", (3, 3, 3)), new((0, 0, 0))];
    let strategy = Strategy {
        type_: StrategyType::OnDelete,
        rolling_update: None,
    };
    let mut observed = deployment(3, strategy, sets);
    let disabled = plan(&observed, at(110));
    assert_eq!(
        update(&disabled, "old").annotations[ANNOTATION_DISABLE_CREATE].as_deref(),
        Some("true")
    );
    assert!(
        !update(&disabled, "new")
            .annotations
            .contains_key(ANNOTATION_DISABLE_CREATE)
    );
    for set in &mut observed.sets {
        set.annotations
            .insert(ANNOTATION_DISABLE_CREATE.into(), "true".into());
    }
    observed.strategy = rolling(Int(1), Int(0));
    let enabled = plan(&observed, at(110));
    for name in ["old", "new"] {
        assert_eq!(
            update(&enabled, name).annotations[ANNOTATION_DISABLE_CREATE],
            None,
            "{name}"
        );
    }
}

#[test]
fn without_its_class_it_scales_and_rolls_nothing() {
    let mut observed = deployment(4, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.provider_spec = Err(Unresolved {
        reason: "MachineClassNotFound",
        message: "MachineClass large".into(),
    });
    let unresolved = plan(&observed, at(110));
    assert_eq!(steps(&unresolved), ["old 4"]);
    let progressing = finding(&unresolved, "Progressing");
    assert_eq!(
        (progressing.status, progressing.reason),
        (Status::False, "MachineClassNotFound")
    );
    assert_eq!(unresolved.phase, Phase::Failed);
    observed.sets.clear();
    assert_eq!(plan(&observed, at(110)).actions, []);
}

#[test]
fn nothing_is_done_while_an_annotation_pauses_it_or_it_is_being_deleted() {
    let mut observed = deployment(5, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.paused_by = Some("Cluster c".into());
    let paused = plan(&observed, at(110));
    assert_eq!(paused.actions, []);
    assert_eq!(finding(&paused, "Paused").reason, "PausedByAnnotation");
    assert_eq!(paused.counts.replicas, 3);
    observed.paused_by = None;
    observed.deleting = true;
    assert_eq!(plan(&observed, at(110)).actions, []);
}

#[test]
fn a_wrong_limit_stops_it_and_says_what_to_write() {
    let wrong = IntOrString::String("5".into());
    let plan = plan(
        &deployment(3, rolling(wrong, Int(0)), vec![old("old", (3, 3, 3))]),
        at(110),
    );
    assert_eq!((plan.actions.len(), plan.phase), (0, Phase::Failed));
    assert_eq!(finding(&plan, "Progressing").reason, "InvalidConfiguration");
}

#[test]
fn it_is_available_while_no_more_are_missing_than_may() {
    let table = [
        (3, 0, 3, true),
        (3, 0, 2, false),
        (3, 1, 2, true),
        (3, 9, 0, true),
        (0, 0, 0, true),
    ];
    for (replicas, unavailable, have, expected) in table {
        let sets = vec![new((replicas, replicas, have))];
        let plan = plan(
            &deployment(replicas, rolling(Int(1), Int(unavailable)), sets),
            at(110),
        );
        assert_eq!(
            finding(&plan, "Available").status == Status::True,
            expected,
            "{replicas} {unavailable} {have}"
        );
    }
}

#[test]
fn it_is_complete_only_when_all_machines_are_available_and_of_the_current_template() {
    let complete = |sets: Vec<ObservedSet>| {
        let mut observed = deployment(3, rolling(Int(1), Int(0)), sets);
        for set in &mut observed.sets {
            set.annotations
                .insert(ANNOTATION_DESIRED_REPLICAS.into(), "3".into());
        }
        let plan = plan(&observed, at(110));
        finding(&plan, "Progressing").reason == "Complete"
    };
    assert!(complete(vec![new((3, 3, 3))]));
    assert!(complete(vec![old("old", (0, 0, 0)), new((3, 3, 3))]));
    assert!(!complete(vec![new((3, 3, 2))]), "one is not available");
    assert!(!complete(vec![new((3, 2, 2))]), "one is missing");
    assert!(
        !complete(vec![old("old", (0, 1, 1)), new((3, 3, 3))]),
        "an old one is left"
    );
    assert!(
        !complete(vec![deleting(old("old", (0, 0, 0)), 1), new((3, 3, 3))]),
        "an old one is going"
    );
    assert!(!complete(vec![old("old", (3, 3, 3))]), "all are old");
}

#[test]
fn the_phase_sums_it_up() {
    let table: [(&str, Vec<ObservedSet>, Phase); 5] = [
        (
            "fewer than asked for",
            vec![new((3, 1, 1))],
            Phase::ScalingUp,
        ),
        (
            "more than asked for",
            vec![new((3, 5, 5))],
            Phase::ScalingDown,
        ),
        (
            "some are going",
            vec![deleting(new((3, 3, 3)), 1)],
            Phase::ScalingDown,
        ),
        (
            "old ones are left",
            vec![old("old", (1, 1, 1)), new((2, 2, 2))],
            Phase::RollingOut,
        ),
        ("as asked for", vec![new((3, 3, 3))], Phase::Running),
    ];
    for (name, sets, expected) in table {
        assert_eq!(
            plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110)).phase,
            expected,
            "{name}"
        );
    }
}

#[test]
fn every_step_says_why_before_it_is_taken() {
    let sets = vec![old("old", (3, 3, 3)), new((1, 1, 1))];
    let plan = plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110));
    let progressing = finding(&plan, "Progressing");
    assert_eq!(
        (progressing.status, progressing.reason),
        (Status::True, "MachineSetUpdated")
    );
    assert_eq!(
        progressing.message,
        "old MachineSet old from 3 to 2: 4 available replicas > 3 minimum available replicas"
    );
    assert_eq!(
        update(&plan, "old").because,
        ["4 available replicas > 3 minimum available replicas"]
    );
    assert_eq!(
        finding(&plan, "RollingOut").message,
        "1/3 available of the current template; left of old ones: old (3 Machines)"
    );
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

#[test]
fn a_second_plan_of_the_same_knowledge_is_the_same_plan() {
    let sets = vec![old("old", (3, 3, 3)), new((1, 1, 1))];
    let observed = deployment(3, rolling(Int(1), Int(0)), sets);
    assert_eq!(plan(&observed, at(110)), plan(&observed, at(110)));
}
