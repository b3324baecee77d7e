//! A control plane of one machine becomes three, and one again: with real etcds, behind a virtual IP.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Machine};

use super::{components, settings};
use crate::life::gates;
use crate::support::conditions::said;
use crate::support::etcd::{ETCDCTL, members, with_longer_timeouts};
use crate::support::wait::within;
use crate::support::world::World;

/// Hosts of the quickstart that are for control planes.
const HOSTS: [&str; 3] = ["host-a", "host-d", "host-e"];
const ROLE: &str = "node-role.kubernetes.io/control-plane";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn one_control_plane_becomes_three_and_one_again() {
    let mut world = World::prepared_with("cplane", "10.83.0", 5).await;
    with_longer_timeouts(&world);
    world.quickstart("apply");
    world.until_ready(3, 300).await;
    world.quickstart("member");
    let first = world.host_of("quickstart-control-plane").await;
    etcd_is(
        &world,
        "EtcdHealthy",
        &format!("True/MembersHealthy: {first}"),
    )
    .await;
    three(&world).await;
    components::all_serve(&world).await;
    gates::close_at(&world, &HOSTS);
    settings::edit_the_kubelet(&world).await;
    components::one_that_breaks_as_its_update_ends_holds_the_others(&world, &HOSTS).await;
    settings::every_node_follows(&world, &["host-a", "host-b", "host-c", "host-d", "host-e"]).await;
    gates::remove_at(&world, &HOSTS);
    the_leader_loses_its_power_and_nothing_is_lost(&world).await;
    two_are_deleted_at_once(&world).await;
    world.let_others_begin();
    settings::of_a_lone_api_server(&world, "cp-3").await;
    the_last_one_stays(&world).await;
    the_cluster_goes_and_every_host_comes_back(&world).await;
    world.leave();
}

fn control_plane(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": { "name": name, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" } },
        "spec": {
            "versions": { "kubelet": version, "controlPlane": version },
            "providerSpec": { "value": {
                "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
                "hostSelector": { "matchLabels": { "role": "control-plane" } },
            } },
        },
    })
}

async fn etcd_is(world: &World, condition: &str, expected: &str) {
    within(expected, 60, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let status = cluster.status.unwrap_or_default();
        let is = said(&status.conditions, condition);
        (is == expected).then_some(())
    })
    .await;
}

/// Names of the etcd members that vote, as one of them lists them.
fn voters(world: &World, host: &str) -> BTreeSet<String> {
    let voters = members(world, host).into_iter().filter(|(_, votes)| *votes);
    voters.map(|(name, _)| name).collect()
}

/// The hosts that have the virtual IP.
fn holders(world: &World, hosts: &[&str]) -> Vec<String> {
    let address = format!("{}.100", world.subnet());
    let has = |host: &&&str| {
        let command = format!("ip -o addr show to {address}");
        !world.shell(host, &command).trim().is_empty()
    };
    let holders = hosts.iter().filter(has);
    holders.map(|host| (*host).to_owned()).collect()
}

/// How many others keepalived on a host knows of.
fn peers(world: &World, host: &str) -> String {
    let list =
        "sed -n '/unicast_peer/,/}/p' /etc/keepalived/keepalived.conf | grep -c '[0-9]$' || true";
    world.shell(host, list).trim().to_owned()
}

fn names(hosts: &[&str]) -> BTreeSet<String> {
    hosts.iter().map(|host| (*host).to_owned()).collect()
}

async fn three(world: &World) {
    let first = world.api::<Machine>();
    let first = first.get("quickstart-control-plane").await.expect("it");
    let version = first.versions().expect("versions").kubelet.clone();
    for name in ["cp-2", "cp-3"] {
        let applied = world.apply(&control_plane(name, &version));
        assert!(applied.status.success(), "{applied:?}");
    }
    world.until_ready(5, 300).await;
    assert_eq!(voters(world, HOSTS[0]), names(&HOSTS));
    etcd_is(
        world,
        "EtcdHealthy",
        "True/MembersHealthy: host-a, host-d, host-e",
    )
    .await;
    // each knows the others before it takes part: there is one holder at any time
    within("a part of all in the virtual IP", 60, async || {
        let peers = HOSTS.map(|host| peers(world, host));
        assert!(holders(world, &HOSTS).len() <= 1);
        (peers == ["2", "2", "2"]).then_some(())
    })
    .await;
    assert_eq!(holders(world, &HOSTS).len(), 1);
    let taints = world
        .member_kubectl()
        .args(["get", "nodes", "-l", ROLE])
        .args([
            "-o",
            &format!("jsonpath={{.items[*].spec.taints[?(@.key==\"{ROLE}\")].effect}}"),
        ])
        .output()
        .expect("kubectl");
    let taints = String::from_utf8_lossy(&taints.stdout).into_owned();
    assert_eq!(taints, "NoSchedule NoSchedule NoSchedule");
}

