//! The admission policies: claims, classes in use, what a cluster is built on.

use serde_json::{Value, json};

use crate::admission::manifests::{class, cluster, host, set};
use crate::support::kubectl::{Said, installed};

/// The manager, as its service account is installed.
pub const AS_MANAGER: &str = "--as=system:serviceaccount:tatara-system:tatara-manager";

/// A policy takes effect a moment after it is made.
pub fn until_refused(what: &str, mut ask: impl FnMut() -> Said) {
    installed().until(what, |_| !ask().ok);
}

#[test]
#[ignore = "needs a management plane"]
fn a_claim_of_a_host_goes_only_by_release() {
    let plane = installed();
    plane.namespace("claim");
    plane.create("claim", &host("a")).out();
    let claim = |change: Value| {
        let change = json!({ "spec": { "consumerRef": change } });
        plane.patch("claim", &["hosts.tatara.dev", "a"], &change)
    };
    claim(json!({ "name": "m", "uid": "u1", "cluster": "c" })).out();
    claim(json!({ "uid": "u2" })).refused(
        "taken over",
        &["spec.consumerRef", "Machine m", "Keep it", "delete it"],
    );
    claim(Value::Null).refused(
        "removed",
        &["spec", "Machine m", "status.message of the Host"],
    );
    claim(json!({ "releasing": true })).out();
    claim(json!({ "releasing": false })).refused(
        "taken back",
        &["spec.consumerRef", "Machine m", "wait until it is free"],
    );
    claim(json!({ "uid": "u2" }))
        .refused("taken over while releasing", &["cannot pass to another"]);
    // Only who looked at the host knows that it is clean.
    until_refused("the policy on claims", || {
        let change = json!({ "spec": { "consumerRef": null } });
        let what = ["hosts.tatara.dev", "a", "--dry-run=server"];
        plane.patch("claim", &what, &change)
    });
    claim(Value::Null).refused(
        "removed while releasing",
        &[
            "spec.consumerRef: only the manager removes or changes the claim of Machine m",
            "Keep it and wait; conditions of the Host say how far the reset is",
        ],
    );
    claim(json!({ "cluster": "other" })).refused(
        "moved to another cluster",
        &["only the manager removes or changes the claim of Machine m"],
    );
    // What was edited without the policies is set back in the manager's name.
    let as_manager = ["hosts.tatara.dev", "a", AS_MANAGER];
    for cluster in ["other", "c"] {
        let change = json!({ "spec": { "consumerRef": { "cluster": cluster } } });
        plane.patch("claim", &as_manager, &change).out();
    }
    let change = json!({ "spec": { "consumerRef": null } });
    plane.patch("claim", &as_manager, &change).out();
    // A person may claim, as after a restore.
    claim(json!({ "name": "m2", "uid": "u2" })).out();
    // Everything else about a claimed host may change.
    let change = json!({ "spec": { "maintenance": true, "ssh": { "port": 2222 } } });
    plane
        .patch("claim", &["hosts.tatara.dev", "a"], &change)
        .out();
}

#[test]
#[ignore = "needs a management plane"]
fn a_class_in_use_is_not_deleted() {
    let plane = installed();
    plane.namespace("class");
    let mut used = class("used");
    used["metadata"]["labels"] = json!({ "tatara.dev/in-use": "true" });
    plane.create("class", &used).out();
    plane.create("class", &class("unused")).out();
    // A policy takes effect a moment after it is made.
    let delete = |dry: &str| {
        plane.run(
            "delete",
            &["-n", "class", "mc", "used", "--wait=false", dry],
        )
    };
    plane.until("the policy on classes", |_| !delete("--dry-run=server").ok);
    delete("--dry-run=none").refused(
        "in use",
        &[
            "MachineClass used is in use",
            "tatara.dev/in-use",
            "first delete the MachineDeployments",
        ],
    );
    plane.run("delete", &["-n", "class", "mc", "unused"]).out();
    // the label on another provider's class says nothing
    for (name, raw) in [("theirs", false), ("theirs-raw", true)] {
        let spec =
            json!({ "apiVersion": "awsprovider/v1alpha1", "kind": "AWSMachineProviderSpec" });
        let mut theirs = used.clone();
        theirs["metadata"]["name"] = name.into();
        theirs["providerSpec"] = if raw { spec } else { json!({ "value": spec }) };
        plane.create("class", &theirs).out();
        plane.run("delete", &["-n", "class", "mc", name]).out();
    }
    // With its namespace it may go, and its finalizer keeps the order.
    plane
        .run("delete", &["namespace", "class", "--timeout=60s"])
        .out();
}

