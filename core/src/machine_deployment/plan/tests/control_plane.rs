use super::*;
use crate::api::conditions::ConditionType;
use crate::machine_deployment::Orphan;

const OLD: &str = "v1.35.4";

fn versions(version: &str) -> MachineVersions {
    MachineVersions {
        kubelet: version.into(),
        control_plane: Some(version.into()),
    }
}

/// A deployment of control planes of [`NEW`], from which the set of this name and version was made.
fn planes(replicas: i32, strategy: Strategy, sets: Vec<ObservedSet>) -> Observed {
    let mut observed = deployment(replicas, strategy, sets);
    observed.template.spec.versions = Some(versions(NEW));
    observed
}

fn set_of(name: &str, version: &str, counts: (i32, i32, i32)) -> ObservedSet {
    let revision = if version == NEW { 9 } else { 1 };
    let mut set = set(name, version, revision, counts);
    set.template.spec.versions = Some(versions(version));
    set.owned = Some(counts.1);
    set
}

fn numbers(plan: &Plan) -> Vec<(String, i32)> {
    let number = |action: &Action| match action {
        Action::UpdateSet(update) => Some((update.name.clone(), update.replicas?.1)),
        Action::CreateSet(new) => Some((new.name.clone(), new.replicas)),
        _ => None,
    };
    plan.actions.iter().filter_map(number).collect()
}

fn says(plan: &Plan, condition: ConditionType) -> (Reason, String) {
    let mut findings = plan.findings.iter();
    let found = findings.find(|finding| finding.condition == condition);
    let found = found.expect("the condition");
    (found.reason(), found.message())
}

fn owned(name: &str, number: i32) -> (String, i32) {
    (name.to_owned(), number)
}

#[test]
fn one_joins_before_one_leaves() {
    let old = |counts| set_of("old", OLD, counts);
    let new = |counts| set_of("new", NEW, counts);
    // wider limits come to one
    let roll = |sets| plan(&planes(3, rolling(Int(3), Int(2)), sets), at(100));
    let table = [
        (vec![old((3, 3, 3)), new((0, 0, 0))], vec![owned("new", 1)]),
        (vec![old((3, 3, 3)), new((1, 1, 0))], vec![]),
        (vec![old((3, 3, 3)), new((1, 1, 1))], vec![owned("old", 2)]),
        (vec![old((2, 2, 2)), new((1, 1, 1))], vec![owned("new", 2)]),
        // what an old set lost is made up from the current template
        (vec![old((3, 2, 2)), new((1, 1, 1))], vec![owned("old", 2)]),
        // one that does not become available holds none back
        (vec![old((3, 3, 2)), new((1, 1, 1))], vec![owned("old", 2)]),
        // and where none is available, none goes: it may be running kubeadm init
        (vec![old((2, 2, 0)), new((2, 2, 0))], vec![]),
    ];
    for (sets, expected) in table {
        let case = format!("{sets:?}");
        assert_eq!(numbers(&roll(sets)), expected, "{case}");
    }
}

#[test]
fn without_surge_one_leaves_first_where_the_others_can_do_without_it() {
    let roll = |replicas, sets| plan(&planes(replicas, rolling(Int(0), Int(1)), sets), at(100));
    let old = |counts| set_of("old", OLD, counts);
    let of_three = roll(3, vec![old((3, 3, 3)), set_of("new", NEW, (0, 0, 0))]);
    assert_eq!(numbers(&of_three), vec![owned("old", 2)]);
    for replicas in [1, 2] {
        let mut creates_none = old((replicas, replicas, replicas));
        let disabled = (ANNOTATION_DISABLE_CREATE.to_owned(), "true".to_owned());
        creates_none.annotations.extend([disabled]);
        let sets = vec![creates_none, set_of("new", NEW, (0, 0, 0))];
        let refused = roll(replicas, sets);
        assert_eq!(numbers(&refused), vec![]);
        let (reason, message) = says(&refused, ConditionType::Progressing);
        assert_eq!(reason, Reason::InvalidConfiguration);
        assert!(message.contains("Set maxSurge to 1"), "{message}");
    }
}

#[test]
fn old_sets_create_none_during_a_roll() {
    let sets = vec![set_of("old", OLD, (3, 3, 3)), set_of("new", NEW, (0, 0, 0))];
    let first = plan(&planes(3, rolling(Int(1), Int(0)), sets), at(100));
    let disabled = first.actions.iter().any(|action| match action {
        Action::UpdateSet(update) => {
            update.name == "old" && update.annotations.contains_key(ANNOTATION_DISABLE_CREATE)
        }
        _ => false,
    });
    assert!(disabled, "{:?}", first.actions);
}

