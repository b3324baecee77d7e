//! What is wrong in a MachineSet or a MachineDeployment.

use serde_json::{Value, json};

use crate::admission::manifests::{Bad, bad, refuse, set};
use crate::support::kubectl::installed;

fn bad_sets(kind: &'static str) -> Vec<Bad> {
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, set(kind, "bad"), path, value, says)
    };
    let remedy = "add the labels that it selects to template.metadata.labels";
    let expression = |operator: &str, key: &str, values: &[&str]| {
        let expression = json!({ "key": key, "operator": operator, "values": values });
        json!({ "matchExpressions": [expression] })
    };
    vec![
        with(
            "misspelt field",
            "spec.replica",
            json!(1),
            &["unknown field \"spec.replica\""],
        ),
        with(
            "misspelt in template",
            "spec.template.spec.version",
            json!(1),
            &["unknown field \"spec.template.spec.version\""],
        ),
        with(
            "negative replicas",
            "spec.replicas",
            json!(-1),
            &["spec.replicas", "-1", "greater than or equal to 0"],
        ),
        with(
            "no selector",
            "spec.selector",
            Value::Null,
            &["spec.selector: Required value"],
        ),
        with(
            "empty selector",
            "spec.selector",
            json!({}),
            &["spec.selector", "is empty; set selector.matchLabels"],
        ),
        with(
            "empty labels",
            "spec.selector",
            json!({ "matchLabels": {} }),
            &["spec.selector", "is empty; set selector.matchLabels"],
        ),
        with(
            "other value",
            "spec.selector",
            json!({ "matchLabels": { "set": "b" } }),
            &["spec.selector", "label set=b", remedy],
        ),
        with(
            "other label",
            "spec.selector",
            json!({ "matchLabels": { "set": "a", "x": "y" } }),
            &["spec.selector", "label x=y", remedy],
        ),
        with(
            "In",
            "spec.selector",
            expression("In", "set", &["b", "c"]),
            &["spec.selector", "matchExpressions", remedy],
        ),
        with(
            "NotIn",
            "spec.selector",
            expression("NotIn", "set", &["a"]),
            &["spec.selector", "matchExpressions", remedy],
        ),
        with(
            "Exists",
            "spec.selector",
            expression("Exists", "x", &[]),
            &["spec.selector", "matchExpressions", remedy],
        ),
        with(
            "DoesNotExist",
            "spec.selector",
            expression("DoesNotExist", "set", &[]),
            &["spec.selector", "matchExpressions", remedy],
        ),
        with(
            "bad operator",
            "spec.selector",
            expression("Like", "set", &["a"]),
            &[
                "spec.selector.matchExpressions[0].operator",
                "\"Like\"",
                "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
            ],
        ),
        with(
            "no labels",
            "spec.template.metadata",
            Value::Null,
            &["spec.selector", "label set=a", remedy],
        ),
        with(
            "no template",
            "spec.template",
            Value::Null,
            &["spec.template: Required value"],
        ),
        with(
            "no versions",
            "spec.template.spec",
            json!({}),
            &[
                "spec.template.spec.versions",
                "set template.spec.versions.kubelet",
            ],
        ),
        with(
            "bad version",
            "spec.template.spec.versions",
            json!({ "kubelet": "latest" }),
            &[
                "spec.template.spec.versions.kubelet",
                "\"latest\"",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "bad label",
            "spec.template.metadata.labels.note",
            json!("a b"),
            &[
                "spec.template.metadata.labels",
                "label note",
                "use at most 63 letters",
            ],
        ),
    ]
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_set_is_refused_with_field_value_and_remedy() {
    refuse(bad_sets("MachineSet"));
    let good = set("MachineSet", "bad");
    refuse(vec![bad(
        "bad policy",
        good,
        "spec.deletePolicy",
        json!("Youngest"),
        &[
            "spec.deletePolicy",
            "\"Youngest\"",
            "\"Random\", \"Newest\", \"Oldest\"",
        ],
    )]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_deployment_is_refused_with_field_value_and_remedy() {
    refuse(bad_sets("MachineDeployment"));
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, set("MachineDeployment", "bad"), path, value, says)
    };
    refuse(vec![
        with(
            "bad strategy",
            "spec.strategy",
            json!({ "type": "Recreate" }),
            &[
                "spec.strategy.type",
                "\"Recreate\"",
                "\"RollingUpdate\", \"OnDelete\", \"InPlace\"",
            ],
        ),
        with(
            "bad surge",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxSurge": "lots" } }),
            &[
                "spec.strategy.rollingUpdate.maxSurge",
                "\"lots\"",
                "such as 1 or 25%",
            ],
        ),
        with(
            "negative",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxUnavailable": -1 } }),
            &[
                "spec.strategy.rollingUpdate.maxUnavailable",
                "-1",
                "such as 1 or 25%",
            ],
        ),
        with(
            "a number that does not fit",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxSurge": 3_000_000_000_i64 } }),
            &[
                "spec.strategy.rollingUpdate.maxSurge",
                "less than or equal to 10000",
            ],
        ),
        with(
            "nothing can roll",
            "spec.strategy",
            json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": "0%" } }),
            &[
                "spec.strategy.rollingUpdate",
                "are both 0",
                "write 1 or more for one of them",
            ],
        ),
        with(
            "nothing can roll, as the default of the other is 0",
            "spec.strategy",
            json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "0%" } }),
            &["spec.strategy.rollingUpdate", "maxUnavailable is 0 when"],
        ),
        with(
            "the limit of another strategy",
            "spec.strategy",
            json!({ "type": "InPlace", "rollingUpdate": { "maxUnavailable": 1 } }),
            &["spec.strategy", "remove the one that does not fit the type"],
        ),
        with(
            "a limit in place of a strategy that is not",
            "spec.strategy",
            json!({ "inPlace": { "maxUnavailable": 1 } }),
            &["spec.strategy", "inPlace is the limit of type InPlace"],
        ),
        with(
            "nothing can be updated",
            "spec.strategy",
            json!({ "type": "InPlace", "inPlace": { "maxUnavailable": 0 } }),
            &[
                "spec.strategy.inPlace",
                "no Machine could ever be updated; write 1 or more",
            ],
        ),
        with(
            "negative history",
            "spec.revisionHistoryLimit",
            json!(-1),
            &[
                "spec.revisionHistoryLimit",
                "-1",
                "greater than or equal to 0",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_selector_stays_as_it_was_made() {
    let plane = installed();
    plane.namespace("selectors");
    for (kind, plural) in [
        ("MachineSet", "machinesets"),
        ("MachineDeployment", "machinedeployments"),
    ] {
        plane.create("selectors", &set(kind, "a")).out();
        let other = json!({ "spec": { "selector": { "matchLabels": { "tier": "web" } } } });
        let said = plane.patch("selectors", &[plural, "a"], &other);
        said.refused(
            kind,
            &["spec.selector", "cannot change", "create another object"],
        );
        let label = json!({ "metadata": { "labels": { "x": "y" } } });
        plane.patch("selectors", &[plural, "a"], &label).out();
    }
}

#[test]
#[ignore = "needs a management plane"]
fn whatever_leaves_room_for_a_roll_is_accepted() {
    let plane = installed();
    plane.namespace("rooms");
    let rooms = [
        json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } }),
        json!({ "rollingUpdate": { "maxSurge": "0%", "maxUnavailable": "10%" } }),
        json!({ "rollingUpdate": { "maxUnavailable": 0 } }),
        json!({ "rollingUpdate": {} }),
        json!({ "type": "OnDelete", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 0 } }),
        json!({ "type": "InPlace" }),
        json!({ "type": "InPlace", "inPlace": { "maxUnavailable": "25%" } }),
    ];
    for (at, strategy) in rooms.into_iter().enumerate() {
        let mut object = set("MachineDeployment", &format!("room-{at}"));
        object["spec"]["strategy"] = strategy.clone();
        let made = plane.create("rooms", &object);
        assert!(made.ok, "{strategy}: {}", made.err);
    }
}
