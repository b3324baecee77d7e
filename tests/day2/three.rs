//! The commands of docs/day-2.md on one cluster: one control plane becomes three of a MachineDeployment, one of them leaves,
//! both versions are raised at once, settings change, and three become one. A Service is asked all the time from a worker that
//! stays at the older version.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use serde_json::json;
use tatara_core::api::{Cluster, Machine, MachineDeployment};

use crate::page::Page;
use crate::requests::Requests;
use crate::support::audit::MANAGER;
use crate::support::conditions::said;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

/// The Machine that is the first control plane.
pub const FIRST: &str = "quickstart-control-plane";
/// The MachineDeployment of control planes that the page makes.
pub const DEPLOYMENT: &str = "quickstart-control-planes";
/// A MachineDeployment of the older version, from whose host the Service is asked.
const STAYS: &str = "stays";
/// Section of the page that makes it.
pub const THREE: &str = "One control plane becomes three";
const LEAVES: &str = "A control plane leaves";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn the_page_makes_three_control_planes_replaces_them_and_makes_one() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::previous("page", "10.97.0", 7).await;
    let page = Page::begin(&world);
    let host = world.host_of(FIRST).await;
    let begun = Instant::now();
    page.run(THREE, 0);
    println!("one becomes three: {:?}", begun.elapsed());
    assert_eq!(world.host_of(FIRST).await, host, "adopted as it was");
    page.run(THREE, 1);
    let begun = Instant::now();
    page.run(LEAVES, 0);
    println!("one leaves, and another joins: {:?}", begun.elapsed());
    let before = control_planes(&world).await;
    assert!(!before.contains(FIRST) && before.len() == 3, "{before:?}");
    let asking = stays(&world, &old).await;
    at_rest_no_request_is_lost(&world, &asking).await;
    let requests = Requests::begin(&world, &asking);
    both_versions_are_raised(&world, &page, (&new, &old));
    let after = control_planes(&world).await;
    assert!(after.is_disjoint(&before) && after.len() == 3, "{after:?}");
    addons_follow(&world, &new).await;
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    let begun = Instant::now();
    page.run("Settings of kubeadm and the kubelet", 0);
    println!("a kubelet setting on six nodes: {:?}", begun.elapsed());
    all_take_pods(&world, "100").await;
    three_become_one(&world, &page).await;
    does_not_go_back(&world, &old).await;
    world.leave();
}

/// Another pool of workers, of one. Returns its host.
async fn stays(world: &World, old: &str) -> String {
    let labels = json!({ "pool": STAYS });
    let made = world.apply(&json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "metadata": {
            "name": STAYS, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
        },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": {
                "versions": { "kubelet": old },
                "providerSpec": { "valueFrom": { "machineClass": { "name": "worker" } } },
            } },
        },
    }));
    assert!(made.status.success());
    world.until_ready(6, 420).await;
    let machines = world.list::<Machine>().await;
    let stays = machines.iter().find(|machine| {
        machine
            .labels()
            .get("pool")
            .is_some_and(|pool| pool == STAYS)
    });
    let status = stays.and_then(|machine| machine.status.clone());
    status.and_then(|status| status.host).expect("its host")
}

/// What the counter itself loses, until the manager has come to rest.
async fn at_rest_no_request_is_lost(world: &World, host: &str) {
    let requests = Requests::begin(world, host);
    comes_to_rest(world).await;
    let (answered, lost) = requests.end();
    println!("at rest {answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests at rest");
}

/// A minute comes in which the manager lists nothing and writes nothing in the management cluster.
pub async fn comes_to_rest(world: &World) {
    for _ in 0..3 {
        let mark = world.audit();
        tokio::time::sleep(Duration::from_mins(1)).await;
        let mut asked = mark.requests_of(MANAGER);
        asked.retain(|request| request.is_write() || request.verb == "list");
        if asked.is_empty() {
            return;
        }
        println!("not at rest yet: {asked:?}");
    }
    panic!("the manager does not come to rest");
}

/// Control planes first, then workers.
fn both_versions_are_raised(world: &World, page: &Page, (new, old): (&str, &str)) {
    let begun = Instant::now();
    let run = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let commands = scope.spawn(|| page.run("A rollout of control planes", 0));
            tokio::runtime::Handle::current().block_on(workers_wait(world, new, old));
            commands.join()
        })
    });
    run.expect("the commands");
    println!(
        "three control planes and two workers: {:?}",
        begun.elapsed()
    );
}

/// What the settings of the page make of every Node.
async fn all_take_pods(world: &World, pods: &str) {
    let nodes: Api<Node> = Api::all(world.member().await);
    within("the setting on all Nodes", 60, async || {
        let all = nodes.list(&Default::default()).await.ok()?;
        let has = |node: &Node| {
            let status = node.status.as_ref()?;
            status.capacity.as_ref()?.get("pods").map(|is| is.0.clone())
        };
        (all.items.len() == 6 && all.iter().all(|node| has(node).as_deref() == Some(pods)))
            .then_some(())
    })
    .await;
}