#[test]
fn what_a_set_lacks_that_is_current_again_waits_for_room() {
    let mut first = set_of("first", NEW, (3, 2, 2));
    let disabled = (ANNOTATION_DISABLE_CREATE.to_owned(), "true".to_owned());
    first.annotations.extend([disabled]);
    for (others, kept) in [((1, 2, 2), 2), ((0, 0, 0), 3)] {
        let sets = vec![first.clone(), set_of("second", OLD, others)];
        let plan = plan(&planes(3, rolling(Int(1), Int(0)), sets), at(100));
        let mut updates = plan.actions.iter().filter_map(|action| match action {
            Action::UpdateSet(update) if update.name == "first" => Some(update),
            _ => None,
        });
        let update = updates.next().expect("it may create again");
        let to = update.replicas.map_or(3, |(_, to)| to);
        assert_eq!(to, kept, "{others:?}");
        let annotation = update.annotations.get(ANNOTATION_DISABLE_CREATE);
        assert_eq!(annotation, Some(&None), "in the same write");
    }
}

#[test]
fn the_last_one_stays_and_an_even_number_is_told() {
    let sets = |number| vec![set_of("new", NEW, (number, number, number))];
    for (replicas, have, says_what) in [
        (0, 1, "the last control plane stays"),
        (2, 2, "2 control planes tolerate no more failures than 1"),
    ] {
        let plan = plan(
            &planes(replicas, rolling(Int(1), Int(0)), sets(have)),
            at(100),
        );
        assert_eq!(numbers(&plan), vec![], "{replicas}");
        let (reason, message) = says(&plan, ConditionType::Progressing);
        assert_eq!(reason, Reason::Complete, "{message}");
        assert!(message.contains(says_what), "{message}");
    }
}

fn orphan(name: &str, version: &str, kind: &str) -> Orphan {
    Orphan {
        name: name.into(),
        uid: name.into(),
        versions: Some(versions(version)),
        provider_spec: json!({ "kind": kind }),
        is_paused: false,
    }
}

fn with_orphans(sets: Vec<ObservedSet>, orphans: Vec<Orphan>) -> Plan {
    let mut observed = planes(3, rolling(Int(1), Int(0)), sets);
    observed.orphans = orphans;
    plan(&observed, at(100))
}

#[test]
fn a_machine_is_adopted_into_the_set_of_its_version_before_any_is_made() {
    for version in [NEW, OLD] {
        let first = with_orphans(vec![], vec![orphan("cp-1", version, "X")]);
        let [Action::CreateSet(new)] = &first.actions[..] else {
            panic!("{:?}", first.actions);
        };
        assert_eq!(
            (new.replicas, &new.template.spec.versions),
            (1, &Some(versions(version)))
        );
        assert!(new.annotations.contains_key(ANNOTATION_DISABLE_CREATE));
        // the set exists, and expects it
        let mut made = set_of("made", version, (1, 0, 0));
        let annotations = new.annotations.clone();
        made.annotations.extend(annotations);
        let second = with_orphans(vec![made.clone()], vec![orphan("cp-1", version, "X")]);
        let adopts = Action::AdoptMachine {
            name: "cp-1".into(),
            uid: "cp-1".into(),
            set: "made".into(),
            set_uid: made.uid.clone(),
        };
        assert_eq!(second.actions, vec![adopts]);
        // it has the Machine, and has not counted it
        made.owned = Some(1);
        assert_eq!(with_orphans(vec![made], vec![]).actions, vec![]);
    }
}

#[test]
fn a_set_expects_a_machine_before_it_has_it() {
    let sets = vec![set_of("new", NEW, (2, 2, 2))];
    let plan = with_orphans(sets, vec![orphan("cp-9", NEW, "X")]);
    assert_eq!(numbers(&plan), vec![owned("new", 3)]);
    assert_eq!(plan.actions.len(), 1, "{:?}", plan.actions);
}

