//! The management cluster is restored from a backup while its control planes follow new settings, at five moments of that; then
//! a control-plane Machine is deleted. Nothing of the update is known any more, and the jobs on the hosts run on.
//!
//! The settings come by the jobs by which another version comes (kubeadm upgrade, then the kubelet), with the turn of the Cluster
//! and with a drain. No version moves here.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Machine};

use crate::faults::the_cluster_is_deleted_while_kubeadm_runs;
use crate::observed::{control_plane, etcd_is, updating, writes};
use crate::requests::Requests;
use crate::support::backup::{backup, restore};
use crate::support::conditions::{is_true, said};
use crate::support::etcd::{ETCDCTL, members, with_longer_timeouts};
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

/// Hosts of the quickstart that are for control planes.
const HOSTS: [&str; 3] = ["host-a", "host-d", "host-e"];
const WORKER: &str = "host-b";
/// Jobs that change the control plane of their host, or stop it for a while.
const CHANGES: [&str; 3] = ["join", "upgrade", "kubelet"];
/// A program before `timeout`, through which each step runs on a host: a step waits while a file has the name of its unit.
const GATE: &str = r#"#!/bin/bash
case ${!#} in
  /var/lib/tatara/machines/*) unit=${!#}; unit=${unit%/*}
    while [[ -e /var/lib/held/${unit##*/} ]]; do sleep 0.1; done ;;
esac
exec /usr/bin/timeout "$@"
"#;
/// The one that changes the static pods.
const KUBEADM: &str = "^kubeadm upgrade node phase control-plane";

/// When the backup is restored, as the first control plane follows the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// It has the turn, and kubeadm has not run.
    Before,
    /// kubeadm changes the static pods.
    InKubeadm,
    /// It has, and the kubelet is as it was.
    AfterKubeadm,
    /// The kubelet has started anew, and the Node takes no pods.
    AfterKubelet,
    /// All nodes have the settings.
    AfterEnd,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_backup_restored_while_control_planes_follow_settings_costs_no_member_and_no_request() {
    let world = World::prepared_with("restore", "10.121.0", 5).await;
    with_longer_timeouts(&world);
    for host in HOSTS {
        let gate = format!(
            "cat >/usr/local/sbin/timeout <<'EOF'\n{GATE}EOF\nchmod 755 /usr/local/sbin/timeout"
        );
        world.shell(host, &format!("{gate}; mkdir -p /var/lib/held"));
    }
    world.quickstart("apply");
    world.until_ready(3, 300).await;
    world.quickstart("member");
    for name in ["cp-1", "cp-2"] {
        control_plane(&world, name, &pinned("KUBERNETES"));
    }
    world.until_ready(5, 420).await;
    let requests = Requests::begin(&world, WORKER);
    // when, and whether the Machine is deleted that follows the settings, or another one
    let restorations = [
        (Moment::Before, false),
        (Moment::InKubeadm, false),
        (Moment::InKubeadm, true),
        (Moment::AfterKubeadm, false),
        (Moment::AfterKubelet, false),
        (Moment::AfterEnd, false),
    ];
    for (at, (moment, is_own)) in restorations.into_iter().enumerate() {
        restored(&world, at, moment, is_own).await;
    }
    // whoever applied the settings applies them again
    edit(&world, restorations.len() - 1);
    all_follow(&world, restorations.len() - 1).await;
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    edit(&world, restorations.len());
    the_cluster_is_deleted_while_kubeadm_runs(&world).await;
    world.leave();
}

