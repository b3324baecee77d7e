use serde_json::json;

use super::*;
use crate::api::Machine;
use crate::trouble::tests::explained;

fn set(name: &str, owner: Option<&str>) -> MachineSet {
    let owners = owner.map(|uid| {
        json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment", "name": "md",
            "uid": uid, "controller": true}])
    });
    let set = json!({
        "metadata": {"name": name, "uid": name, "ownerReferences": owners, "annotations": {
            "machinedeployment.clusters.k8s.io/revision": "7",
            "machinedeployment.clusters.k8s.io/desired-replicas": "3"}},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"machine-template-hash": "h"}}, "spec": {}}},
        "status": {"replicas": 5, "readyReplicas": 3, "availableReplicas": 2, "unhealthyReplicas": 1,
            "startingReplicas": 1, "terminatingReplicas": 6, "lastProgressTime": "2026-11-21T00:00:00Z"},
    });
    serde_json::from_value(set).expect("a MachineSet")
}

#[test]
fn a_set_is_read_from_its_spec_and_status() {
    let observed = ObservedSet::from_api(&set("ms", Some("md")), "md");
    let expected = Counts {
        wanted: 4,
        current: 5,
        ready: 3,
        available: 2,
        unhealthy: 1,
        starting: 1,
        deleting: 6,
    };
    assert_eq!(observed.counts, expected);
    assert_eq!(
        (
            observed.revision(),
            observed.desired_replicas(),
            observed.hash()
        ),
        (7, Some(3), Some("h"))
    );
    assert_eq!(observed.owner, Owner::Ours);
    assert_eq!(observed.last_progress, "2026-11-21T00:00:00Z".parse().ok());
}

#[test]
fn annotations_that_are_no_numbers_count_as_absent() {
    let mut other = set("ms", None);
    other.metadata.annotations = Some([(ANNOTATION_REVISION.to_owned(), "x".to_owned())].into());
    let observed = ObservedSet::from_api(&other, "md");
    assert_eq!(
        (observed.revision(), observed.desired_replicas()),
        (0, None)
    );
}

#[test]
fn sets_of_others_are_known_by_name_only() {
    let deployment = json!({"metadata": {"name": "md", "uid": "md"}, "spec": {"selector": {}, "template": {"spec": {}}}});
    let deployment: MachineDeployment =
        serde_json::from_value(deployment).expect("a MachineDeployment");
    let sets = [
        set("ours", Some("md")),
        set("orphan", None),
        set("theirs", Some("other")),
    ];
    let observed = Observed::from_api(&deployment, Ok(json!({})), &sets);
    let names: Vec<&str> = observed.sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["ours", "orphan"]);
    assert!(observed.taken.contains("theirs"));
    assert_eq!((observed.replicas, observed.revision_history_limit), (1, 1));
}

#[test]
fn a_machine_that_cannot_leave_is_named_before_a_younger_one_that_waits_for_its_place() {
    let machine = |name: &str, second: u8, leaves: Option<&str>| -> Machine {
        let mut machine = json!({"metadata": {"name": name}, "spec": {}, "status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "NoHostAvailable", "message": "all are claimed",
                "lastTransitionTime": format!("2026-11-21T00:00:0{second}Z")}]}});
        if let Some(reason) = leaves {
            machine["metadata"]["deletionTimestamp"] = json!("2026-11-21T00:00:00Z");
            let said = json!({"type": "Deleting", "status": "True", "reason": reason, "message": "1 pod left",
                "lastTransitionTime": format!("2026-11-21T00:00:0{second}Z")});
            let conditions = machine["status"]["conditions"].as_array_mut();
            conditions.expect("conditions").push(said);
        }
        explained(machine)
    };
    let new = machine("new", 5, None);
    for (reason, says) in [
        ("DrainBlocked", "Machine old: 1 pod left (1 more Machine)"),
        ("Draining", "Machine new: all are claimed"),
    ] {
        let mut observed = ObservedSet::from_api(&set("ms", Some("md")), "md");
        observed.take_in([&new, &machine("old", 3, Some(reason))]);
        assert_eq!(observed.says.as_deref(), Some(says), "{reason}");
    }
}

