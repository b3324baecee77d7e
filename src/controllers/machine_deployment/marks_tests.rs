use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::manager::plane_tests::{ApiServer, Plane};
use tatara_core::api::names::ANNOTATION_DELETE_MACHINE;
use tatara_core::api::{MachineDeployment, MachineSet};

/// A MachineDeployment of two that has three Machines, in sets `a` and `b`.
fn observed(strategy: &str) -> Observed {
    let deployment = json!({
        "metadata": {"namespace": "n", "name": "md", "uid": "md"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"pool": "p"}}, "strategy": {"type": strategy}, "template": {"spec": {}}},
    });
    let deployment: MachineDeployment = serde_json::from_value(deployment).expect("a deployment");
    let sets = [("a", 2), ("b", 1)].map(|(name, replicas)| -> MachineSet {
        let set = json!({
            "metadata": {"namespace": "n", "name": name, "uid": name, "ownerReferences": owner("MachineDeployment", "md")},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"pool": "p"}}, "template": {"spec": {}}},
            "status": {"replicas": replicas},
        });
        serde_json::from_value(set).expect("a MachineSet")
    });
    Observed::from_api(&deployment, Ok(json!({})), &sets)
}

fn owner(kind: &str, uid: &str) -> Value {
    json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": kind, "name": uid, "uid": uid, "controller": true}])
}

/// A Machine of this set with the mark, of the provider with this group.
fn marked(name: &str, set: &str, provider: &str) -> Value {
    let spec =
        json!({"apiVersion": format!("{provider}/v1alpha1"), "kind": "SSHMachineProviderSpec"});
    json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {
            "namespace": "n", "name": name, "uid": name, "labels": {"pool": "p"},
            "annotations": {(ANNOTATION_DELETE_MACHINE): ""}, "ownerReferences": owner("MachineSet", set),
        },
        "spec": {"providerSpec": {"value": spec}},
    })
}

const OURS: &str = "tatara.dev";
const FOREIGN: &str = "other.example";

/// Two marked Machines of set `a`, of which another provider has one, and one of a set that is not
/// the deployment's.
fn machines() -> [Value; 3] {
    [
        marked("a-0", "a", OURS),
        marked("a-1", "a", FOREIGN),
        marked("x-0", "x", OURS),
    ]
}

fn counted(observed: &Observed) -> Vec<i32> {
    observed.sets.iter().map(|set| set.marked).collect()
}

#[test]
fn marks_that_the_watch_shows_count_by_set_where_they_matter_and_those_of_another_provider_never() {
    let stores = Stores::default();
    for machine in machines() {
        stores
            .machines
            .hold(serde_json::from_value(machine).expect("a Machine"));
    }
    for (strategy, expected) in [("InPlace", [1, 0]), ("RollingUpdate", [0, 0])] {
        let mut observed = observed(strategy);
        shown(&stores, &mut observed);
        assert_eq!(counted(&observed), expected, "{strategy}");
    }
}

#[tokio::test]
async fn marks_are_read_live_where_they_matter_of_the_machines_of_each_set() {
    let list = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineList", "metadata": {}, "items": machines(),
    });
    let path = "/apis/cluster.k8s.io/v1alpha1/namespaces/n/machines";
    for (strategy, expected, requests) in [("InPlace", [1, 0], 1), ("RollingUpdate", [0, 0], 0)] {
        let server = ApiServer::of([(path, list.clone())]);
        let plane = Plane::of(&server);
        let mut observed = observed(strategy);
        // the watch shows none of them yet
        let read = live(&plane.controllers.base.engine, &mut observed).await;
        assert!(read.is_ok(), "{:?}", read.err());
        assert_eq!(counted(&observed), expected, "{strategy}");
        assert_eq!(server.requests(&Method::GET).len(), requests, "{strategy}");
    }
}
