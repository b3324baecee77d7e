//! Who has the virtual IP in a cluster's life: before kubeadm init, after a reboot of the only control plane, while three crash,
//! after three were off, and when a machine that was removed while it was off comes back.

use std::time::{Duration, Instant};

use kube::ResourceExt;
use kube::api::DeleteParams;
use tatara_core::api::Machine;

use crate::holders::Holders;
use crate::observed::{control_plane, etcd_is, machine, writes};
use crate::requests::Requests;
use crate::support::etcd::with_longer_timeouts;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

/// Hosts of the quickstart that are for control planes; the last has the highest address, which wins between equals.
const HOSTS: [&str; 3] = ["host-a", "host-d", "host-e"];
const WORKER: &str = "host-b";
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";
/// An argument that no API server knows.
const BREAKS: &str = "--breaks-at-its-start";
/// A program before `timeout`, through which each step runs on a host.
const GATE: &str = r#"#!/bin/bash
case ${!#} in
  */init/*-init.sh) until [[ -n $(ip -o addr show to ADDRESS) ]]; do sleep 0.1; done ;;
esac
exec /usr/bin/timeout "$@"
"#;
/// A move of the address may fall between the looks at two hosts.
const A_MOMENT: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn one_machine_has_the_virtual_ip_whatever_boots_crashes_or_comes_back() {
    let world = World::prepared_with("vip", "10.119.0", 5).await;
    with_longer_timeouts(&world);
    let holders = Holders::begin(&world, &HOSTS);
    let gate = GATE.replace("ADDRESS", &format!("{}.100", world.subnet()));
    world.shell(
        HOSTS[0],
        &format!(
            "cat >/usr/local/sbin/timeout <<'EOF'\n{gate}EOF\nchmod 755 /usr/local/sbin/timeout"
        ),
    );
    world.quickstart("apply");
    the_first_has_it_before_init(&world, &holders).await;
    world.until_ready(3, 300).await;
    world.quickstart("member");
    a_lone_one_reboots(&world, &holders).await;
    for name in ["cp-2", "cp-3"] {
        control_plane(&world, name, &pinned("KUBERNETES"));
    }
    world.until_ready(5, 420).await;
    all_know(&world, &HOSTS).await;
    all_api_servers_crash(&world, &holders).await;
    all_are_off_and_come_back(&world, &holders).await;
    one_that_was_removed_comes_back(&world, &holders).await;
    let shared = holders.longest_shared();
    println!("held by two for at most {shared:?}");
    assert!(shared <= A_MOMENT, "{shared:?}");
    drop(holders);
    world.leave();
}

/// The step that runs kubeadm init waits until the address is there, for ever if need be.
async fn the_first_has_it_before_init(world: &World, holders: &Holders) {
    world.until_one_says("False/KubeadmInit: ", 240).await;
    within("the address", 90, async || {
        (holders.now() == [HOSTS[0]]).then_some(())
    })
    .await;
}

async fn a_lone_one_reboots(world: &World, holders: &Holders) {
    let begun = Instant::now();
    world.shell(HOSTS[0], "systemctl --no-block reboot");
    within("a host that is down", 60, async || {
        holders.now().is_empty().then_some(())
    })
    .await;
    is_held_and_serves(world, holders).await;
    println!("after a reboot: {:?}", begun.elapsed());
    world.until_ready(3, 120).await;
}

/// Exactly one has it, and the API there takes writes.
async fn is_held_and_serves(world: &World, holders: &Holders) {
    within("the address", 90, async || {
        (holders.now().len() == 1).then_some(())
    })
    .await;
    within("a write", 240, async || writes(world).then_some(())).await;
    assert_eq!(holders.now().len(), 1);
}

/// Each control plane knows all others.
async fn all_know(world: &World, hosts: &[&str]) {
    let peers =
        "sed -n '/unicast_peer/,/}/p' /etc/keepalived/keepalived.conf | grep -c '[0-9]$' || true";
    let others = (hosts.len() - 1).to_string();
    within("a part of all in the virtual IP", 90, async || {
        let mut hosts = hosts.iter();
        hosts
            .all(|host| world.shell(host, peers) == others)
            .then_some(())
    })
    .await;
}

/// The same on several hosts at once.
fn on_all(hosts: &[&str], act: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for host in hosts {
            scope.spawn(|| act(host));
        }
    });
}

/// As after an argument that none of them knows: each ends as it starts, again and again.
async fn all_api_servers_crash(world: &World, holders: &Holders) {
    let edit = format!("sed -i 's/^    - kube-apiserver$/&\\n    - {BREAKS}/' {MANIFEST}");
    on_all(&HOSTS, |host| drop(world.shell(host, &edit)));
    within("the end of the API", 120, async || {
        let listens = "ss -Hltn sport = :6443";
        let none = HOSTS
            .iter()
            .all(|host| world.shell(host, listens).is_empty());
        none.then_some(())
    })
    .await;
    assert!(!writes(world), "no API server answers");
    // the check asks each 3 s, and waits 4 s for each answer
    tokio::time::sleep(Duration::from_secs(20)).await;
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(45)).await;
    let spans = holders.since(begun);
    println!("while all API servers crash: {spans:?}");
    for (time, holders) in spans {
        assert!(
            holders.len() == 1 || time <= A_MOMENT,
            "{time:?} {holders:?}"
        );
    }
    on_all(&HOSTS, |host| {
        world.shell(host, &format!("sed -i '/{BREAKS}/d' {MANIFEST}"));
    });
    is_held_and_serves(world, holders).await;
    etcd_is(world, "True/MembersHealthy").await;
    world.until_ready(5, 180).await;
}

async fn all_are_off_and_come_back(world: &World, holders: &Holders) {
    on_all(&HOSTS, |host| drop(world.fleet(&["kill", host])));
    within("nobody", 10, async || {
        holders.now().is_empty().then_some(())
    })
    .await;
    let begun = Instant::now();
    on_all(&HOSTS, |host| drop(world.fleet(&["start", host])));
    is_held_and_serves(world, holders).await;
    println!("after all were off: {:?}", begun.elapsed());
    etcd_is(world, "True/MembersHealthy").await;
    world.until_ready(5, 240).await;
}

/// Its Machine is gone, its disk has everything, and no manager runs: so it is what it was, but that its member was removed and
/// the others do not send to it.
async fn one_that_was_removed_comes_back(world: &World, holders: &Holders) {
    let [stays @ .., host] = HOSTS;
    world.fleet(&["kill", host]);
    let name = name_on(world, host).await;
    let uid = machine(world, &name).await.uid().expect("a UID");
    let machines = world.api::<Machine>();
    let deleted = machines.delete(&name, &DeleteParams::background()).await;
    deleted.expect("a deletion");
    let gone = format!("tatara.dev/host-is-gone={uid}");
    world.kubectl(&["annotate", "machine", &name, &gone]);
    within("the end of its Machine", 180, async || {
        let found = machines.get_opt(&name).await.expect("an answer");
        found.is_none().then_some(())
    })
    .await;
    all_know(world, &stays).await;
    is_held_and_serves(world, holders).await;
    let requests = Requests::of_api(world, WORKER);
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.kill_manager().await;
    let begun = Instant::now();
    world.fleet(&["start", host]);
    world.fleet(&["wait", host]);
    within("keepalived and the kubelet", 60, async || {
        let states = world.shell(host, "systemctl is-active keepalived kubelet || true");
        (states == "active\nactive").then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    world.quickstart("manager");
    within("the host to be reset", 240, async || {
        let free = world.available().await;
        free.iter().any(|free| free == host).then_some(())
    })
    .await;
    let spans = holders.since(begun);
    let (answered, lost) = requests.end();
    println!("{answered} requests answered at the virtual IP, {lost} lost; it was on {spans:?}");
    assert_eq!(spans.len(), 1, "it does not move: {spans:?}");
    assert_eq!(spans[0].1.len(), 1, "{spans:?}");
    assert!(answered > 100, "{answered}");
    assert_eq!(lost, 0, "requests at the virtual IP");
}

/// Name of the Machine that has a host.
async fn name_on(world: &World, host: &str) -> String {
    let machines = world.list::<Machine>().await;
    let has = |machine: &&Machine| {
        let status = machine.status.as_ref();
        status.and_then(|status| status.host.as_deref()) == Some(host)
    };
    machines.iter().find(has).expect("a Machine").name_any()
}
