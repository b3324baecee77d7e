//! How many Machines there are, and which go.

use super::*;

#[test]
fn what_is_missing_is_made_with_names_that_the_random_bytes_give() {
    let mut observed = with(set(4), [machine("ms-1")]);
    let first = plan(&observed, at(10));
    let names = created(&first);
    assert_eq!(names, ["ms-5mkx2vhj", "ms-4gtww9qg", "ms-wr8hlwps"]);
    assert_eq!(
        first,
        plan(&observed, at(10)),
        "the same knowledge gives the same names"
    );
    observed.seed = [7; 16];
    let other = plan(&observed, at(10));
    assert_eq!(other.findings, first.findings, "each try says the same");
    assert!(created(&other).iter().all(|name| !names.contains(name)));
    let taken: Vec<_> = names.iter().map(|name| machine(name)).collect();
    observed.seed = Seed::default();
    observed.replicas = 6;
    let second = plan(&with(observed, taken), at(10));
    assert_eq!(created(&second).len(), 2);
    assert!(created(&second).iter().all(|name| !names.contains(name)));
}

#[test]
fn a_long_name_of_a_set_leaves_room_for_the_letters() {
    let mut observed = set(2);
    observed.name = format!("{}-{}", "a".repeat(53), "b".repeat(9));
    let plan = plan(&observed, at(10));
    let names = created(&plan);
    assert!(names[0].starts_with(&"a".repeat(53)) && names[0] != names[1]);
    assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
}

#[test]
fn a_machine_in_deletion_does_not_keep_its_replacement_away() {
    let leaving = ObservedMachine {
        deleting: Some(at(0)),
        ..machine("ms-0")
    };
    let plan = plan(&with(set(1), [leaving]), at(10));
    assert_eq!(created(&plan).len(), 1);
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
    assert_eq!(finding(&plan, "ScalingDown").reason(), "WaitingForDeletion");
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
    let marked_without_value = ObservedMachine {
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
            "the key alone is a mark",
            DeletePolicy::Oldest,
            vec![marked_without_value, machine("a")],
            vec!["c"],
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
            .message()
            .contains(because.as_str())
    );
}

#[test]
fn what_was_perhaps_never_made_goes_before_what_is_there_and_costs_none_of_it() {
    let starting = |name: &str| ObservedMachine {
        ready_since: None,
        has_node: false,
        ..machine(name)
    };
    let lost = ObservedMachine {
        uid: String::new(),
        created: Timestamp::UNIX_EPOCH,
        ..starting("d")
    };
    for policy in [
        DeletePolicy::Random,
        DeletePolicy::Newest,
        DeletePolicy::Oldest,
    ] {
        let shrunk = with(set(3), ["a", "b", "c"].map(starting));
        let mut shrunk = with(shrunk, [lost.clone()]);
        shrunk.delete_policy = policy;
        assert_eq!(deleted_names(&shrunk), [""; 0], "{policy:?}");
        shrunk.replicas = 2;
        assert_eq!(deleted_names(&shrunk).len(), 1, "{policy:?}");
    }
}
