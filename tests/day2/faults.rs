//! What goes wrong while control planes join and versions move: power cuts, managers that die, a management cluster that is
//! away, edits and deletions in mid-roll, an etcd without space. After each the cluster is what was asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tatara_core::api::Machine;
use tatara_core::kubeadm::CONTROL_PLANE_TAINT;

use crate::observed::{control_plane, etcd_is, is_at, machine, place, updating, writes};
use crate::page::Page;
use crate::requests::Requests;
use crate::support::etcd::{ETCDCTL, members};
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;
use crate::three::rolled_out;

const CONTROL_PLANES: [&str; 3] = ["quickstart-control-plane", "cp-2", "cp-3"];
const WORKERS: &str = "quickstart-workers";
/// `kubeadm upgrade node` reads what the host's own kubelet settings are.
const BREAKS_UPGRADE: &str =
    "cd /var/lib/kubelet; cp instance-config.yaml /root/; echo '{' >instance-config.yaml";
const MENDS_UPGRADE: &str = "cp /root/instance-config.yaml /var/lib/kubelet/";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn faults_while_control_planes_join_and_versions_move_cost_nothing() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::previous("faults", "10.113.0", 5).await;
    let page = Page::begin(&world);
    world.kubectl(&[
        "patch",
        "machinedeployment",
        WORKERS,
        "--type=merge",
        "-p",
        r#"{"spec":{"strategy":{"type":"InPlace","rollingUpdate":null}}}"#,
    ]);
    control_plane(&world, "cp-2", &old);
    world.until_ready(4, 300).await;
    a_host_that_joins_loses_its_power(&world, &old).await;
    etcd_has_no_space(&world, &page).await;
    let requests = Requests::begin(&world, "host-a");
    for name in CONTROL_PLANES {
        let versions = json!({ "spec": { "versions": { "kubelet": new, "controlPlane": new } } });
        world.kubectl(&[
            "patch",
            "machine",
            name,
            "--type=merge",
            "-p",
            &versions.to_string(),
        ]);
    }
    let first = a_manager_dies_at_each_step_of_an_upgrade(&world, &new).await;
    the_management_cluster_is_away_in_mid_upgrade(&world, &first, &new).await;
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    a_worker_loses_its_power_in_mid_update(&world, &new).await;
    a_template_is_set_back_in_mid_roll(&world, &new, &old).await;
    settings_change_in_mid_roll(&world, &new).await;
    both_clusters_are_slow_in_mid_roll(&world, &old).await;
    one_whose_update_fails_is_replaced(&world, &new).await;
    the_cluster_is_deleted_in_mid_roll(&world, &old).await;
    world.leave();
}

/// It is cut while etcd lists it, and does not count on it yet.
async fn a_host_that_joins_loses_its_power(world: &World, old: &str) {
    let first = world.host_of("quickstart-control-plane").await;
    control_plane(world, "cp-3", old);
    within("a member that does not vote yet", 120, async || {
        let listed = members(world, &first);
        listed.iter().any(|(_, votes)| !votes).then_some(())
    })
    .await;
    let (host, address) = place(world, "cp-3").await;
    world.fleet(&["kill", &host]);
    println!("power cut of {host}: {:?}", members(world, &first));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(writes(world), "two members of two vote, or two of three");
    world.fleet(&["start", &host, &address]);
    world.until_ready(5, 420).await;
    let voters = members(world, &first);
    assert_eq!(
        voters.iter().filter(|(_, votes)| *votes).count(),
        3,
        "{voters:?}"
    );
}

/// Each time that the Machine says something else. Its jobs run once all the same.
async fn a_manager_dies_at_each_step_of_an_upgrade(world: &World, new: &str) -> String {
    let mut deaths = BTreeSet::new();
    let mut name = None;
    within(
        "the first control plane in the new version",
        600,
        async || {
            if let Some((machine, says)) = updating(world).await {
                // the turn is passed on a moment before the first says that it is done
                if name.get_or_insert(machine.clone()) != &machine {
                    return Some(());
                }
                let step = says.lines().next().unwrap_or_default().to_owned();
                if deaths.insert(step) {
                    world.replace_manager().await;
                }
            }
            let first = machine(world, name.as_deref()?).await;
            is_at(&first, new).then_some(())
        },
    )
    .await;
    println!("the manager died at: {deaths:#?}");
    assert!(deaths.len() >= 4, "{deaths:?}");
    let name = name.expect("a Machine");
    within("the end of its update: one at a time", 10, async || {
        is_at(&machine(world, &name).await, new).then_some(())
    })
    .await;
    let host = world.host_of(&name).await;
    for job in ["upgrade", "kubelet"] {
        assert_eq!(world.starts(&host, job), 1, "{job} of {name}");
    }
    name
}

