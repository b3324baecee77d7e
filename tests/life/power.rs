//! Hosts lose their power and their network in the middle of kubeadm.

use tatara::api::{Cluster, Machine};

use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn power_and_network_cut_in_kubeadm_init_and_join_cost_only_time() {
    let world = World::prepared("life4", "10.94.0").await;
    world.quickstart("apply");
    power_cut_in_init(&world).await;
    let first = world.until_one_says("False/KubeadmInit: ", 180).await;
    network_cut(&world, &first).await;
    let worker = world.until_one_says("False/KubeadmJoin", 240).await;
    power_cut(&world, &worker).await;
    world.until_ready(3, 300).await;
    world.quickstart("up");
    one_control_plane(&world).await;

    // a connection that is cut in the middle of a join
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=1",
    ]);
    eventually("a free host", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let host = world.available().await.remove(0);
    let joins = world.starts(&host, "join");
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=2",
    ]);
    let worker = world.until_one_says("False/KubeadmJoin", 120).await;
    network_cut(&world, &worker).await;
    world.until_ready(3, 240).await;
    assert_eq!(
        world.starts(&host, "join"),
        joins + 1,
        "a lost connection starts nothing again"
    );
}

fn power_on(world: &World, host: &str) {
    let last = match host {
        "host-a" => 11,
        "host-b" => 12,
        _ => 13,
    };
    world.fleet(&["start", host, &format!("{}.{last}", world.subnet())]);
}

async fn power_cut_in_init(world: &World) {
    let first = world.until_one_says("False/KubeadmInit: ", 180).await;
    assert_eq!(first, "quickstart-control-plane");
    power_cut(world, &first).await;
}

async fn power_cut(world: &World, machine: &str) {
    let host = world.host_of(machine).await;
    world.fleet(&["kill", &host]);
    power_on(world, &host);
}

async fn network_cut(world: &World, machine: &str) {
    let host = world.host_of(machine).await;
    world.fleet(&["cut", &host]);
    eventually("a connection that is missed", 90, async || {
        let said = world.machine_says(machine, "InfrastructureReady").await;
        let bootstrap = world.machine_says(machine, "BootstrapReady").await;
        (said.contains("SshUnreachable") || bootstrap.contains("onnection")).then_some(())
    })
    .await;
    world.fleet(&["plug", &host]);
}

/// The cluster that was recorded is the one that answers.
async fn one_control_plane(world: &World) {
    let cluster = world
        .api::<Cluster>()
        .get("quickstart")
        .await
        .expect("the Cluster");
    let recorded = cluster.metadata.annotations.expect("annotations");
    let machine = world
        .api::<Machine>()
        .get("quickstart-control-plane")
        .await
        .expect("a Machine");
    assert_eq!(
        recorded.get("tatara.dev/control-plane-initialized"),
        machine.metadata.uid.as_ref()
    );
    let members = world.shell(
        "host-a",
        "ETCDCTL_API=3 etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key member list 2>/dev/null | wc -l",
    );
    assert_eq!(members.trim(), "1");
}
