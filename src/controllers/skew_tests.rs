use serde_json::{Value, json};

use super::*;

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": "n", "uid": name, "labels": { (LABEL_CLUSTER): "c" } })
}

fn template(versions: &Value) -> Value {
    json!({
        "metadata": { "labels": { (LABEL_CLUSTER): "c" } },
        "spec": { "versions": versions, "providerSpec": provider("tatara.dev/v1alpha1") },
    })
}

fn provider(group: &str) -> Value {
    json!({ "value": { "apiVersion": group, "kind": "SSHMachineProviderSpec" } })
}

fn of<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object")
}

/// What is said of a set of workers of v1.36.3 in a cluster whose oldest control plane runs
/// `lowest`.
fn said(lowest: &str, control_planes: Option<&str>, machine: Option<&str>) -> Option<String> {
    said_beside(lowest, control_planes, machine, |_| ())
}

/// The same beside a control-plane Machine with this changed.
fn said_beside(
    lowest: &str,
    control_planes: Option<&str>,
    machine: Option<&str>,
    change: fn(&mut Value),
) -> Option<String> {
    let stores = Stores::default();
    let network = json!({
        "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "",
    });
    stores.clusters.hold(of(json!({
        "metadata": metadata("c"),
        "spec": { "clusterNetwork": network },
        "status": { "version": lowest },
    })));
    let both = |version: &str| json!({ "kubelet": version, "controlPlane": version });
    if let Some(version) = control_planes {
        stores.machine_deployments.hold(of(json!({
            "metadata": metadata("planes"),
            "spec": { "selector": {}, "template": template(&both(version)) },
        })));
    }
    if let Some(version) = machine {
        let mut machine = template(&both(version));
        machine["metadata"] = metadata("cp-1");
        change(&mut machine);
        stores.machines.hold(of(machine));
    }
    let set: MachineSet = of(json!({
        "metadata": metadata("workers"),
        "spec": { "selector": {}, "template": template(&json!({ "kubelet": "v1.36.3" })) },
    }));
    of_set(&stores, &set, "n").map(|gate| gate.message)
}

#[test]
fn workers_wait_for_control_planes_that_are_on_their_way_by_a_patch_too() {
    let waits = Some("no Machine is created before all control planes run v1.36.3");
    let table = [
        (
            "a minor",
            "v1.35.4",
            None,
            None,
            Some("ahead of the control plane"),
        ),
        ("replaced, a patch", "v1.36.2", Some("v1.36.3"), None, waits),
        ("in place, a patch", "v1.36.2", None, Some("v1.36.3"), waits),
        (
            "to the next minor",
            "v1.36.2",
            Some("v1.37.0"),
            Some("v1.37.0"),
            None,
        ),
        (
            "nobody moves",
            "v1.36.2",
            Some("v1.36.2"),
            Some("v1.36.2"),
            None,
        ),
        ("moved", "v1.36.3", Some("v1.36.3"), Some("v1.36.3"), None),
        ("behind them", "v1.36.4", Some("v1.36.5"), None, None),
    ];
    for (case, lowest, deployment, machine, expected) in table {
        let said = said(lowest, deployment, machine);
        let part = said.as_deref().zip(expected);
        assert_eq!(said.is_some(), expected.is_some(), "{case}: {said:?}");
        assert!(
            part.is_none_or(|(said, part)| said.contains(part)),
            "{case}: {said:?}"
        );
    }
}

#[test]
fn workers_wait_neither_for_a_control_plane_that_is_drained_nor_for_anothers() {
    let in_place = |change| said_beside("v1.36.2", None, Some("v1.36.3"), change);
    assert!(in_place(|_| ()).is_some());
    let drained = in_place(|machine| {
        machine["status"] = json!({ "conditions": [{
            "type": "Updating", "status": "True", "reason": "Draining", "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z",
        }] });
    });
    assert_eq!(drained, None, "its budgets may wait for that worker");
    let foreign = in_place(|machine| {
        machine["spec"]["providerSpec"] = provider("example.com/v1");
    });
    assert_eq!(foreign, None);
}

#[test]
fn a_deployment_gives_up_no_machine_for_a_control_plane_that_may_not_be_made() {
    let said = |strategy: &str, version: &str, endpoint: bool| {
        let stores = Stores::default();
        let network = json!({
            "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "",
        });
        let mut settings =
            json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec" });
        if endpoint {
            settings["controlPlaneEndpoint"] = json!({ "host": "192.0.2.100" });
        }
        let mut metadata = metadata("c");
        metadata["annotations"] = json!({ (ANNOTATION_INITIALIZED): "m" });
        stores.clusters.hold(of(json!({
            "metadata": metadata,
            "spec": { "clusterNetwork": network, "providerSpec": { "value": settings } },
            "status": { "version": "v1.35.4" },
        })));
        let both = json!({ "kubelet": version, "controlPlane": version });
        let planes: MachineDeployment = of(json!({
            "metadata": self::metadata("planes"),
            "spec": { "selector": {}, "strategy": { "type": strategy }, "template": template(&both) },
        }));
        of_deployment(&stores, &planes, "n").map(|gate| gate.reason)
    };
    let (skew, missing) = (Some(Reason::VersionSkew), Some(Reason::EndpointMissing));
    for (strategy, version, endpoint, expected) in [
        ("RollingUpdate", "v1.36.3", true, None),
        ("RollingUpdate", "v1.37.2", true, skew),
        ("RollingUpdate", "v1.34.0", true, skew),
        ("RollingUpdate", "v1.36.3", false, missing),
        // nothing joins there
        ("InPlace", "v1.36.3", false, None),
        ("InPlace", "v1.37.2", true, skew),
    ] {
        let said = said(strategy, version, endpoint);
        assert_eq!(said, expected, "{strategy} {version} {endpoint}");
    }
}