/// Away for half a minute while kubeadm upgrade runs, and workers are scaled down and up meanwhile.
async fn the_management_cluster_is_away_in_mid_upgrade(world: &World, first: &str, new: &str) {
    let second = within("the next kubeadm upgrade", 120, async || {
        let (name, says) = updating(world).await?;
        (name != first && says.contains("KubeadmUpgrade")).then_some(name)
    })
    .await;
    world.plane("down", &[]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    world.plane("up", &[]);
    if world.manager_ended() {
        println!("the manager ended with its lease");
    }
    world.quickstart("manager");
    for replicas in ["--replicas=1", "--replicas=2"] {
        world.kubectl(&["scale", &format!("machinedeployment/{WORKERS}"), replicas]);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    within("all control planes in the new version", 900, async || {
        for name in CONTROL_PLANES {
            is_at(&machine(world, name).await, new).then_some(())?;
        }
        Some(())
    })
    .await;
    let host = world.host_of(&second).await;
    assert_eq!(world.starts(&host, "upgrade"), 1, "{second}");
    world.until_ready(5, 300).await;
    let voters = members(world, "host-a");
    assert!(
        voters.len() == 3 && voters.iter().all(|(_, votes)| *votes),
        "{voters:?}"
    );
}

fn workers_want(world: &World, version: &str) {
    let patch =
        json!({ "spec": { "template": { "spec": { "versions": { "kubelet": version } } } } });
    let of = ["patch", "machinedeployment", WORKERS];
    world.kubectl(&[&of[..], &["--type=merge", "-p", &patch.to_string()]].concat());
}

async fn one_is_updated(world: &World) -> String {
    within("a worker that is updated", 120, async || {
        updating(world).await
    })
    .await
    .0
}

async fn workers(world: &World) -> Vec<Machine> {
    let mut machines = world.list::<Machine>().await;
    machines.retain(|machine| !machine.is_control_plane());
    machines
}

async fn all_workers_are_at(world: &World, version: &str) {
    rolled_out(world, WORKERS, 420).await;
    let workers = workers(world).await;
    assert_eq!(workers.len(), 2);
    for machine in workers {
        assert!(is_at(&machine, version), "{}", machine.name_any());
    }
}

/// The other one waits for it.
async fn a_worker_loses_its_power_in_mid_update(world: &World, new: &str) {
    workers_want(world, new);
    let name = one_is_updated(world).await;
    let (host, address) = place(world, &name).await;
    world.fleet(&["kill", &host]);
    tokio::time::sleep(Duration::from_mins(1)).await;
    for machine in workers(world).await {
        let says = world.machine_says(&machine.name_any(), "Updating").await;
        assert!(says.is_empty() || machine.name_any() == name, "{says}");
    }
    println!("{name}: {}", world.machine_says(&name, "UpToDate").await);
    world.fleet(&["start", &host, &address]);
    all_workers_are_at(world, new).await;
}

/// Workers may go back: what was begun ends first. Their number changes meanwhile.
async fn a_template_is_set_back_in_mid_roll(world: &World, new: &str, old: &str) {
    workers_want(world, old);
    one_is_updated(world).await;
    for replicas in ["--replicas=1", "--replicas=2"] {
        world.kubectl(&["scale", &format!("machinedeployment/{WORKERS}"), replicas]);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    workers_want(world, new);
    all_workers_are_at(world, new).await;
    workers_want(world, old);
    all_workers_are_at(world, old).await;
}

/// Both come to all workers, each is drained for that, and never two at once.
async fn settings_change_in_mid_roll(world: &World, new: &str) {
    let patch = r#"{"spec":{"providerSpec":{"value":{"kubeletConfiguration":{"maxPods":100}}}}}"#;
    world.kubectl(&[
        "patch",
        "cluster",
        "quickstart",
        "--type=merge",
        "-p",
        patch,
    ]);
    workers_want(world, new);
    let nodes: Api<Node> = Api::all(world.member().await);
    let mut drained = BTreeSet::new();
    within("version and settings on all workers", 600, async || {
        let all = nodes.list(&ListParams::default()).await.ok()?;
        // beside a control plane, which settings may drain at the same time
        let is_cordoned = |node: &&Node| {
            let spec = node.spec.as_ref();
            let is_worker = !node.labels().contains_key(CONTROL_PLANE_TAINT);
            is_worker && spec.is_some_and(|spec| spec.unschedulable == Some(true))
        };
        let cordoned: Vec<_> = all
            .iter()
            .filter(is_cordoned)
            .map(ResourceExt::name_any)
            .collect();
        assert!(cordoned.len() <= 1, "{cordoned:?}");
        drained.extend(cordoned);
        let takes = |node: &Node| {
            let capacity = node.status.as_ref()?.capacity.as_ref()?;
            capacity.get("pods").map(|pods| pods.0.clone())
        };
        let follow = all.iter().all(|node| takes(node).as_deref() == Some("100"));
        let machines = world.list::<Machine>().await;
        (follow && machines.iter().all(|machine| is_at(machine, new))).then_some(())
    })
    .await;
    assert_eq!(drained.len(), 2, "{drained:?}");
}

/// First the management cluster, then the one that is updated answers nothing for 5 s, again and again, from the first step on.
async fn both_clusters_are_slow_in_mid_roll(world: &World, version: &str) {
    workers_want(world, version);
    one_is_updated(world).await;
    let host = world.host_of("quickstart-control-plane").await;
    let silent = "pkill -STOP -x kube-apiserver; sleep 5; pkill -CONT -x kube-apiserver";
    for _ in 0..5 {
        world.plane("pause-etcd", &["5"]);
        world.shell(&host, silent);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    if world.manager_ended() {
        println!("the manager ended with its lease");
        world.quickstart("manager");
    }
    all_workers_are_at(world, version).await;
}

/// Its update fails, and no other begins; the Machine is deleted, and another one is made instead.
async fn one_whose_update_fails_is_replaced(world: &World, version: &str) {
    let mut hosts = Vec::new();
    for machine in workers(world).await {
        hosts.push(place(world, &machine.name_any()).await.0);
    }
    for host in &hosts {
        world.shell(host, BREAKS_UPGRADE);
    }
    workers_want(world, version);
    let name = within("an update that fails", 180, async || {
        let (name, says) = updating(world).await?;
        says.starts_with("True/UpdateFailed").then_some(name)
    })
    .await;
    println!("{name}: {}", world.machine_says(&name, "Updating").await);
    for machine in workers(world).await {
        let says = world.machine_says(&machine.name_any(), "Updating").await;
        assert!(says.is_empty() || machine.name_any() == name, "{says}");
    }
    let host = world.host_of(&name).await;
    let machines: Api<Machine> = world.api();
    let deleted = machines.delete(&name, &DeleteParams::background()).await;
    deleted.expect("a deletion");
    within("its end", 180, async || {
        machines
            .get_opt(&name)
            .await
            .expect("an answer")
            .is_none()
            .then_some(())
    })
    .await;
    hosts.retain(|other| *other != host);
    for host in &hosts {
        world.shell(host, MENDS_UPGRADE);
    }
    all_workers_are_at(world, version).await;
}

/// The alarm is raised through etcd's API; the commands of the page end it.
async fn etcd_has_no_space(world: &World, page: &Page) {
    let raise = format!(
        "id=$({ETCDCTL} endpoint status -w json | grep -o '\"member_id\":[0-9]*' | cut -d: -f2)
        cd /etc/kubernetes/pki/etcd
        curl -sf --cacert ca.crt --cert healthcheck-client.crt --key healthcheck-client.key \\
          https://127.0.0.1:2379/v3/maintenance/alarm \\
          -d '{{\"action\":\"ACTIVATE\",\"alarm\":\"NOSPACE\",\"memberID\":\"'$id'\"}}'"
    );
    world.shell("host-a", &raise);
    etcd_is(world, "False/EtcdNoSpace").await;
    assert!(!writes(world), "it takes no writes");
    let commands = [
        page.block("Asking etcd", 0),
        page.block("An etcd without space", 0),
    ];
    println!(
        "{}",
        world.shell("host-a", &format!("set -e\n{}", commands.join("\n")))
    );
    etcd_is(world, "True/MembersHealthy").await;
    assert!(writes(world), "it takes writes again");
}

async fn the_cluster_is_deleted_in_mid_roll(world: &World, version: &str) {
    let verbose = r#"{"spec":{"providerSpec":{"value":{"kubeadm":{"clusterConfiguration":{"apiServer":{"extraArgs":[{"name":"v","value":"3"}]}}}}}}}"#;
    world.kubectl(&[
        "patch",
        "cluster",
        "quickstart",
        "--type=merge",
        "-p",
        verbose,
    ]);
    workers_want(world, version);
    one_is_updated(world).await;
    the_cluster_is_deleted_while_kubeadm_runs(world).await;
}

/// Of five hosts, as a control plane is about to follow what was edited. kubeadm would wait there for etcds that are reset beside it.
pub async fn the_cluster_is_deleted_while_kubeadm_runs(world: &World) {
    within("kubeadm on a control plane", 300, async || {
        let jobs = "systemctl is-active 'tatara-*-upgrade.service' || true";
        let runs = |host: &&str| {
            world
                .shell(host, jobs)
                .lines()
                .any(|state| state == "active")
        };
        ["host-a", "host-b", "host-c", "host-d", "host-e"]
            .iter()
            .any(|host| {
                let is_control_plane = "test ! -e /etc/kubernetes/manifests/etcd.yaml || echo yes";
                !world.shell(host, is_control_plane).is_empty() && runs(host)
            })
            .then_some(())
    })
    .await;
    world.kubectl(&["delete", "cluster", "quickstart", "--wait=false"]);
    within("all hosts to be Available", 300, async || {
        (world.available().await.len() == 5).then_some(())
    })
    .await;
}
