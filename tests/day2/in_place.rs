//! A single control plane, and then its workers, are updated in place by the commands of docs/day-2.md.

use std::time::Instant;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use tatara_core::api::Machine;

use crate::page::Page;
use crate::requests::Requests;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

const CONTROL_PLANE: &str = "quickstart-control-plane";
/// What a worker joins with, and what it runs.
const PROGRAMS: &str = "kubeadm version --output short; kubelet --version";
/// A program before `timeout`, through which each step runs on a host: steps wait until they are let go on.
const GATE: &str = r#"#!/bin/bash
case ${!#} in
  /var/lib/tatara/machines/*) until [[ -e /run/gate ]]; do sleep 0.1; done ;;
esac
exec /usr/bin/timeout "$@"
"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn the_page_updates_one_control_plane_and_its_workers_in_place() {
    let world = World::previous("inplace", "10.65.0", 4).await;
    let page = Page::begin(&world);
    let host = world.host_of(CONTROL_PLANE).await;
    world.shell(&host, "echo kept >/root/kept");
    let late = a_worker_is_prepared_and_paused(&world).await;
    let before = hosts(&world).await;
    let requests = Requests::begin(&world, &host);
    let begun = Instant::now();
    page.run("Versions", 0);
    println!("the control plane: {:?}", begun.elapsed());
    assert_eq!(world.shell(&host, "cat /root/kept").trim(), "kept");
    it_is_prepared_again_and_joins(&world, &late).await;
    let begun = Instant::now();
    requests.allow_no_disruption();
    let run = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let commands = scope.spawn(|| page.run("Versions", 1));
            tokio::runtime::Handle::current().block_on(a_drain_is_stuck(&world));
            requests.allow_one_disruption();
            commands.join()
        })
    });
    run.expect("the commands");
    println!("three workers: {:?}", begun.elapsed());
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    assert_eq!(hosts(&world).await, before, "each has its host");
    let nodes: Api<Node> = Api::all(world.member().await);
    for node in nodes.list(&Default::default()).await.expect("Nodes") {
        let name = node.name_any();
        let spec = node.spec.unwrap_or_default();
        assert_ne!(spec.unschedulable, Some(true), "{name}");
        let info = node.status.and_then(|status| status.node_info);
        let version = info.map(|info| info.kubelet_version);
        assert_eq!(version, Some(pinned("KUBERNETES")), "{name}");
    }
    world.leave();
}

/// With the software of the older version, before it joins.
async fn a_worker_is_prepared_and_paused(world: &World) -> String {
    let host = world.available().await.remove(0);
    let write = format!(
        "cat >/usr/local/sbin/timeout <<'EOF'\n{GATE}EOF\nchmod 755 /usr/local/sbin/timeout"
    );
    world.shell(&host, &write);
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=3",
    ]);
    let name = within("a worker that is being prepared", 60, async || {
        let machines = world.list::<Machine>().await;
        let mut machines = machines.iter();
        let new =
            machines.find(|machine| machine.annotations().get("tatara.dev/host") == Some(&host))?;
        (world.starts(&host, "prepare") > 0).then(|| new.name_any())
    })
    .await;
    world.kubectl(&["annotate", "machine", &name, "cluster.k8s.io/paused="]);
    within("a Machine that is paused", 30, async || {
        let says = world.machine_says(&name, "Paused").await;
        says.starts_with("True/").then_some(())
    })
    .await;
    world.shell(&host, "touch /run/gate");
    within("the end of the preparation", 120, async || {
        let runs = "systemctl list-units --plain --no-legend 'tatara-*.service'";
        world.shell(&host, runs).trim().is_empty().then_some(())
    })
    .await;
    let old = pinned("KUBERNETES_PREVIOUS");
    assert_eq!(
        world.shell(&host, PROGRAMS),
        format!("{old}\nKubernetes {old}")
    );
    assert_eq!(world.starts(&host, "join"), 0);
    name
}

/// The control plane runs another minor version by now: its kubeadm joins, and the kubelet is that of the Machine.
async fn it_is_prepared_again_and_joins(world: &World, name: &str) {
    let host = world.host_of(name).await;
    assert_eq!(world.starts(&host, "join"), 0, "while it is paused");
    world.kubectl(&["annotate", "machine", name, "cluster.k8s.io/paused-"]);
    world.until_ready(4, 180).await;
    let (kubeadm, kubelet) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    assert_eq!(
        world.shell(&host, PROGRAMS),
        format!("{kubeadm}\nKubernetes {kubelet}")
    );
    assert_eq!(
        (world.starts(&host, "prepare"), world.starts(&host, "join")),
        (2, 1)
    );
}

/// Machines and their hosts, by UID too: none was made anew.
async fn hosts(world: &World) -> Vec<(Option<String>, String, Option<String>)> {
    let machines = world.list::<Machine>().await;
    let host = |machine: &Machine| machine.status.clone().and_then(|status| status.host);
    let mut all: Vec<_> = machines
        .iter()
        .map(|machine| (machine.uid(), machine.name_any(), host(machine)))
        .collect();
    all.sort();
    all
}

/// It names the pod and the budget.
async fn a_drain_is_stuck(world: &World) {
    let said = within("a drain that names its budget", 300, async || {
        for machine in world.list::<Machine>().await {
            let said = world.machine_says(&machine.name_any(), "Draining").await;
            if said.contains("PodDisruptionBudget") {
                return Some(said);
            }
        }
        None
    })
    .await;
    println!("{said}");
    assert!(said.contains("default/web-"), "{said}");
    assert!(said.contains("default/web"), "{said}");
}