#[test]
fn an_update_that_fails_is_told_of_a_set_whose_machines_are_all_ready() {
    let machine = |name: &str, ready: &str, reason: &str| -> Machine {
        let condition = |name: &str, status: &str, reason: &str| {
            json!({"type": name, "status": status, "reason": reason, "message": "install it",
                "lastTransitionTime": "2026-11-21T00:00:00Z"})
        };
        let machine = json!({"metadata": {"name": name}, "spec": {}, "status": {"conditions":
            [condition("Ready", ready, "NodeReady"), condition("Updating", "True", reason)]}});
        explained(machine)
    };
    let updates = machine("a", "True", "Draining");
    let fails = machine("b", "True", "UpdateFailed");
    // its set has not counted that yet
    let unready = machine("c", "False", "UpdateFailed");
    for (machines, says) in [
        (vec![&updates, &fails], Some("Machine b: install it")),
        (vec![&updates, &unready], None),
    ] {
        let mut observed = ObservedSet::from_api(&set("ms", Some("md")), "md");
        (observed.counts.current, observed.counts.ready) = (4, 4);
        observed.take_in(machines);
        assert_eq!(observed.says.as_deref(), says);
        assert!(!observed.lacks_host);
    }
}

#[test]
fn marked_machines_that_a_set_would_delete_are_counted() {
    let machine = |annotation: &str, label: &str, leaves: bool| -> Machine {
        let mut machine = json!({"metadata": {"name": "m", "annotations": {(annotation): ""}, "labels": {"a": label}},
            "spec": {}});
        if leaves {
            machine["metadata"]["deletionTimestamp"] = json!("2026-11-21T00:00:00Z");
        }
        serde_json::from_value(machine).expect("a Machine")
    };
    let mark = "cluster.k8s.io/delete-machine";
    let mut observed = ObservedSet::from_api(&set("ms", Some("md")), "md");
    observed.count_marked([
        &machine(mark, "b", false),
        &machine(mark, "b", true),
        &machine(mark, "other", false),
        &machine("other", "b", false),
    ]);
    assert_eq!(observed.marked, 1);
}

#[test]
fn marks_count_where_a_scale_down_may_take_from_one_set_or_another() {
    let observed = |strategy: serde_json::Value, paused: bool, wanted: [i32; 2]| {
        let deployment = json!({"metadata": {"name": "md", "uid": "md"}, "spec": {"replicas": 2, "selector": {},
            "paused": paused, "strategy": strategy, "template": {"spec": {}}}});
        let deployment: MachineDeployment =
            serde_json::from_value(deployment).expect("a MachineDeployment");
        let mut sets = [set("a", Some("md")), set("b", Some("md"))];
        for (set, wanted) in sets.iter_mut().zip(wanted) {
            set.spec.replicas = wanted;
            set.status.get_or_insert_default().replicas = wanted;
        }
        Observed::from_api(&deployment, Ok(json!({})), &sets)
    };
    let (in_place, on_delete) = (json!({"type": "InPlace"}), json!({"type": "OnDelete"}));
    let rolling = json!({"type": "RollingUpdate"});
    for (strategy, paused, wanted, chooses) in [
        (&in_place, false, [2, 1], true),
        (&on_delete, false, [2, 1], true),
        (&rolling, true, [2, 1], true),
        // it has one more for a while
        (&rolling, false, [2, 1], false),
        (&in_place, false, [1, 1], false),
        (&in_place, false, [3, 0], false),
    ] {
        let observed = observed(strategy.clone(), paused, wanted);
        assert_eq!(observed.may_choose(), chooses, "{strategy} {wanted:?}");
    }
}
