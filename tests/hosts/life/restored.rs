//! The management cluster's state is lost and restored from a backup, while the cluster that it made runs on.

use std::process::Command;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};

use serde_json::json;
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::api::{Host, Machine};

use crate::life::claims::{follow, machine_says};
use crate::life::deletion;
use crate::life::edited::cluster_says;
use crate::support::backup::{backup, restore};
use crate::support::commands::done;
use crate::support::wait::within;
use crate::support::world::World;

const CONTROL_PLANE: &str = "quickstart-control-plane";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn an_old_backup_wipes_no_live_node_and_says_who_must_do_what() {
    let world = World::prepared("life5", "10.66.0").await;
    restored_to_before_init(&world).await;
    scale(&world, 1);
    let host = a_free_host(&world).await;
    backup(&world).await;
    scale(&world, 2);
    world.until_ready(3, 180).await;
    let nodes: Api<Node> = Api::all(world.member().await);
    let resets = world.starts(&host, "reset");

    restore(&world).await;
    let said = within("the orphaned host", 90, async || {
        let said = world.host_says(&host, "Clean").await;
        said.starts_with("False/Orphaned: ").then_some(said)
    })
    .await;
    scale(&world, 2);
    let refused = within("a Machine without a host", 30, async || {
        let machines = world.list::<Machine>().await;
        for machine in machines {
            let said = world
                .machine_says(&machine.name_any(), "InfrastructureReady")
                .await;
            if said.starts_with("False/NoHostAvailable: ") {
                return Some(said);
            }
        }
        None
    })
    .await;
    assert!(
        refused.contains("2 hosts match the selector: 1 claimed, 1 "),
        "{refused}"
    );
    assert!(
        is_ready(&nodes, &host).await,
        "the node of the lost Machine lives on"
    );
    assert_eq!(world.starts(&host, "reset"), resets);

    // the message holds the command that gives the host up
    let command = said
        .split_once("which ends its pods at once: kubectl ")
        .map(|(_, command)| command);
    let command = command.unwrap_or_else(|| panic!("no command in {said}"));
    let kubectl = world.kubectl_command();
    let kubectl = format!(
        "{} --kubeconfig {}",
        kubectl.get_program().display(),
        world.run().join("management/admin.kubeconfig").display()
    );
    done(Command::new("bash").args(["-c", &format!("{kubectl} {command}")]));
    world.until_ready(3, 240).await;
    assert_eq!(world.starts(&host, "reset"), resets + 1);
    assert!(is_ready(&nodes, &host).await);
}

/// The backup knows the Cluster, its CA and its Machines, and none of the claims: kubeadm init is not run again.
async fn restored_to_before_init(world: &World) {
    world.kill_manager().await;
    world.quickstart("apply");
    scale(world, 1);
    keep_back(world, true);
    world.quickstart("manager");
    cluster_says(world, "CertificatesReady", "True/").await;
    let waits = "NoHostAvailable";
    machine_says(world, CONTROL_PLANE, "InfrastructureReady", waits).await;
    // a backup without the worker would bring back a set that makes another
    within("a worker", 60, async || {
        (world.list::<Machine>().await.len() == 2).then_some(())
    })
    .await;
    backup(world).await;
    keep_back(world, false);
    world.until_ready(2, 300).await;

    restore(world).await;
    // before their servers were looked at, a Machine may claim another Host
    let is_orphaned = |host: &Host| {
        let status = host.status.as_ref();
        status.is_some_and(|status| {
            let clean = find(&status.conditions, ConditionType::Clean);
            clean.is_some_and(|clean| clean.reason == Reason::Orphaned)
        })
    };
    within("the Hosts with a marker are seen", 120, async || {
        let hosts = world.list::<Host>().await;
        (hosts.iter().filter(|host| is_orphaned(host)).count() == 2).then_some(())
    })
    .await;
    keep_back(world, false);
    let machines = world.list::<Machine>().await;
    assert_eq!(machines.len(), 2);
    for machine in machines {
        let machine = machine.name_any();
        let said = machine_says(world, &machine, "InfrastructureReady", "HostLost").await;
        assert!(said.contains("its marker names this Machine"), "{said}");
        follow(world, &said);
    }
    world.until_ready(2, 120).await;
    for (unit, times) in [("init", 1), ("join", 1), ("reset", 0)] {
        let starts = deletion::HOSTS.map(|host| world.starts(host, unit));
        assert_eq!(starts.iter().sum::<usize>(), times, "{unit}");
    }
    world.quickstart("member");
}

/// Whether no Machine may claim any of the Hosts.
fn keep_back(world: &World, is_kept: bool) {
    let patch = json!({"spec": {"maintenance": is_kept}}).to_string();
    for host in deletion::HOSTS {
        world.kubectl(&["patch", "host", host, "--type=merge", "-p", &patch]);
    }
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

async fn a_free_host(world: &World) -> String {
    within("a free host", 120, async || world.available().await.pop()).await
}

async fn is_ready(nodes: &Api<Node>, name: &str) -> bool {
    let node = nodes.get_opt(name).await.expect("an answer");
    let conditions = node
        .and_then(|node| node.status?.conditions)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|c| c.type_ == "Ready" && c.status == "True")
}