async fn restored(world: &World, at: usize, moment: Moment, is_own: bool) {
    println!("{moment:?}, own: {is_own}");
    backup(world).await;
    let first = interrupted(world, at, moment).await;
    let host = world.host_of(&first).await;
    let mut others = control_planes(world).await;
    others.remove(&first);
    restore(world).await;
    let before = counts(world, &host);
    let jobs = jobs(world);
    println!("restored; of {first} on {host}, jobs: {jobs:?}");
    let (victim, its_host) = if is_own {
        (first.clone(), host.clone())
    } else {
        others.into_iter().next().expect("another control plane")
    };
    let resets = world.starts(&its_host, "reset");
    let machines = world.api::<Machine>();
    let deleted = machines.delete(&victim, &DeleteParams::background()).await;
    deleted.expect("a deletion");
    if !jobs.is_empty() {
        let other = HOSTS.into_iter().find(|one| *one != host);
        for _ in 0..5 {
            nobody_else_changes(world).await;
            let listed = listed(world, other.expect("another host")).await;
            assert_eq!(listed.len(), 3, "{listed:?}");
            assert_eq!(counts(world, &host), before, "on {host}, where a job runs");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        let says = world.machine_says(&victim, "Deleting").await;
        println!("{victim}: {says}");
    }
    go_on(world, &host);
    within("the end of the Machine that is deleted", 600, async || {
        nobody_else_changes(world).await;
        let found = machines.get_opt(&victim).await.expect("an answer");
        found.is_none().then_some(())
    })
    .await;
    control_plane(world, &format!("cp-{}", at + 3), &pinned("KUBERNETES"));
    world.until_ready(5, 420).await;
    assert_eq!(world.starts(&its_host, "reset"), resets + 1, "{its_host}");
    etcd_is(world, "True/MembersHealthy").await;
    let listed = listed(world, HOSTS[0]).await;
    let voters = listed.iter().filter(|(_, votes)| *votes).count();
    assert_eq!((listed.len(), voters), (3, 3), "{listed:?}");
    assert!(writes(world));
    within("Nodes that take pods", 180, async || {
        nodes(world).await.iter().all(takes_pods).then_some(())
    })
    .await;
}

/// The first control plane that follows the settings, at that moment. What waits there is let go by [`go_on`]; the manager may
/// have ended.
async fn interrupted(world: &World, at: usize, moment: Moment) -> String {
    let held = match moment {
        Moment::Before => Some("upgrade"),
        Moment::AfterKubelet => Some("kubelet"),
        Moment::InKubeadm | Moment::AfterKubeadm | Moment::AfterEnd => None,
    };
    for host in HOSTS {
        world.shell(
            host,
            &format!("touch /var/lib/held/{}", held.unwrap_or("none")),
        );
    }
    edit(world, at);
    let first = within("the turn of one", 180, async || turn(world).await).await;
    if moment == Moment::Before {
        world.kill_manager().await;
    }
    let host = world.host_of(&first).await;
    match moment {
        Moment::Before => (),
        Moment::InKubeadm | Moment::AfterKubeadm => {
            within("kubeadm", 180, async || {
                let stop = format!("pkill -STOP -f '{KUBEADM}' && echo stopped || true");
                (!world.shell(&host, &stop).is_empty()).then_some(())
            })
            .await;
            if moment == Moment::AfterKubeadm {
                world.kill_manager().await;
                go_on(world, &host);
                until_nothing_runs(world, &host).await;
            }
        }
        Moment::AfterKubelet => {
            within("a kubelet that is replaced", 240, async || {
                let jobs = jobs(world);
                let is_kubelet = |job: &String| job == "kubelet";
                jobs.get(host.as_str())
                    .is_some_and(|of| of.iter().any(is_kubelet))
                    .then_some(())
            })
            .await;
            world.kill_manager().await;
            go_on(world, &host);
            until_nothing_runs(world, &host).await;
            let cordoned = nodes(world)
                .await
                .into_iter()
                .filter(|node| !takes_pods(node));
            let cordoned: Vec<_> = cordoned.map(|node| node.name_any()).collect();
            assert_eq!(cordoned, [host.as_str()]);
        }
        Moment::AfterEnd => all_follow(world, at).await,
    }
    first
}

/// Lets go on what waits, or was stopped, on this host; nothing waits on another.
fn go_on(world: &World, host: &str) {
    for held in HOSTS {
        world.shell(held, "rm -f /var/lib/held/*");
    }
    world.shell(host, &format!("pkill -CONT -f '{KUBEADM}' || true"));
}

async fn until_nothing_runs(world: &World, host: &str) {
    within("the end of the job", 300, async || {
        (!jobs(world).contains_key(host)).then_some(())
    })
    .await;
}

/// The jobs that run on the hosts of control planes, by host.
fn jobs(world: &World) -> BTreeMap<&'static str, Vec<String>> {
    let list =
        "systemctl list-units --plain --no-legend --state=active,activating 'tatara-*.service'";
    let on = |host: &'static str| {
        let units = world.shell(host, list);
        let names = units.lines().filter_map(|line| {
            let unit = line.split_whitespace().next()?.strip_suffix(".service")?;
            let (_, job) = unit.rsplit_once('-')?;
            CHANGES.contains(&job).then(|| job.to_owned())
        });
        (host, names.collect::<Vec<_>>())
    };
    let all = HOSTS.into_iter().map(on);
    all.filter(|(_, jobs)| !jobs.is_empty()).collect()
}

