//! A cluster that runs, and that people edit by mistake: its nodes stay as they are, and it says what is wrong.

use std::collections::BTreeMap;
use std::fs;

use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::conditions::{ConditionType, find};
use tatara_core::api::{Cluster, Machine};

use super::{deletion, dropped};
use crate::life::claims::machine_says;
use crate::support::commands::both;
use crate::support::conditions::said;
use crate::support::wait::within;
use crate::support::world::World;

const CONTROL_PLANE: &str = "quickstart-control-plane";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_running_cluster_outlives_its_owners_mistakes_and_a_network_that_drops_packets() {
    let world = World::with_cluster("life24", "10.124.0").await;
    let since = ready_since(&world).await;
    assert_eq!(since.len(), 3);
    a_typo_is_applied(&world).await;
    the_ca_is_spoiled(&world).await;
    assert_eq!(ready_since(&world).await, since, "other than Ready");
    dropped::packets_to_its_api_cost_no_node_and_no_other_cluster(&world).await;
    a_control_plane_is_called_a_worker_and_deleted(&world).await;
    deletion::resets_every_host(&world, &deletion::HOSTS, |world| {
        world.kubectl(&["delete", "cluster", "quickstart", "--wait=false"]);
    })
    .await;
}

/// Since when each Machine is Ready, by UID.
async fn ready_since(world: &World) -> BTreeMap<String, String> {
    let machines = world.list::<Machine>().await.into_iter();
    let since = machines.map(|machine| {
        let status = machine.status.as_ref();
        let ready = status.and_then(|status| find(&status.conditions, ConditionType::Ready));
        let ready = ready.expect("a condition");
        let since = format!("{} since {:?}", ready.status, ready.last_transition_time);
        (machine.uid().expect("a UID"), since)
    });
    since.collect()
}

pub async fn cluster_says(world: &World, condition: &str, start: &str) -> String {
    within(start, 120, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await;
        let status = cluster.expect("the Cluster").status.unwrap_or_default();
        let said = said(&status.conditions, condition);
        said.starts_with(start).then_some(said)
    })
    .await
}

/// The manifest of the Cluster, applied again with one letter less, and then as it was.
async fn a_typo_is_applied(world: &World) {
    let manifest = world.run().join("manifests/20-cluster.yaml");
    let right = fs::read_to_string(&manifest).expect("the manifest");
    let wrong = right.replace("addons:", "adons:");
    assert_ne!(wrong, right);
    let typo = world.run().join("typo.yaml");
    fs::write(&typo, wrong).expect("a manifest");
    let apply = |file: &std::path::Path| {
        let file = file.to_str().expect("text");
        world.kubectl(&["apply", "--server-side", "-f", file]);
    };
    apply(&typo);
    let said = cluster_says(world, "ConfigurationValid", "False/").await;
    assert!(said.contains("adons"), "{said}");
    let said = machine_says(world, CONTROL_PLANE, "UpToDate", "ClusterInvalid").await;
    assert!(said.contains("adons"), "{said}");
    apply(&manifest);
    cluster_says(world, "ConfigurationValid", "True/").await;
    machine_says(world, CONTROL_PLANE, "UpToDate", "VersionsEqual").await;
}

async fn the_ca_is_spoiled(world: &World) {
    let data = r"--output=jsonpath={.data.tls\.crt}";
    let right = world.kubectl(&["get", "secret", "quickstart-ca", data]);
    let write = |certificate: &str| {
        let change = json!({"data": {"tls.crt": certificate}}).to_string();
        let patch = ["patch", "secret", "quickstart-ca", "--type=merge", "-p"];
        world.kubectl(&[&patch[..], &[&change]].concat());
    };
    // "no certificate"
    write("bm8gY2VydGlmaWNhdGUK");
    cluster_says(world, "CertificatesReady", "False/Malformed").await;
    assert_ne!(
        world.kubectl(&["get", "secret", "quickstart-ca", data]),
        right,
        "nobody makes another"
    );
    write(&right);
    cluster_says(world, "CertificatesReady", "True/").await;
}

/// By the policies it stays what it is; without them, by what is recorded of it.
async fn a_control_plane_is_called_a_worker_and_deleted(world: &World) {
    let strip = || {
        let change = r#"{"spec":{"versions":{"controlPlane":null}}}"#;
        let patch = ["patch", "machine", CONTROL_PLANE, "--type=merge", "-p"];
        let output = world.kubectl_command().args(patch).arg(change).output();
        output.expect("kubectl")
    };
    let refused = both(&strip());
    let why = "spec.versions.controlPlane cannot be removed";
    assert!(refused.contains(why), "{refused}");
    let policy = "validatingadmissionpolicybinding/tatara-machine-identity";
    world.kubectl(&["delete", policy]);
    within("the end of the policy", 60, async || {
        strip().status.success().then_some(())
    })
    .await;
    let resets = world.starts("host-a", "reset");
    world.kubectl(&["delete", "machine", CONTROL_PLANE, "--wait=false"]);
    machine_says(world, CONTROL_PLANE, "Deleting", "LastControlPlane").await;
    // a manager that starts knows it from what is recorded as well
    world.replace_manager().await;
    tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    machine_says(world, CONTROL_PLANE, "Deleting", "LastControlPlane").await;
    assert_eq!(world.starts("host-a", "reset"), resets);
    let node = ["get", "node", "host-a", "--output=name"];
    let output = world.member_kubectl().args(node).output();
    assert_eq!(both(&output.expect("kubectl")).trim(), "node/host-a");
}
