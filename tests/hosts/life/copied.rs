//! A Machine and Hosts that a person made from the YAML of others, all of a worker that runs: which goes on as if nothing
//! had happened once they are deleted.

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use serde_json::json;

use crate::life::claims::{
    applied, copied, is_ready, machine_says, registered, until_deleted, yaml,
};
use crate::life::examples::tatara;
use crate::support::commands::both;
use crate::support::wait::within;
use crate::support::world::World;

/// Its provider ID is refused; with its other records it gets no host, and its end costs the other nothing.
pub async fn a_machine_is_copied(world: &World, worker: &str, host: &str) {
    let nodes: Api<Node> = Api::all(world.member().await);
    let mut copy = copied(yaml(world, &format!("machine/{worker}")), "copy");
    let refused = world.apply(&copy);
    assert!(!refused.status.success(), "{}", both(&refused));
    assert!(both(&refused).contains("Remove spec.providerID"));
    let spec = copy["spec"].as_object_mut().expect("a spec");
    spec.remove("providerID");
    // with the labels of its pool its set would take it in, and delete it: it has enough
    copy["metadata"]["labels"] = json!({"cluster.k8s.io/cluster-name": "quickstart"});
    applied(world, &copy);
    let said = machine_says(world, "copy", "InfrastructureReady", "HostLost").await;
    let leave = format!("Leave {worker} and the Host alone");
    assert!(
        said.contains(&leave) && !said.contains("patch host"),
        "{said}"
    );
    world.kubectl(&["delete", "machine", "copy", "--wait=false"]);
    let said = machine_says(world, "copy", "Deleting", "NotReset").await;
    assert!(is_ready(&nodes, host).await, "{said}");
    // as the message says
    assert!(said.contains("tatara machine declare-gone copy"), "{said}");
    tatara(world, &["machine", "declare-gone", "copy", "--yes"]);
    until_deleted(world, "machine.cluster.k8s.io/copy").await;
    assert!(is_ready(&nodes, host).await);
}

/// With the address of another server: nothing is written there.
pub async fn a_host_is_copied(world: &World, worker: &str, host: &str, spare: &str) {
    within("a spare host", 120, async || {
        let available = world.available().await;
        available.iter().any(|name| name == spare).then_some(())
    })
    .await;
    let free = registered(world, spare);
    world.kubectl(&["delete", "host", spare, "--timeout=60s"]);
    let mut copy = copied(yaml(world, &format!("host/{host}")), spare);
    copy["spec"]["ssh"] = free["spec"]["ssh"].clone();
    applied(world, &copy);
    until_claimed_twice(world, worker, [host, spare]).await;
    let resets = world.starts(spare, "reset");
    world.kubectl(&["delete", "host", spare, "--timeout=90s"]);
    let marker = "ls /var/lib/tatara/owner.json 2>/dev/null || true";
    assert_eq!(world.shell(spare, marker), "");
    assert_eq!(
        world.starts(spare, "reset"),
        resets,
        "nothing was written there"
    );
    machine_says(world, worker, "Ready", "True/").await;
    applied(world, &free);
}

/// With its address: two Hosts for one server, of which one goes.
pub async fn a_host_is_copied_with_its_address(world: &World, worker: &str, host: &str) {
    let nodes: Api<Node> = Api::all(world.member().await);
    let resets = world.starts(host, "reset");
    applied(world, &copied(yaml(world, &format!("host/{host}")), "copy"));
    until_claimed_twice(world, worker, [host, "copy"]).await;
    world.kubectl(&["delete", "host", "copy", "--timeout=120s"]);
    machine_says(world, worker, "Ready", "True/").await;
    assert!(is_ready(&nodes, host).await);
    assert_eq!(world.starts(host, "reset"), resets);
}

async fn until_claimed_twice(world: &World, worker: &str, hosts: [&str; 2]) {
    let said = machine_says(world, worker, "InfrastructureReady", "ClaimedTwice").await;
    for host in hosts {
        assert!(said.contains(host), "{said}");
        within("a Host that says so", 60, async || {
            let said = world.host_says(host, "Available").await;
            said.contains("ClaimedTwice").then_some(())
        })
        .await;
    }
}
