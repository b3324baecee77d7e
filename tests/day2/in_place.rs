//! A single control plane, and then its workers, are updated in place by the commands of docs/day-2.md.

use std::time::Instant;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use tatara::api::Machine;

use crate::page::Page;
use crate::requests::Requests;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

const CONTROL_PLANE: &str = "quickstart-control-plane";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn the_page_updates_one_control_plane_and_its_workers_in_place() {
    let world = World::previous("inplace", "10.65.0", 3).await;
    let page = Page::begin(&world);
    let host = world.host_of(CONTROL_PLANE).await;
    world.shell(&host, "echo kept >/root/kept");
    let before = hosts(&world).await;
    let requests = Requests::begin(&world, &host);
    let begun = Instant::now();
    page.run("Versions", 0);
    println!("the control plane: {:?}", begun.elapsed());
    assert_eq!(world.shell(&host, "cat /root/kept").trim(), "kept");
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
    println!("two workers: {:?}", begun.elapsed());
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