async fn the_leader_loses_its_power_and_nothing_is_lost(world: &World) {
    let mut kubectl = world.member_kubectl();
    let made = kubectl
        .args(["create", "configmap", "kept", "--from-literal=a=b"])
        .status();
    assert!(made.expect("kubectl").success());
    let status = world.shell(
        "host-a",
        &format!("{ETCDCTL} endpoint status --cluster -w fields | grep -E '^\"(MemberID|Leader)\"' | tr '\\n' ' '"),
    );
    let ids: Vec<&str> = status
        .split_whitespace()
        .filter(|word| word.chars().all(|c| c.is_ascii_digit()))
        .collect();
    let list = world.shell("host-a", &format!("{ETCDCTL} member list"));
    let leader: u64 = ids.get(1).expect("a leader").parse().expect("an ID");
    let line = list
        .lines()
        .find(|line| line.starts_with(&format!("{leader:x},")));
    let leader = line
        .and_then(|line| line.split(", ").nth(2))
        .expect("its name");
    world.fleet(&["kill", leader]);
    within("the configmap through the others", 90, async || {
        let mut kubectl = world.member_kubectl();
        let read = kubectl
            .args(["get", "configmap", "kept", "--request-timeout=3s"])
            .output();
        read.expect("kubectl").status.success().then_some(())
    })
    .await;
    within("the condition of the Cluster", 120, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let status = cluster.status.unwrap_or_default();
        let is = said(&status.conditions, "EtcdHealthy");
        (is.starts_with("False/MemberUnhealthy") && is.contains(leader)).then_some(())
    })
    .await;
    let address = format!(
        "{}.{}",
        world.subnet(),
        u32::from(leader.as_bytes()[5] - b'a') + 11
    );
    world.fleet(&["start", leader, &address]);
    world.fleet(&["wait", leader]);
    etcd_is(
        world,
        "EtcdHealthy",
        "True/MembersHealthy: host-a, host-d, host-e",
    )
    .await;
    world.until_ready(5, 120).await;
}

/// The first of them, which ran kubeadm init, is among these.
async fn two_are_deleted_at_once(world: &World) {
    let machines = world.api::<Machine>();
    for name in ["quickstart-control-plane", "cp-2"] {
        machines
            .delete(name, &DeleteParams::background())
            .await
            .expect("a deletion");
    }
    within("both to be gone", 240, async || {
        let left = world.list::<Machine>().await;
        let left: Vec<_> = left
            .iter()
            .filter(|machine| machine.is_control_plane())
            .map(ResourceExt::name_any)
            .collect();
        (left == ["cp-3"]).then_some(())
    })
    .await;
    let remaining = world.host_of("cp-3").await;
    assert_eq!(voters(world, &remaining), names(&[remaining.as_str()]));
    assert_eq!(
        holders(world, &HOSTS).as_slice(),
        std::slice::from_ref(&remaining)
    );
    etcd_is(
        world,
        "EtcdHealthy",
        &format!("True/MembersHealthy: {remaining}"),
    )
    .await;
    let mut kubectl = world.member_kubectl();
    let read = kubectl.args(["get", "configmap", "kept"]).status();
    assert!(read.expect("kubectl").success());
    let mut free = BTreeSet::from(HOSTS.map(str::to_owned));
    free.remove(&remaining);
    within("both hosts to be Available", 60, async || {
        let available = world.available().await;
        free.iter()
            .all(|host| available.contains(host))
            .then_some(())
    })
    .await;
}

async fn the_last_one_stays(world: &World) {
    let machines = world.api::<Machine>();
    machines
        .delete("cp-3", &DeleteParams::background())
        .await
        .expect("a deletion");
    within("the last to say so", 30, async || {
        let says = world.machine_says("cp-3", "Deleting").await;
        says.starts_with("True/LastControlPlane").then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut kubectl = world.member_kubectl();
    let read = kubectl.args(["get", "configmap", "kept"]).status();
    assert!(read.expect("kubectl").success());
}

async fn the_cluster_goes_and_every_host_comes_back(world: &World) {
    world
        .api::<Cluster>()
        .delete("quickstart", &DeleteParams::background())
        .await
        .expect("a deletion");
    within("all hosts to be Available", 180, async || {
        (world.available().await.len() == 5).then_some(())
    })
    .await;
}
