use serde_json::json;

use super::*;
use tatara_core::api::names::ANNOTATION_PAUSED;
use tatara_core::api::{Cluster, Machine, MachineDeployment, MachineSet};

fn of<K: serde::de::DeserializeOwned>(metadata: &serde_json::Value) -> K {
    let mut object = json!({
        "metadata": {"namespace": "n", "labels": {(LABEL_CLUSTER): "c"}},
        "spec": {
            "versions": {"kubelet": "v1.36.3"},
            "selector": {},
            "template": {"spec": {"versions": {"kubelet": "v1.36.3"}}},
            "clusterNetwork": {
                "services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": "",
            },
        },
    });
    for (key, value) in metadata.as_object().into_iter().flatten() {
        object["metadata"][key] = value.clone();
    }
    serde_json::from_value(object).expect("an object")
}

fn owner(kind: &str, uid: &str) -> serde_json::Value {
    json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": kind, "name": uid, "uid": uid, "controller": true}])
}

/// What pauses a Machine, its set and its deployment if the objects named here have the annotation.
fn stopped(paused: &[&str]) -> [Option<String>; 3] {
    let stores = Stores::default();
    let meta = |name: &str, owners: serde_json::Value| {
        let mut meta = json!({"name": name, "uid": name, "ownerReferences": owners});
        if paused.contains(&name) {
            meta["annotations"] = json!({(ANNOTATION_PAUSED): ""});
        }
        meta
    };
    let deployment: MachineDeployment = of(&meta("deployment", json!([])));
    let set: MachineSet = of(&meta("set", owner("MachineDeployment", "deployment")));
    let machine: Machine = of(&meta("machine", owner("MachineSet", "set")));
    stores.clusters.hold(of::<Cluster>(&meta("c", json!([]))));
    stores.machine_deployments.hold(deployment.clone());
    stores.machine_sets.hold(set.clone());
    [
        paused_by(&stores, &machine),
        paused_by(&stores, &set),
        paused_by(&stores, &deployment),
    ]
}

#[test]
fn a_pause_holds_still_all_that_is_below_it_and_says_where_it_stands() {
    let by = |object: &str| Some(object.to_owned());
    assert_eq!(stopped(&[]), [None, None, None]);
    assert_eq!(stopped(&["machine"]), [by("Machine machine"), None, None]);
    let set = by("MachineSet set");
    assert_eq!(stopped(&["set"]), [set.clone(), set, None]);
    let deployment = by("MachineDeployment deployment");
    assert_eq!(
        stopped(&["deployment"]),
        [deployment.clone(), deployment.clone(), deployment]
    );
    let cluster = by("Cluster c");
    assert_eq!(stopped(&["c"]), [cluster.clone(), cluster.clone(), cluster]);
}

#[test]
fn what_nobody_controls_is_held_still_by_itself_and_its_cluster_only() {
    let stores = Stores::default();
    let alone: Machine = of(&json!({"name": "m", "uid": "m"}));
    assert_eq!(paused_by(&stores, &alone), None, "its Cluster is missing");
    let annotations = json!({(ANNOTATION_PAUSED): ""});
    stores.clusters.hold(of::<Cluster>(
        &json!({"name": "c", "uid": "c", "annotations": annotations}),
    ));
    assert_eq!(paused_by(&stores, &alone), Some("Cluster c".into()));
}
