//! Three control planes and a worker, each of a MachineDeployment, move to the next minor version in place by one `kubectl apply`, as
//! docs/day-2.md has it; the first host to be updated loses its power in the middle.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt;
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Machine, MachineDeployment};

use crate::requests::Requests;
use crate::support::conditions::{is_true, said};
use crate::support::versions::{edit_machines, pinned};
use crate::support::wait::within;
use crate::support::world::World;
use crate::three::rolled_out;

const CONTROL_PLANES: [&str; 3] = ["quickstart-control-plane", "cp-2", "cp-3"];
/// The MachineDeployments that move.
const PLANES: &str = "planes";
const MOVERS: &str = "movers";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn control_planes_and_a_worker_move_to_the_next_minor_in_place() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::previous("day2", "10.70.0", 5).await;
    let mover = begin_with(&world, &old).await;
    let workers = other_worker(&world, &mover).await;
    let requests = Requests::begin(&world, &workers.1);
    let places = places(&world).await;
    let begun = std::time::Instant::now();
    apply_both(&world, &new);
    let (machine, host) = first_to_be_updated(&world).await;
    // kubeadm is in the middle of the static pods
    tokio::time::sleep(Duration::from_secs(20)).await;
    println!("power cut of {host}, the host of {machine}");
    world.fleet(&["kill", &host]);
    tokio::time::sleep(Duration::from_secs(20)).await;
    alone_is_updated(&world, &machine, &mover).await;
    world.fleet(&["start", &host, &places[&machine].1]);
    all_run(&world, &new, &mover).await;
    println!("three control planes and a worker: {:?}", begun.elapsed());
    assert_eq!(
        version_of(&world, &workers.0).await.0,
        old,
        "nobody asked for it"
    );
    a_deployment_moves_its_machine(&world, &workers.0, &new).await;
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    let after = self::places(&world).await;
    assert_eq!(places, after, "each keeps its host, and its address");
    etcd_is_well(&world).await;
    refused(&world, &old).await;
    world.leave();
}

/// A cluster of three control planes and two workers, all of the older version; returns the worker that moves.
async fn begin_with(world: &World, old: &str) -> String {
    edit_machines(world, |text| text.replace("replicas: 2", "replicas: 1"));
    world.quickstart("apply");
    let class = |name: &str| json!({ "valueFrom": { "machineClass": { "name": name } } });
    let apply = |manifest: &Value| {
        let made = world.apply(manifest);
        assert!(made.status.success(), "{manifest}");
    };
    for name in &CONTROL_PLANES[1..] {
        apply(&json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {
                "name": name, "namespace": "default",
                "labels": { "cluster.k8s.io/cluster-name": "quickstart", "set": PLANES },
            },
            "spec": {
                "versions": { "kubelet": old, "controlPlane": old }, "providerSpec": class("control-plane"),
            },
        }));
    }
    world.kubectl(&[
        "label",
        "machine",
        CONTROL_PLANES[0],
        &format!("set={PLANES}"),
    ]);
    for manifest in both(old) {
        apply(&manifest);
    }
    for name in [PLANES, MOVERS] {
        rolled_out(world, name, 420).await;
    }
    world.until_ready(5, 420).await;
    world.quickstart("member");
    let machines = world.list::<Machine>().await;
    let is_mover =
        |machine: &&Machine| machine.labels().get("set").is_some_and(|set| set == MOVERS);
    let mover = machines.iter().find(is_mover).expect("a worker");
    mover.name_any()
}

/// The two MachineDeployments in a version.
fn both(version: &str) -> [Value; 2] {
    let deployment = |name: &str, replicas: usize, versions: Value, class: &str| {
        json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": {
                "name": name, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
            },
            "spec": {
                "replicas": replicas, "progressDeadlineSeconds": 1800, "strategy": { "type": "InPlace" },
                "selector": { "matchLabels": { "set": name } },
                "template": {
                    "metadata": { "labels": { "set": name } },
                    "spec": {
                        "versions": versions,
                        "providerSpec": { "valueFrom": { "machineClass": { "name": class } } },
                    },
                },
            },
        })
    };
    let of_planes = json!({ "kubelet": version, "controlPlane": version });
    [
        deployment(PLANES, 3, of_planes, "control-plane"),
        deployment(MOVERS, 1, json!({ "kubelet": version }), "worker"),
    ]
}

fn apply_both(world: &World, version: &str) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": both(version) });
    let applied = world.apply(&list);
    assert!(applied.status.success(), "{version}");
}

/// The worker of the MachineDeployment that stays as it is, and its host.
async fn other_worker(world: &World, mover: &str) -> (String, String) {
    let machines = world.list::<Machine>().await;
    let stays = |machine: &&Machine| !machine.is_control_plane() && machine.name_any() != mover;
    let name = machines.iter().find(stays).expect("a Machine").name_any();
    let host = world.host_of(&name).await;
    (name, host)
}

