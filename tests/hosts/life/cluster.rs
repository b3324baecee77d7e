//! The quickstart's cluster from its birth to its end.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::PostParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tatara_core::api::{
    Cluster, ClusterProfile, Host, Machine, MachineClass, MachineDeployment, MachineSet,
};

use super::{install, secrets};
use crate::support::audit::{MANAGER, Mark};
use crate::support::canaries::CommandLines;
use crate::support::commands::done;
use crate::support::wait::within;
use crate::support::world::{World, root};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn a_cluster_is_made_kept_scaled_and_deleted_and_its_hosts_come_back() {
    let world = World::with_cluster("life1", "10.91.0").await;
    still(&world.audit()).await;
    run_again_it_changes_nothing(&world).await;
    what_is_shown_next_can_be_run(&world);
    restarted_the_manager_writes_nothing(&world).await;
    idle_it_asks_nothing(&world).await;
    install::runs_in_a_cluster(&world).await;
    let seen = CommandLines::watch();
    a_budget_holds_a_drain_and_is_named(&world).await;
    // scaled by then: what was edited since stays as it is
    still(&world.audit()).await;
    run_again_it_changes_nothing(&world).await;
    the_freed_host_is_taken_again(&world).await;
    secrets::are_in_their_secrets_only(&world, seen).await;
    deleted_the_profile_goes_first_and_every_host_comes_back(&world).await;
    world.leave();
}

/// Versions of everything that the quickstart has in its namespace.
async fn versions(world: &World) -> BTreeMap<String, String> {
    async fn of<K>(world: &World, all: &mut BTreeMap<String, String>)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + DeserializeOwned,
    {
        for object in world.list::<K>().await {
            let version = object.resource_version().unwrap_or_default();
            all.insert(format!("{}/{}", K::kind(&()), object.name_any()), version);
        }
    }
    let mut all = BTreeMap::new();
    of::<Cluster>(world, &mut all).await;
    of::<ClusterProfile>(world, &mut all).await;
    of::<Machine>(world, &mut all).await;
    of::<MachineSet>(world, &mut all).await;
    of::<MachineDeployment>(world, &mut all).await;
    of::<MachineClass>(world, &mut all).await;
    // their disks are those of all tests: how much is free on them is news at any time
    for host in world.list::<Host>().await {
        let said = host
            .status
            .as_ref()
            .map(|status| (&status.state, &status.conditions));
        let seen = format!("{:?} {said:?}", host.metadata.generation);
        all.insert(format!("Host/{}", host.name_any()), seen);
    }
    of::<Secret>(world, &mut all).await;
    of::<ConfigMap>(world, &mut all).await;
    all
}

async fn run_again_it_changes_nothing(world: &World) {
    let before = versions(world).await;
    world.quickstart("up");
    assert_eq!(versions(world).await, before);
}

/// Lines of a text that are shell commands, by their first word.
fn commands<'a>(text: &'a str, first: &[&str]) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| {
            let word = line.split(' ').next().unwrap_or_default();
            first.contains(&word)
        })
        .collect()
}

