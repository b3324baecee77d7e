//! Two namespaces that register one server: the Machine that puts its marker there first has it, and the other
//! namespace can do nothing to it.

use kube::Api;
use serde_json::{Value, json};
use tatara_core::api::{Host, Machine};

use crate::life::hosts::{keys, right_key};
use crate::support::commands::both;
use crate::support::conditions::{of_host, said};
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

const BOTH: [&str; 2] = ["default", "other"];
const MARKER: &str = "cat /var/lib/tatara/owner.json 2>/dev/null || true";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_server_that_two_namespaces_register_is_the_first_ones() {
    let world = World::prepared("life23", "10.123.0").await;
    world.kubectl(&["create", "namespace", "other"]);
    for namespace in BOTH {
        register(&world, namespace);
    }
    for (namespace, other) in [("default", "other/h"), ("other", "default/h")] {
        within(
            "a Host that is Available and names the other",
            60,
            async || {
                let says = host_says(&world, namespace, "Available").await;
                (says.starts_with("True/Available") && says.contains(other)).then_some(())
            },
        )
        .await;
    }
    // both at once: which of them wins, is the server's word
    for namespace in BOTH {
        apply(&world, &machine(namespace));
    }
    let winner = within("a marker", 90, async || {
        let marker: Value = serde_json::from_str(&world.shell("host-a", MARKER)).ok()?;
        let owner = marker["namespace"].as_str().map(str::to_owned);
        BOTH.into_iter()
            .find(|namespace| owner.as_deref() == Some(namespace))
    })
    .await;
    let loser = if winner == "default" {
        "other"
    } else {
        "default"
    };
    let says = within("a Machine that says whose the server is", 180, async || {
        let says = machine_says(&world, loser).await;
        says.contains(&format!("{winner}/m")).then_some(says)
    })
    .await;
    eprintln!("the loser: {says}");

    // the end of the loser is none of the winner's business
    world.kubectl(&["delete", "machine", "m", "-n", loser, "--timeout=120s"]);
    let says = within("a Host that is left alone", 120, async || {
        let says = host_says(&world, loser, "Available").await;
        says.contains("Orphaned").then_some(says)
    })
    .await;
    assert!(says.contains(&format!("{winner}/m")), "{says}");
    let marker: Value = serde_json::from_str(&world.shell("host-a", MARKER)).expect("the marker");
    assert_eq!(marker["namespace"], winner);
    let lost = world.starts("host-a", "reset");
    assert_eq!(lost, 0, "nothing was reset");

    world.kubectl(&["delete", "machine", "m", "-n", winner, "--timeout=180s"]);
    for namespace in BOTH {
        within("a Host that is Available again", 120, async || {
            let says = host_says(&world, namespace, "Available").await;
            says.starts_with("True/Available").then_some(())
        })
        .await;
    }
}

fn apply(world: &World, object: &Value) {
    let output = world.apply(object);
    assert!(output.status.success(), "{}", both(&output));
}

fn register(world: &World, namespace: &str) {
    apply(
        world,
        &json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
        "metadata": {"name": "key", "namespace": namespace}, "stringData": {"ssh-privatekey": right_key(world)}}),
    );
    let address = format!("{}.11", world.subnet());
    apply(
        world,
        &json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"name": "h", "namespace": namespace},
        "spec": {"ssh": {"address": address, "hostKeys": keys(world, "host-a"), "credentialsRef": {"name": "key"}}}}),
    );
    apply(
        world,
        &json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "c", "namespace": namespace},
        "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
            "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}}),
    );
}

fn machine(namespace: &str) -> Value {
    json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "m", "namespace": namespace, "labels": {"cluster.k8s.io/cluster-name": "c"}},
        "spec": {"versions": {"kubelet": pinned("KUBERNETES"), "controlPlane": pinned("KUBERNETES")},
            "providerSpec": {"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec"}}}})
}

async fn host_says(world: &World, namespace: &str, type_: &str) -> String {
    let hosts: Api<Host> = Api::namespaced(world.client.clone(), namespace);
    let host = hosts.get("h").await.expect("the Host");
    said(of_host(&host), type_)
}

async fn machine_says(world: &World, namespace: &str) -> String {
    let machines: Api<Machine> = Api::namespaced(world.client.clone(), namespace);
    let machine = machines.get("m").await.expect("the Machine");
    let status = machine.status.unwrap_or_default();
    let all = status.conditions.iter();
    let all = all.map(|c| format!("{} {}: {}", c.type_, c.reason, c.message));
    all.collect::<Vec<_>>().join("; ")
}