#[test]
#[ignore = "needs a management plane"]
fn what_an_initialised_cluster_is_built_on_does_not_change() {
    let plane = installed();
    plane.namespace("initialised");
    let endpoint = |host: &str| json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec", "controlPlaneEndpoint": { "host": host } });
    let mut object = cluster("a");
    object["spec"]["providerSpec"] = json!({ "value": endpoint("192.0.2.9") });
    plane.create("initialised", &object).out();
    plane.create("initialised", &cluster("b")).out();
    let patch = |name: &str, change: Value| plane.patch("initialised", &["cl", name], &change);
    let spec = |change: Value| json!({ "spec": change });
    let network = |change: Value| spec(json!({ "clusterNetwork": change }));

    // Before, everything may change.
    patch("a", network(json!({ "serviceDomain": "other.local" }))).out();
    let by = "6f1c0f0e-6a3c-4a7e-9a59-3f0b8f6a2d11";
    let mark =
        json!({ "metadata": { "annotations": { "tatara.dev/control-plane-initialized": by } } });
    for name in ["a", "b"] {
        patch(name, mark.clone()).out();
    }
    let domain = network(json!({ "serviceDomain": "third.local" }));
    plane.until("the policy on clusters", |plane| {
        !plane
            .patch("initialised", &["cl", "b", "--dry-run=server"], &domain)
            .ok
    });

    let again = "or create a new Cluster";
    patch("a", domain).refused(
        "domain",
        &[
            "spec.clusterNetwork.serviceDomain cannot change",
            "set it back to other.local",
            again,
        ],
    );
    patch(
        "a",
        network(json!({ "pods": { "cidrBlocks": ["10.245.0.0/16"] } })),
    )
    .refused(
        "pods",
        &[
            "spec.clusterNetwork.pods.cidrBlocks cannot change",
            "[10.244.0.0/16]",
            again,
        ],
    );
    patch(
        "a",
        network(json!({ "services": { "cidrBlocks": ["10.97.0.0/16"] } })),
    )
    .refused(
        "services",
        &[
            "spec.clusterNetwork.services.cidrBlocks cannot change",
            "[10.96.0.0/16]",
            again,
        ],
    );
    let other = |value: Value| spec(json!({ "providerSpec": { "value": value } }));
    patch("a", other(endpoint("192.0.2.8"))).refused(
        "endpoint",
        &[
            "spec.providerSpec.value.controlPlaneEndpoint cannot change",
            "host: 192.0.2.9, port: 6443",
            again,
        ],
    );
    patch(
        "a",
        other(json!({ "controlPlaneEndpoint": { "port": 443 } })),
    )
    .refused(
        "port",
        &["controlPlaneEndpoint cannot change", "port: 6443"],
    );
    patch("a", other(json!({ "controlPlaneEndpoint": null }))).refused(
        "endpoint removed",
        &["controlPlaneEndpoint cannot change", "host: 192.0.2.9"],
    );
    patch("b", other(endpoint("192.0.2.8"))).refused(
        "endpoint added",
        &["controlPlaneEndpoint cannot change", "leave it out"],
    );
    let another = by.replace('6', "7");
    for value in [json!(another), Value::Null] {
        let change = json!({ "metadata": { "annotations": { "tatara.dev/control-plane-initialized": value } } });
        patch("a", change).refused(
            "the record of init",
            &[
                "tatara.dev/control-plane-initialized",
                "If it names the wrong Machine: tatara cluster resolve a -n ",
                "; to start anew, delete the Cluster",
            ],
        );
    }
    // Of two records that contradict each other an administrator corrects one, in the manager's name.
    for uid in [another.as_str(), by] {
        let change = json!({ "metadata": { "annotations": { "tatara.dev/control-plane-initialized": uid } } });
        plane
            .patch("initialised", &["cl", "a", AS_MANAGER], &change)
            .out();
    }

    // The rest still may: a port that says the default, addons, labels.
    patch(
        "a",
        other(json!({ "controlPlaneEndpoint": { "port": 6443 }, "addons": [{ "name": "cni" }] })),
    )
    .out();
    patch(
        "a",
        json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "x": "y" } } }),
    )
    .out();
    plane.run("delete", &["-n", "initialised", "cl", "a"]).out();
}

#[test]
#[ignore = "needs a management plane"]
fn an_even_number_of_control_planes_is_warned_of_and_accepted() {
    let plane = installed();
    plane.namespace("even");
    let mut planes = set("MachineDeployment", "planes");
    planes["spec"]["template"]["spec"]["versions"]["controlPlane"] = json!("v1.36.3");
    planes["spec"]["replicas"] = json!(3);
    plane.create("even", &planes).out();
    let scale = |replicas: i64, extra: &str| {
        let mut what = vec!["machinedeployment", "planes"];
        what.extend([extra].into_iter().filter(|extra| !extra.is_empty()));
        plane.patch("even", &what, &json!({ "spec": { "replicas": replicas } }))
    };
    let warning =
        "spec.replicas: 4 control planes tolerate no more failures than 3; use an odd number";
    plane.until("the policy on even numbers", |_| {
        scale(4, "--dry-run=server").err.contains(warning)
    });
    let said = scale(4, "");
    assert!(said.ok && said.err.contains(warning), "{}", said.err);
    let said = scale(5, "");
    assert!(said.ok && !said.err.contains("Warning"), "{}", said.err);
    let workers = set("MachineDeployment", "workers");
    plane.create("even", &workers).out();
    let even = json!({ "spec": { "replicas": 2 } });
    let said = plane.patch("even", &["machinedeployment", "workers"], &even);
    assert!(said.ok && !said.err.contains("Warning"), "{}", said.err);
}
