//! Hosts lose their power and their network in the middle of kubeadm.

use serde_json::{Value, json};
use tatara_core::api::{Cluster, Host, Machine};

use crate::life::{deletion, gates};
use crate::support::commands::both;
use crate::support::wait::within;
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn power_and_network_cut_in_kubeadm_init_and_join_cost_only_time() {
    let world = World::prepared("life4", "10.94.0").await;
    world.quickstart("apply");
    power_cut_in_init(&world).await;
    let first = world.until_one_says("False/KubeadmInit: ", 180).await;
    gates::close(&world);
    gates::open_all(&world, "prepare");
    gates::open_all(&world, "init");
    network_cut(&world, &first).await;
    let worker = world.until_one_says("False/KubeadmJoin", 240).await;
    let host = world.host_of(&worker).await;
    for other in ["host-b", "host-c"].into_iter().filter(|one| *one != host) {
        gates::open(&world, other, "join/any");
    }
    gates::open_until_kubeadm_runs(&world, &host, "join/any");
    power_cut(&world, &worker).await;
    world.until_ready(3, 300).await;
    gates::remove(&world);
    world.quickstart("up");
    one_control_plane(&world).await;

    // a connection that is cut in the middle of a join
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=1",
    ]);
    within("a free host", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let host = world.available().await.remove(0);
    let joins = world.starts(&host, "join");
    // the first step of the join waits for the cut
    gates::close(&world);
    gates::open_all(&world, "prepare");
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=2",
    ]);
    let worker = world.until_one_says("False/KubeadmJoin", 120).await;
    network_cut(&world, &worker).await;
    gates::open_all(&world, "join");
    world.until_ready(3, 240).await;
    gates::remove(&world);
    assert_eq!(
        world.starts(&host, "join"),
        joins + 1,
        "a lost connection starts nothing again"
    );
    everything_is_deleted_at_once(&world).await;
    a_namespace_is_deleted_with_all_in_it(&world).await;
}

/// `kubectl delete -f` of all that was applied, Hosts and classes too, in the order of the files.
async fn everything_is_deleted_at_once(world: &World) {
    deletion::resets_every_host(world, &deletion::HOSTS, |world| {
        let files = world.run().join("manifests");
        for file in ["10-hosts.yaml", "20-cluster.yaml", "30-machines.yaml"] {
            let file = files.join(file);
            let file = file.to_str().expect("a path");
            // what one file deletes takes parts of the next with it
            let options = ["--wait=false", "--ignore-not-found", "--filename", file];
            let mut delete = world.kubectl_command();
            let deleted = delete.arg("delete").args(options).output();
            let said = both(&deleted.expect("kubectl"));
            // the class may still have had Machines
            assert!(
                !said.contains("rror") || said.contains("MachineClass worker is in use"),
                "{said}"
            );
        }
    })
    .await;
    world.kubectl(&["delete", "machineclass", "worker", "--ignore-not-found"]);
    within("the end of the Hosts", 60, async || {
        world.list::<Host>().await.is_empty().then_some(())
    })
    .await;
}

/// The same cluster in a namespace of its own, which is deleted: SSH keys and addons in it as well.
async fn a_namespace_is_deleted_with_all_in_it(world: &World) {
    world.kubectl(&["create", "namespace", "lab"]);
    apply_in(world, "lab");
    within("Machines that are Ready", 240, async || {
        let ready = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";
        let ready = world.kubectl(&["--namespace=lab", "get", "machines", "-o", ready]);
        (ready == "True True True").then_some(())
    })
    .await;
    // workers are deleted before their Cluster is, so only the control plane knows that the cluster goes
    deletion::resets_every_host(world, &["host-a"], |world| {
        world.kubectl(&["delete", "namespace", "lab", "--wait=false"]);
    })
    .await;
    within("the end of the namespace", 120, async || {
        let namespaces = world.kubectl(&["get", "namespaces", "--output=name"]);
        (!namespaces.contains("/lab")).then_some(())
    })
    .await;
}

/// What the quickstart applies, in another namespace.
fn apply_in(world: &World, namespace: &str) {
    for what in ["secret/hosts-ssh", "configmap/quickstart-flannel"] {
        let mut object: Value =
            serde_json::from_str(&world.kubectl(&["get", what, "--output=json"])).expect("JSON");
        let name = object["metadata"]["name"].take();
        object["metadata"] = json!({"name": name, "namespace": namespace});
        let applied = world.apply(&object);
        assert!(applied.status.success(), "{}", both(&applied));
    }
    for file in ["10-hosts.yaml", "20-cluster.yaml", "30-machines.yaml"] {
        let text = std::fs::read_to_string(world.run().join("manifests").join(file));
        let text = text.expect("a manifest");
        let there = world.run().join(format!("{namespace}-{file}"));
        let text = text.replace("namespace: default", &format!("namespace: {namespace}"));
        std::fs::write(&there, text).expect("a file");
        let there = there.to_str().expect("a path");
        world.kubectl(&["apply", "--server-side", "--filename", there]);
    }
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
    // a step may be silent: its host is looked at once a minute, for half a minute
    within("a connection that is missed", 150, async || {
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
