//! Deletion in the orders that people use: nothing goes that a deletion still needs.

use serde_json::json;

use crate::manager::world::{CLUSTER_SECRETS, World};

const SECRET: &str = "secret/ssh";
const HOSTS: [&str; 2] = ["host/first", "host/worker"];

/// What holds when everything that can go has gone, and both hosts are still to be reset.
async fn everything_that_is_needed_is_held(world: &World) {
    world
        .until_says("host/worker", "Quarantined", ".status.state")
        .await;
    world
        .until_says(
            "machine/first",
            "WaitingForWorkers",
            ".status.conditions[?(@.type==\"Deleting\")].reason",
        )
        .await;
    for what in HOSTS.into_iter().chain([SECRET, "cluster/c"]) {
        assert!(world.exists(what), "{what} went too early");
    }
    for what in CLUSTER_SECRETS {
        assert!(world.exists(what), "{what} went too early");
    }
}

/// The user says that hosts which do not answer need not be waited for.
async fn give_up_the_hosts(world: &World) {
    let given = json!({"spec": {"deletion": {"hostReleaseTimeoutSeconds": 1}}});
    let worker = world.worker().await;
    for machine in [worker.as_str(), "machine/first"] {
        world.patch(machine, &given);
    }
    world.until_gone(&worker).await;
    world.until_gone("machine/first").await;
    world.until_gone("cluster/c").await;
    for what in CLUSTER_SECRETS {
        world.until_gone(what).await;
    }
    for host in HOSTS {
        assert_eq!(
            world.says(host, ".status.state"),
            "Quarantined",
            "{host} is handed out only when it is reset"
        );
        assert_eq!(world.says(host, ".spec.consumerRef.releasing"), "true");
    }
    assert!(world.exists(SECRET), "without it no host can be reset");
}

/// The word that a quarantined host's condition gives for a server that is gone for good.
fn forget_the_hosts(world: &World) {
    for host in HOSTS {
        world.patch(host, &json!({"metadata": {"finalizers": []}}));
    }
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn everything_deleted_at_once_goes_in_order() {
    let world = World::new("all").await;
    let all = world.manifests();
    let all = all.to_str().expect("text");
    let said = world.kubectl_says(&["delete", "--wait=false", "-f", all]);
    assert!(said.contains("MachineClass pool is in use"), "{said}");
    everything_that_is_needed_is_held(&world).await;
    give_up_the_hosts(&world).await;
    // what refused to go while it was in use goes now
    world.kubectl(&["delete", "--timeout=60s", "machineclass/pool"]);
    forget_the_hosts(&world);
    world.until_gone(SECRET).await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_deleted_namespace_takes_nothing_that_is_still_needed() {
    let world = World::new("whole").await;
    world.kubectl(&["delete", "--wait=false", "namespace", "whole"]);
    everything_that_is_needed_is_held(&world).await;
    give_up_the_hosts(&world).await;
    world.until_gone("machineclass/pool").await;
    forget_the_hosts(&world);
    world.until_gone("namespace/whole").await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_cluster_deleted_in_the_foreground_takes_its_machines_and_leaves_the_hosts() {
    let world = World::new("front").await;
    world.kubectl(&[
        "delete",
        "--wait=false",
        "--cascade=foreground",
        "cluster/c",
    ]);
    everything_that_is_needed_is_held(&world).await;
    give_up_the_hosts(&world).await;
    for host in HOSTS {
        assert_eq!(world.says(host, ".metadata.deletionTimestamp"), "");
    }
    // nothing of the cluster is left, and the class is free
    world.until_gone("machinedeployment/workers").await;
    world.kubectl(&["delete", "--timeout=60s", "machineclass/pool"]);
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn secrets_and_classes_are_held_only_while_they_are_needed() {
    let world = World::new("held").await;
    let finalizers = ".metadata.finalizers[*]";
    world.kubectl(&["delete", "--wait=false", SECRET]);
    assert_eq!(world.says(SECRET, finalizers), "tatara.dev/in-use");
    // its key still serves
    assert_ne!(world.says(SECRET, ".data.ssh-privatekey"), "");
    world.kubectl(&["create", "secret", "generic", "other"]);
    for host in HOSTS {
        world.patch(
            host,
            &json!({"spec": {"ssh": {"credentialsRef": {"name": "other"}}}}),
        );
    }
    world.until_gone(SECRET).await;
    world.kubectl(&["delete", "--wait=false", "machinedeployment/workers"]);
    let worker = world.worker().await;
    // before its deletion the time limits are those of its MachineSet
    world
        .until_begins(&worker, "20", ".metadata.deletionTimestamp")
        .await;
    world.patch(
        &worker,
        &json!({"spec": {"deletion": {"hostReleaseTimeoutSeconds": 1}}}),
    );
    world.until_gone(&worker).await;
    world.until_says("machineclass/pool", "", finalizers).await;
}