#[test]
fn no_more_are_adopted_than_there_shall_be() {
    // each would cost another one
    let sets = vec![set_of("new", NEW, (3, 3, 3))];
    let full = with_orphans(sets, vec![orphan("cp-9", NEW, "X")]);
    let adopts = |action: &Action| matches!(action, Action::AdoptMachine { .. });
    assert!(!full.actions.iter().any(adopts) && numbers(&full).is_empty());
    let (reason, message) = says(&full, ConditionType::Progressing);
    assert_eq!(reason, Reason::Complete);
    let parts = ["Machine cp-9", "spec.replicas is 3"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    let mut observed = planes(1, rolling(Int(1), Int(0)), vec![]);
    observed.orphans = ["cp-1", "cp-2", "cp-3"]
        .map(|name| orphan(name, NEW, "X"))
        .into();
    let first = plan(&observed, at(100));
    let [Action::CreateSet(new)] = &first.actions[..] else {
        panic!("{:?}", first.actions);
    };
    assert_eq!(new.replicas, 1);
}

#[test]
fn workers_are_made_beside_a_control_plane_that_happens_to_match() {
    let mut observed = deployment(2, rolling(Int(1), Int(0)), vec![]);
    observed.orphans = vec![orphan("cp-1", NEW, "X")];
    let plan = plan(&observed, at(100));
    assert!(matches!(&plan.actions[..], [Action::CreateSet(new)] if new.replicas == 2));
}

#[test]
fn a_deployment_that_has_no_control_plane_may_have_none() {
    let parked = plan(
        &planes(
            0,
            rolling(Int(1), Int(0)),
            vec![set_of("new", NEW, (0, 0, 0))],
        ),
        at(100),
    );
    assert_eq!(numbers(&parked), vec![]);
    let (reason, message) = says(&parked, ConditionType::Progressing);
    assert_eq!(reason, Reason::Complete);
    assert!(!message.contains("stays"), "{message}");
}

#[test]
fn a_dead_member_beside_which_none_joins_goes_first() {
    let mut dead = set_of("old", OLD, (3, 3, 2));
    dead.counts.unhealthy = 1;
    let mut joins = set_of("new", NEW, (1, 1, 0));
    joins.counts.starting = 1;
    let roll = |sets| plan(&planes(3, rolling(Int(1), Int(0)), sets), at(100));
    assert_eq!(
        numbers(&roll(vec![dead.clone(), joins.clone()])),
        vec![owned("old", 2)]
    );
    // not where the others are no majority
    dead.counts.available = 1;
    dead.counts.unhealthy = 2;
    assert_eq!(numbers(&roll(vec![dead, joins])), vec![]);
}

#[test]
fn what_differs_is_not_adopted_and_nothing_is_made_instead() {
    let differs = || vec![orphan("cp-1", NEW, "Y")];
    let refused = with_orphans(vec![], differs());
    assert_eq!(refused.actions, vec![]);
    let (reason, message) = says(&refused, ConditionType::Progressing);
    assert_eq!(reason, Reason::NotAdopted);
    let parts = ["Machine cp-1", "providerSpec.value.kind"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    // a deployment that has Machines goes on, and says it
    let goes_on = with_orphans(vec![set_of("new", NEW, (1, 1, 1))], differs());
    assert_eq!(numbers(&goes_on), vec![owned("new", 3)]);
    let complete = with_orphans(vec![set_of("new", NEW, (3, 3, 3))], differs());
    let (reason, message) = says(&complete, ConditionType::Progressing);
    assert_eq!(reason, Reason::Complete);
    assert!(message.contains("cp-1"), "{message}");
}

#[test]
fn a_paused_machine_is_not_adopted() {
    let paused = Orphan {
        is_paused: true,
        ..orphan("cp-1", NEW, "X")
    };
    let plan = with_orphans(vec![], vec![paused]);
    assert_eq!(plan.actions, vec![]);
    let (reason, message) = says(&plan, ConditionType::Progressing);
    assert_eq!(reason, Reason::NotAdopted);
    assert!(message.contains("cluster.k8s.io/paused-"), "{message}");
}

#[test]
fn nothing_is_created_in_the_place_of_what_is_to_be_adopted() {
    // the set was made for it, and the manager ended; then somebody pauses, or edits
    let mut expects = set_of("made", NEW, (1, 0, 0));
    let disabled = (ANNOTATION_DISABLE_CREATE.to_owned(), "true".to_owned());
    expects.annotations.extend([disabled]);
    let mut observed = planes(3, rolling(Int(1), Int(0)), vec![expects.clone()]);
    observed.orphans = vec![orphan("cp-1", NEW, "X")];
    observed.paused = true;
    assert_eq!(plan(&observed, at(100)).actions, vec![]);
    let refused = with_orphans(vec![expects], vec![orphan("cp-1", NEW, "Y")]);
    assert_eq!(refused.actions, vec![]);
    assert_eq!(
        says(&refused, ConditionType::Progressing).0,
        Reason::NotAdopted
    );
}

#[test]
fn a_control_plane_becomes_no_worker_nor_the_reverse() {
    let mut to_workers = planes(
        3,
        rolling(Int(3), Int(3)),
        vec![set_of("old", OLD, (3, 3, 3))],
    );
    let versions = to_workers.template.spec.versions.get_or_insert_default();
    versions.control_plane = None;
    let workers = set("old", OLD, 1, (3, 3, 3));
    let to_planes = planes(3, rolling(Int(3), Int(3)), vec![workers]);
    for observed in [to_workers, to_planes] {
        assert!(observed.is_control_plane());
        let plan = plan(&observed, at(100));
        assert_eq!(plan.actions, vec![]);
        let (reason, message) = says(&plan, ConditionType::Progressing);
        assert_eq!(reason, Reason::InvalidConfiguration);
        assert!(message.contains("Set it back"), "{message}");
    }
}

#[test]
fn an_old_set_that_still_owns_a_machine_is_not_deleted() {
    let gone = |name: &str, is_owner| ObservedSet {
        is_owner,
        ..set_of(name, OLD, (0, 0, 0))
    };
    let current = || set_of("new", NEW, (3, 3, 3));
    let deleted = |sets| {
        let mut observed = planes(3, rolling(Int(1), Int(0)), sets);
        observed.revision_history_limit = 0;
        let plan = plan(&observed, at(100));
        let is_deleted = |action: &Action| matches!(action, Action::DeleteSet { .. });
        plan.actions
            .iter()
            .filter(|action| is_deleted(action))
            .count()
    };
    assert_eq!(
        deleted(vec![gone("a", false), gone("b", true), current()]),
        1
    );
}