/// Until the control plane has moved, no worker does, and none is given up.
async fn workers_wait(world: &World, new: &str, old: &str) {
    let is_worker = |machine: &Machine| !machine.is_control_plane();
    let machines = world.list::<Machine>().await.into_iter();
    let before: BTreeSet<_> = machines
        .filter(is_worker)
        .map(|machine| machine.name_any())
        .collect();
    within("all control planes in the new version", 900, async || {
        let (planes, workers): (Vec<_>, Vec<_>) = world
            .list::<Machine>()
            .await
            .into_iter()
            .partition(Machine::is_control_plane);
        let planes: Vec<_> = planes
            .into_iter()
            .filter(|machine| machine.metadata.deletion_timestamp.is_none())
            .collect();
        let versions = |machine: &Machine| machine.status.clone()?.versions;
        let has_moved = |machine: &Machine| {
            let runs = versions(machine).and_then(|versions| versions.control_plane);
            runs.as_deref() == Some(new)
        };
        if planes.iter().all(has_moved) {
            return Some(());
        }
        let now: BTreeSet<_> = workers.iter().map(ResourceExt::name_any).collect();
        assert_eq!(now, before, "the workers while the control plane moves");
        for machine in &workers {
            let leaves = machine.metadata.deletion_timestamp.is_some();
            assert!(!leaves, "{} is given up already", machine.name_any());
            let kubelet = versions(machine).map(|versions| versions.kubelet);
            assert_eq!(kubelet.as_deref(), Some(old), "{}", machine.name_any());
        }
        None
    })
    .await;
}

/// Names of the control-plane Machines.
pub async fn control_planes(world: &World) -> BTreeSet<String> {
    let machines = world.list::<Machine>().await.into_iter();
    let planes = machines.filter(Machine::is_control_plane);
    planes.map(|machine| machine.name_any()).collect()
}

/// Three become one; the deployment says so.
async fn three_become_one(world: &World, page: &Page) {
    let begun = Instant::now();
    page.run_inline(LEAVES, "kubectl scale");
    rolled_out(world, DEPLOYMENT, 300).await;
    within("one control plane", 300, async || {
        (control_planes(world).await.len() == 1).then_some(())
    })
    .await;
    println!("three become one: {:?}", begun.elapsed());
}

/// Waits until a MachineDeployment says that its rollout is complete, and prints what it says on the way.
pub async fn rolled_out(world: &World, name: &str, seconds: u64) {
    let mut last = String::new();
    within("the end of the rollout", seconds, async || {
        let deployment = world
            .api::<MachineDeployment>()
            .get(name)
            .await
            .expect("it");
        let status = deployment.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == deployment.metadata.generation;
        let progressing = said(&status.conditions, "Progressing");
        if progressing != last {
            println!("{name}: {progressing}");
            last.clone_from(&progressing);
        }
        (is_seen && progressing.starts_with("True/Complete")).then_some(())
    })
    .await;
}

/// kube-proxy has the version of the control plane, and nothing is due any more.
async fn addons_follow(world: &World, new: &str) {
    within("kubeadm's addons", 300, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let due = cluster
            .annotations()
            .contains_key("tatara.dev/kubeadm-addons-due");
        let version = cluster.status.clone().unwrap_or_default().version;
        (!due && version.as_deref() == Some(new)).then_some(())
    })
    .await;
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let of = [
        "-n",
        "kube-system",
        "get",
        "daemonset",
        "kube-proxy",
        "-o",
        image,
    ];
    let image = world.member_kubectl().args(of).output().expect("kubectl");
    let image = String::from_utf8_lossy(&image.stdout).into_owned();
    assert!(image.ends_with(new), "{image}");
}

/// The template of before would be a step back: nothing is made, and the deployment says why.
async fn does_not_go_back(world: &World, old: &str) {
    let before = control_planes(world).await;
    let patch = json!({ "spec": { "template": { "spec": { "versions": { "kubelet": old, "controlPlane": old } } } } });
    let patch = patch.to_string();
    world.kubectl(&[
        "patch",
        "machinedeployment",
        DEPLOYMENT,
        "--type=merge",
        "-p",
        &patch,
    ]);
    within("the refusal", 60, async || {
        let deployment = world
            .api::<MachineDeployment>()
            .get(DEPLOYMENT)
            .await
            .expect("it");
        let status = deployment.status.unwrap_or_default();
        let progressing = said(&status.conditions, "Progressing");
        progressing.contains("does not go back").then_some(())
    })
    .await;
    assert_eq!(control_planes(world).await, before);
}