/// Host and address of each Machine.
async fn places(world: &World) -> BTreeMap<String, (String, String)> {
    let machines = world.list::<Machine>().await;
    let place = |machine: &Machine| {
        let status = machine.status.as_ref().expect("a status");
        let address = status
            .addresses
            .iter()
            .find(|address| address.type_ == "InternalIP");
        let address = address.expect("an address").address.clone();
        (status.host.clone().expect("a host"), address)
    };
    machines
        .iter()
        .map(|machine| (machine.name_any(), place(machine)))
        .collect()
}

/// The control plane on which kubeadm upgrade runs, and its host.
async fn first_to_be_updated(world: &World) -> (String, String) {
    let machine = within("kubeadm upgrade", 120, async || {
        for machine in CONTROL_PLANES {
            let updating = world.machine_says(machine, "Updating").await;
            if updating.ends_with(" upgrade") {
                return Some(machine.to_owned());
            }
        }
        None
    })
    .await;
    let host = world.host_of(&machine).await;
    (machine, host)
}

/// While it is away nobody else begins: of three members two are left.
async fn alone_is_updated(world: &World, machine: &str, mover: &str) {
    for other in CONTROL_PLANES.iter().filter(|other| **other != machine) {
        let (_, control_plane) = version_of(world, other).await;
        assert_eq!(
            control_plane,
            Some(pinned("KUBERNETES_PREVIOUS")),
            "{other}"
        );
        assert_eq!(world.machine_says(other, "Updating").await, "", "{other}");
    }
    // its MachineDeployment moves it when the control plane has moved
    let (kubelet, _) = version_of(world, mover).await;
    assert_eq!(kubelet, pinned("KUBERNETES_PREVIOUS"), "{mover}");
    let waits = world.api::<MachineDeployment>().get(MOVERS).await;
    let waits = serde_json::to_string(&waits.expect("it").status).expect("JSON");
    assert!(waits.contains("nothing rolls yet"), "{waits}");
}

/// Versions of kubelet and control plane, as they run.
async fn version_of(world: &World, machine: &str) -> (String, Option<String>) {
    let machine = world.api::<Machine>().get(machine).await.expect("it");
    let versions = machine.status.and_then(|status| status.versions);
    let versions = versions.expect("its versions");
    (versions.kubelet, versions.control_plane)
}

async fn all_run(world: &World, new: &str, mover: &str) {
    within("all in the new version", 1500, async || {
        for name in CONTROL_PLANES.iter().chain([&mover]) {
            let machine = world.api::<Machine>().get(name).await.expect("it");
            let status = machine.status.clone().unwrap_or_default();
            let versions = status.versions.clone()?;
            let is_new = versions.kubelet == new
                && versions.control_plane.is_none_or(|version| version == new);
            let is_well =
                is_true(&status.conditions, "UpToDate") && is_true(&status.conditions, "Ready");
            (is_new && is_well).then_some(())?;
        }
        Some(())
    })
    .await;
    let nodes = world
        .member_kubectl()
        .args(["get", "nodes", "-o", "wide"])
        .output();
    let nodes = String::from_utf8_lossy(&nodes.expect("kubectl").stdout).into_owned();
    println!("{nodes}");
    assert!(!nodes.contains("SchedulingDisabled"), "{nodes}");
}

/// Strategy `InPlace`: the same Machine, of another MachineSet.
async fn a_deployment_moves_its_machine(world: &World, machine: &str, new: &str) {
    let owner = |machine: &Machine| machine.owner_references()[0].name.clone();
    let get = async || world.api::<Machine>().get(machine).await.expect("it");
    let before = owner(&get().await);
    let patch = json!({ "spec": {
        "strategy": { "type": "InPlace", "rollingUpdate": null },
        "template": { "spec": { "versions": { "kubelet": new } } },
    } });
    let of = ["patch", "machinedeployment", "quickstart-workers"];
    world.kubectl(&[&of[..], &["--type=merge", "-p", &patch.to_string()]].concat());
    rolled_out(world, "quickstart-workers", 180).await;
    let after = get().await;
    assert_ne!(owner(&after), before);
    assert_eq!(version_of(world, machine).await.0, new);
}

async fn etcd_is_well(world: &World) {
    within("three members", 120, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let status = cluster.status.unwrap_or_default();
        let etcd = said(&status.conditions, "EtcdHealthy");
        let members = etcd
            .strip_prefix("True/MembersHealthy: ")?
            .split(", ")
            .count();
        (members == 3 && status.version.as_deref() == Some(pinned("KUBERNETES").as_str()))
            .then_some(())
    })
    .await;
}

/// A control plane does not go back.
async fn refused(world: &World, old: &str) {
    let [planes, _] = both(old);
    assert!(world.apply(&planes).status.success(), "{PLANES}");
    within("the refusal", 60, async || {
        let deployment = world.api::<MachineDeployment>().get(PLANES).await;
        let status = deployment.expect("it").status.unwrap_or_default();
        let progressing = said(&status.conditions, "Progressing");
        progressing.contains("does not go back").then_some(())
    })
    .await;
}