/// While a job runs on the host of a control plane, none runs on another, and no other Machine has the turn.
async fn nobody_else_changes(world: &World) {
    let before = jobs(world);
    let turn = turn(world).await;
    let after = jobs(world);
    let both: Vec<_> = before
        .iter()
        .filter(|(host, jobs)| after.get(*host) == Some(jobs))
        .collect();
    assert!(both.len() <= 1, "{both:?}");
    let planes = control_planes(world).await;
    if let (Some((host, jobs)), Some(turn)) = (both.first(), turn) {
        let of = planes.get(&turn).map(String::as_str);
        assert_eq!(of, Some(**host), "{jobs:?} on {host}, turn of {turn}");
    }
}

/// Members of etcd, as one of them lists them once it has a leader.
async fn listed(world: &World, host: &str) -> Vec<(String, bool)> {
    within("a leader", 120, async || {
        let list = format!("{ETCDCTL} member list >/dev/null 2>&1 && echo lists || true");
        (world.shell(host, &list) == "lists").then(|| members(world, host))
    })
    .await
}

/// How often the host has let go of the virtual IP, and was reset.
fn counts(world: &World, host: &str) -> [usize; 2] {
    ["address", "reset"].map(|unit| world.starts(host, unit))
}

/// Control-plane Machines and their hosts.
async fn control_planes(world: &World) -> BTreeMap<String, String> {
    let mut machines = world.list::<Machine>().await;
    machines.retain(Machine::is_control_plane);
    let host = |machine: &Machine| Some((machine.name_any(), machine.status.clone()?.host?));
    machines.iter().filter_map(host).collect()
}

/// The Machine that has the turn of the Cluster.
async fn turn(world: &World) -> Option<String> {
    let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
    let turn = cluster.annotations().get("tatara.dev/control-plane-turn")?;
    let turn: Value = serde_json::from_str(turn).expect("a turn");
    (turn["action"] != "init").then(|| turn["name"].as_str().expect("a name").to_owned())
}

/// Settings of the kubelet and of the API server that were not there before.
fn edit(world: &World, at: usize) {
    let seconds = (301 + at).to_string();
    let arguments = json!([{ "name": "default-not-ready-toleration-seconds", "value": seconds }]);
    let value = json!({
        "kubeletConfiguration": { "maxPods": 101 + at },
        "kubeadm": { "clusterConfiguration": { "apiServer": { "extraArgs": arguments } } },
    });
    let patch = json!({ "spec": { "providerSpec": { "value": value } } }).to_string();
    let of = ["patch", "cluster", "quickstart", "--type=merge"];
    world.kubectl(&[&of[..], &["-p", &patch]].concat());
}

async fn nodes(world: &World) -> Vec<Node> {
    let nodes: Api<Node> = Api::all(world.member().await);
    let listed = nodes.list(&ListParams::default()).await;
    listed.map(|list| list.items).unwrap_or_default()
}

fn takes_pods(node: &Node) -> bool {
    let spec = node.spec.as_ref();
    spec.is_none_or(|spec| spec.unschedulable != Some(true))
}

/// Every node has the settings, and every Machine says so.
async fn all_follow(world: &World, at: usize) {
    let pods = (101 + at).to_string();
    let has = |node: &Node| {
        let status = node.status.as_ref();
        let capacity = status.and_then(|status| status.capacity.as_ref());
        capacity.is_some_and(|all| all.get("pods").is_some_and(|is| is.0 == pods))
            && takes_pods(node)
    };
    let is_settled = |machine: &Machine| {
        let status = machine.status.clone().unwrap_or_default();
        is_true(&status.conditions, "UpToDate") && is_true(&status.conditions, "Ready")
    };
    let mut last = None;
    within("the settings on all nodes", 900, async || {
        let now = updating(world).await;
        if now != last {
            println!("updating: {now:?}");
            last.clone_from(&now);
        }
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let conditions = cluster.status.unwrap_or_default().conditions;
        let machines = world.list::<Machine>().await;
        let nodes = nodes(world).await;
        (said(&conditions, "SettingsApplied").starts_with("True/")
            && machines.iter().all(is_settled)
            && nodes.len() == 5
            && nodes.iter().all(has))
        .then_some(())
    })
    .await;
    for host in HOSTS {
        let manifest = world.shell(host, "cat /etc/kubernetes/manifests/kube-apiserver.yaml");
        let argument = format!("--default-not-ready-toleration-seconds={}", 301 + at);
        assert!(manifest.contains(&argument), "{host}: {manifest}");
    }
}