/// The commands at the quickstart's end and those of the README for afterwards, with no `PATH` but the one they show.
/// Scaling and deleting come later in this test.
fn what_is_shown_next_can_be_run(world: &World) {
    let printed = world.quickstart("up");
    let (_, printed) = printed.split_once("Try next:").expect("what to try next");
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let (_, section) = readme
        .split_once("## After the quickstart")
        .expect("a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut lines = commands(printed, &["export", "kubectl"]);
    lines.extend(commands(section, &["kubectl", "tatara", "source"]));
    lines.retain(|line| !line.contains(" scale ") && !line.contains(" delete "));
    assert!(lines.len() >= 7, "{lines:#?}");
    for (at, line) in lines.iter().enumerate().skip(1) {
        let mut shell = Command::new("bash");
        shell.args(["-ec", &format!("{}\n{line}", lines[0])]);
        shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let said = done(&mut shell);
        println!("{at}: {line}\n{said}");
    }
}

async fn restarted_the_manager_writes_nothing(world: &World) {
    let before = versions(world).await;
    let mark = world.audit();
    world.signal_manager("-TERM");
    within("the end of the manager", 15, async || {
        world.manager_ended().then_some(())
    })
    .await;
    world.quickstart("manager");
    // it has looked at everything once its watches have been answered and it is quiet
    quiet(&mark).await;
    let writes: Vec<_> = mark.requests_of(MANAGER);
    let writes: Vec<_> = writes.iter().filter(|r| r.is_write()).collect();
    assert!(writes.is_empty(), "{writes:#?}");
    assert_eq!(versions(world).await, before);
}

/// Until the manager has listed what it watches, and then has asked nothing for so long. (That a
/// watch of its predecessor ended is logged as well: only a list is the new one's.)
async fn quiet(mark: &Mark) {
    within("the lists of the restarted manager", 30, async || {
        let requests = mark.requests_of(MANAGER);
        requests
            .iter()
            .any(|r| r.verb == "list" && r.object_ref.resource == "hosts")
            .then_some(())
    })
    .await;
    still(mark).await;
}

/// For longer than a status is held back.
const QUIET: Duration = Duration::from_secs(17);

/// Until the manager has asked nothing for that long.
async fn still(mark: &Mark) {
    within("quiet", 120, async || {
        let count = asked(mark);
        tokio::time::sleep(QUIET).await;
        (asked(mark) == count).then_some(())
    })
    .await;
}

fn asked(mark: &Mark) -> usize {
    mark.requests_of(MANAGER).len()
}

async fn idle_it_asks_nothing(world: &World) {
    let mark = world.audit();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let requests = mark.requests_of(MANAGER);
    let asked: Vec<_> = requests
        .iter()
        .filter(|r| r.is_write() || r.verb == "list")
        .collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

/// A pod behind a budget that allows no disruption, on each worker.
async fn guard_workers(member: &Client) {
    let pods = json!({"metadata": {"name": "guarded"}, "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "guarded"}},
        "template": {
            "metadata": {"labels": {"app": "guarded"}},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "topologySpreadConstraints": [{
                    "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "guarded"}}, "nodeTaintsPolicy": "Honor"}],
                "containers": [{"name": "sleep", "image": "localhost/tools:1", "imagePullPolicy": "Never",
                    "command": ["sleep", "100000"]}]}}}});
    let budget = json!({"metadata": {"name": "guarded"}, "spec": {
        "maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}}});
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(member.clone(), "default");
    let pods = serde_json::from_value(pods).expect("a Deployment");
    deployments
        .create(&PostParams::default(), &pods)
        .await
        .expect("a new Deployment");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(member.clone(), "default");
    let budget = serde_json::from_value(budget).expect("a budget");
    budgets
        .create(&PostParams::default(), &budget)
        .await
        .expect("a new budget");
    within("both guarded pods", 60, async || {
        let guarded = deployments.get("guarded").await.expect("an answer");
        (guarded.status?.ready_replicas == Some(2)).then_some(())
    })
    .await;
}

async fn a_budget_holds_a_drain_and_is_named(world: &World) {
    let member = world.member().await;
    guard_workers(&member).await;
    scale(world, 1);
    let said = within("a reason that names the budget", 60, async || {
        for machine in world.list::<Machine>().await {
            let said = world.machine_says(&machine.name_any(), "Deleting").await;
            if said.contains("PodDisruptionBudget") {
                return Some(said);
            }
        }
        None
    })
    .await;
    assert!(said.contains("default/guarded"), "{said}");
    assert!(
        !said.contains("flannel") && !said.contains("kube-proxy"),
        "{said}"
    );
    let nodes: Api<Node> = Api::all(member.clone());
    let all = nodes.list(&Default::default()).await.expect("Nodes");
    let cordoned = all.iter().filter(|node| {
        node.spec
            .as_ref()
            .is_some_and(|spec| spec.unschedulable == Some(true))
    });
    assert_eq!(cordoned.count(), 1);
    assert!(world.available().await.is_empty());

    let budgets: Api<PodDisruptionBudget> = Api::namespaced(member.clone(), "default");
    budgets
        .delete("guarded", &Default::default())
        .await
        .expect("an answer");
    within("a free host", 120, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let left = within("the Node's end", 30, async || {
        let all = nodes.list(&Default::default()).await.expect("Nodes");
        (all.items.len() == 2).then_some(all)
    })
    .await;
    assert!(left.iter().all(|node| {
        node.spec
            .as_ref()
            .is_some_and(|spec| spec.unschedulable != Some(true))
    }));
}

async fn the_freed_host_is_taken_again(world: &World) {
    scale(world, 2);
    within("two workers that are Ready", 180, async || {
        let machines = world.list::<Machine>().await;
        let mut ready = 0;
        for machine in &machines {
            let said = world.machine_says(&machine.name_any(), "Ready").await;
            ready += usize::from(said.starts_with("True/"));
        }
        (machines.len() == 3 && ready == 3).then_some(())
    })
    .await;
    assert!(world.available().await.is_empty());
}

async fn deleted_the_profile_goes_first_and_every_host_comes_back(world: &World) {
    let mark = world.audit();
    world.kubectl(&["delete", "cluster", "quickstart", "--wait=false"]);
    within("the end of the cluster", 240, async || {
        let cluster = world.api::<Cluster>().get_opt("quickstart").await;
        cluster.expect("an answer").is_none().then_some(())
    })
    .await;
    let requests = mark.requests_of(MANAGER);
    let at = |resource: &str| {
        let mut deletions = requests.iter().filter(|r| r.verb == "delete");
        deletions.position(|r| r.object_ref.resource == resource)
    };
    assert_eq!(at("clusterprofiles"), Some(0), "{requests:#?}");
    assert_eq!(world.list::<ClusterProfile>().await.len(), 0);
    assert_eq!(world.list::<Machine>().await.len(), 0);
    within("three hosts that are Available", 120, async || {
        (world.available().await.len() == 3).then_some(())
    })
    .await;
    for host in ["host-a", "host-b", "host-c"] {
        let left = world.shell(host, "ls -A /var/lib/tatara /etc/kubernetes /var/lib/etcd /etc/cni/net.d 2>/dev/null; ip -br link | grep -E 'cni0|flannel|kube' || true; nft list ruleset | grep -E 'KUBE-|CNI-|FLANNEL-' || true");
        assert!(
            !left.contains("owner.json") && !left.contains("KUBE-") && !left.contains("cni0"),
            "{host}: {left}"
        );
    }
}
