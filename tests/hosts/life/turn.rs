//! Two control-plane Machines, and one kubeadm init: whatever happens to what is written about it in the middle.

use std::fs;

use kube::{Api, ResourceExt};
use tatara_core::api::{Cluster, Machine};

use crate::life::crash::UnderWay;
use crate::life::gates;
use crate::support::wait::within;
use crate::support::world::World;

const FIRST: &str = "quickstart-control-plane";
const SECOND: &str = "second";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_cluster_replaced_and_its_ca_secret_edited_in_mid_init_starts_no_second_init() {
    let world = World::prepared("life9", "10.105.0").await;
    two_control_planes(&world);
    gates::close(&world);
    gates::open_all(&world, "prepare");
    world.quickstart("apply");
    let holder = until_init_waits_at_its_gate(&world).await;
    let other = if holder == FIRST { SECOND } else { FIRST };
    let says = async |reason: &str| {
        within(reason, 120, async || {
            let said = world.machine_says(other, "BootstrapReady").await;
            said.starts_with(&format!("False/{reason}: "))
                .then_some(said)
        })
        .await
    };
    let said = says("WaitingForTurn").await;
    assert!(said.contains(&format!("Machine {holder} (uid ")), "{said}");

    // the policies would refuse all that follows
    let policy = "validatingadmissionpolicybinding/tatara-control-plane-turn";
    world.kubectl(&["delete", policy]);
    let manifest = world.run().join("manifests/20-cluster.yaml");
    let manifest = manifest.to_str().expect("text");
    within("a replaced Cluster", 60, async || {
        let replaced = world
            .kubectl_command()
            .args(["replace", "-f", manifest])
            .output();
        replaced.expect("kubectl").status.success().then_some(())
    })
    .await;
    let cluster = world.api::<Cluster>();
    let annotations = async |cluster: &Api<Cluster>| {
        let cluster = cluster.get("quickstart").await.expect("the Cluster");
        cluster.annotations().clone()
    };
    assert!(
        !annotations(&cluster)
            .await
            .contains_key("tatara.dev/control-plane-turn")
    );
    world.kubectl(&["annotate", "machine", other, "example.com/look=again"]);
    says("WaitingForTurn").await;
    // and of both, nothing is left
    world.kubectl(&[
        "annotate",
        "secret",
        "quickstart-ca",
        "tatara.dev/control-plane-turn-",
    ]);
    let said = says("ControlPlaneInDoubt").await;
    assert!(
        said.contains(&format!("kubeadm was started for Machine {holder}")),
        "{said}"
    );

    gates::open_all(&world, "init");
    within("the record of init", 240, async || {
        let by = annotations(&cluster)
            .await
            .get("tatara.dev/control-plane-initialized")
            .cloned();
        let machine = world
            .api::<Machine>()
            .get(&holder)
            .await
            .expect("a Machine");
        by.filter(|by| Some(by) == machine.uid().as_ref())
    })
    .await;
    // and now it is the other's turn: to join
    says("KubeadmJoin").await;
    assert_eq!(world.starts(&world.host_of(&holder).await, "init"), 1);
    assert_eq!(world.starts(&world.host_of(other).await, "init"), 0);
}

/// The control-plane Machine of the quickstart twice, and no workers.
fn two_control_planes(world: &World) {
    let path = world.run().join("manifests/30-machines.yaml");
    let manifest = fs::read_to_string(&path).expect("the manifest");
    let mut documents: Vec<String> = manifest.split("\n---\n").map(str::to_owned).collect();
    let first = documents
        .iter()
        .find(|text| text.contains(FIRST))
        .expect("a control plane");
    let second = first.replace(FIRST, SECOND);
    documents.push(second.replace("role: control-plane", "role: worker"));
    let manifest = documents
        .join("\n---\n")
        .replace("replicas: 2", "replicas: 0");
    fs::write(&path, manifest).expect("a manifest");
}

/// Returns the Machine whose init waits before its first step.
async fn until_init_waits_at_its_gate(world: &World) -> String {
    within("an init", 240, async || {
        let lines = world.progress().await;
        let mut under_way = lines.iter().filter_map(|line| UnderWay::of(line));
        under_way.find_map(|at| (at.unit == "init").then_some(at.machine))
    })
    .await
}
