//! A worker dies with a pod whose budget allows no eviction: its BMC proves that it is off, or a person answers for that.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tatara_core::api::{Host, Machine};

use super::bmc::{is_on, machine_on, one_node_per_machine, resets, until_host_says};
use super::claims::{follow, machine_says};
use crate::support::bmc::SimulatedBmc;
use crate::support::wait::within;
use crate::support::world::World;

const HOST: &str = "host-c";
const NAME: &str = "guarded";
/// What a drain says that it holds.
const BLOCKED: &str = "is blocked by PodDisruptionBudget default/guarded (0 disruptions allowed)";

/// Twice a worker dies, with a BMC and without. At the end there are two workers again, and nothing of this is left.
pub async fn does_not_hold_a_dead_host(world: &World, bmc: &SimulatedBmc) {
    let member = world.member().await;
    guard(&member).await;
    its_bmc_proves_that_it_is_off(world, &member, bmc).await;
    take_again(world).await;
    a_person_answers_for_it(world, &member).await;
    take_again(world).await;
    unguard(&member).await;
}

/// A pod that only this host takes, and that nothing else deletes while its Node does not answer. Its budget asks for more
/// than there is: one that asks for this pod alone lets it be evicted in the moment in which it is not ready any more and the
/// budget's status does not say so yet (`unhealthyPodEvictionPolicy: IfHealthyBudget`).
async fn guard(member: &Client) {
    let labels = json!({"app": NAME});
    let tolerated = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute"});
    let deployment = json!({"metadata": {"name": NAME}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "terminationGracePeriodSeconds": 1,
            "nodeSelector": {"kubernetes.io/hostname": HOST},
            "tolerations": [tolerated("node.kubernetes.io/unreachable"), tolerated("node.kubernetes.io/not-ready")],
            "containers": [{"name": "sleep", "image": "localhost/tools:1", "imagePullPolicy": "Never",
                "command": ["sleep", "100000"]}]}}}});
    let budget = json!({"metadata": {"name": NAME}, "spec": {
        "minAvailable": 2, "selector": {"matchLabels": labels}}});
    let deployments: Api<Deployment> = Api::namespaced(member.clone(), "default");
    let deployment = serde_json::from_value(deployment).expect("a Deployment");
    let new = PostParams::default();
    let created = deployments.create(&new, &deployment).await;
    created.expect("a new Deployment");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(member.clone(), "default");
    let budget = serde_json::from_value(budget).expect("a budget");
    let created = budgets.create(&new, &budget).await;
    created.expect("a new budget");
}

/// What is left of it would hold the drains that follow.
async fn unguard(member: &Client) {
    let deployments: Api<Deployment> = Api::namespaced(member.clone(), "default");
    let deleted = deployments.delete(NAME, &Default::default()).await;
    deleted.expect("an answer");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(member.clone(), "default");
    let deleted = budgets.delete(NAME, &Default::default()).await;
    deleted.expect("an answer");
    within("the end of the pods", 60, async || {
        pods(member).await.is_empty().then_some(())
    })
    .await;
}

async fn pods(member: &Client) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(member.clone(), "default");
    let these = ListParams::default().labels(&format!("app={NAME}"));
    pods.list(&these).await.expect("pods").items
}

/// The pod, which runs on the host.
async fn running(member: &Client) -> Pod {
    within("the pod on its host", 120, async || {
        pods(member).await.into_iter().find(|pod| {
            let status = pod.status.as_ref();
            let conditions = status.and_then(|status| status.conditions.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            pod.metadata.deletion_timestamp.is_none()
                && conditions.any(|of| of.type_ == "Ready" && of.status == "True")
        })
    })
    .await
}

/// Whether the API server was asked to delete it.
async fn is_deleted(member: &Client, pod: &Pod) -> bool {
    let pods = pods(member).await;
    let found = pods.iter().find(|found| found.uid() == pod.uid());
    found.is_none_or(|found| found.metadata.deletion_timestamp.is_some())
}

/// Deletes its Machine, with a place less in the pool: another Machine on the host would bring its Node back under the same
/// name before Kubernetes deletes the pods of the one that is gone.
async fn let_go(world: &World) -> String {
    let machine = machine_on(world, HOST).await;
    let first = "cluster.k8s.io/delete-machine=true";
    world.kubectl(&["annotate", &format!("machine/{machine}"), first]);
    scale(world, 1);
    machine
}

async fn take_again(world: &World) {
    scale(world, 2);
    world.until_ready(3, 600).await;
    one_node_per_machine(world).await;
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

/// The cable is pulled, so its pods run on: they are deleted once its power is cut.
async fn its_bmc_proves_that_it_is_off(world: &World, member: &Client, bmc: &SimulatedBmc) {
    let pod = running(member).await;
    let before = resets(bmc);
    world.fleet(&["cut", HOST]);
    let machine = let_go(world).await;

    let said = machine_says(world, &machine, "Deleting", BLOCKED).await;
    eprintln!("first: {said}");
    assert!(said.contains(&pod.name_any()), "{said}");
    let said = machine_says(world, &machine, "Draining", "PodsUnconfirmed").await;
    eprintln!("then: {said}");
    for part in [
        "PodDisruptionBudgets are not waited for",
        "deleted with the Node, once that is proven",
        &pod.name_any(),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let is_off = within("the end of the pod", 240, async || {
        // read before the power, which comes back when the Machine is over
        let is_deleted = is_deleted(member, &pod).await;
        is_deleted.then(|| resets(bmc) > before)
    })
    .await;
    assert!(is_off, "the pod was deleted before the power was cut");
    until_gone(world, &machine).await;
    let fenced = "jsonpath={.items[?(@.reason==\"HostFenced\")].involvedObject.name}";
    let fenced = world.kubectl(&["get", "events", "-o", fenced]);
    assert!(fenced.split(' ').any(|of| of == machine), "{fenced}");
    still_allows_none(member).await;
    until_host_says(world, HOST, "Available", "True/", 180).await;
    assert!(is_on(world, HOST));
}

/// Without a BMC the Machine, its Node and the pod wait for a person, who says twice what may be done.
async fn a_person_answers_for_it(world: &World, member: &Client) {
    let pod = running(member).await;
    let host = world.api::<Host>().get(HOST).await.expect("a Host");
    let bmc = json!({"spec": {"bmc": host.spec.bmc}}).to_string();
    let change =
        |change: &str| world.kubectl(&["patch", "host", HOST, "--type=merge", "-p", change]);
    change(r#"{"spec":{"bmc":null}}"#);
    world.fleet(&["kill", HOST]);
    let machine = let_go(world).await;

    machine_says(world, &machine, "Deleting", BLOCKED).await;
    let unproven = "nothing proves that its pods have ended, so this may never end";
    let said = machine_says(world, &machine, "Deleting", unproven).await;
    eprintln!("without a BMC: {said}");
    assert!(said.contains(BLOCKED), "{said}");
    // longer than a BMC would have been waited for
    for _ in 0..45 {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let said = world.machine_says(&machine, "Deleting").await;
        assert!(said.contains(BLOCKED), "{said}");
    }
    assert!(!is_deleted(member, &pod).await);
    assert_eq!(consumer(world).await, (machine.clone(), false));

    // a drain can be given up; that the machine is off is another thing
    let said = world.machine_says(&machine, "Deleting").await;
    let (_, command) = said.rsplit_once("kubectl ").expect("a command");
    world.kubectl(&command.split(' ').collect::<Vec<_>>());
    let said = machine_says(world, &machine, "Deleting", "HostUnreachable").await;
    eprintln!("then: {said}");
    for part in [
        "may still run its pods",
        "and Node host-c is kept",
        "Power it on",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    one_node_per_machine(world).await;
    assert!(!is_deleted(member, &pod).await);
    let (_, command) = said
        .rsplit_once("Only if it is off for good: ")
        .expect("a command");
    follow(world, command);
    until_gone(world, &machine).await;
    within("the end of the pod", 120, async || {
        is_deleted(member, &pod).await.then_some(())
    })
    .await;
    still_allows_none(member).await;

    // nobody has it before it was reset
    assert_eq!(consumer(world).await, (machine, true));
    world.fleet(&["start", HOST]);
    until_host_says(world, HOST, "Available", "True/", 180).await;
    change(&bmc);
}

/// Which Machine has the host, and whether it has let go of it.
async fn consumer(world: &World) -> (String, bool) {
    let host = world.api::<Host>().get(HOST).await.expect("a Host");
    let consumer = host.spec.consumer_ref.expect("a claim");
    (consumer.name, consumer.releasing)
}

async fn until_gone(world: &World, machine: &str) {
    within("the end of the Machine", 120, async || {
        let machine = world.api::<Machine>().get_opt(machine).await;
        machine.expect("an answer").is_none().then_some(())
    })
    .await;
}

async fn still_allows_none(member: &Client) {
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(member.clone(), "default");
    let budget = budgets.get(NAME).await.expect("the budget");
    let allowed = budget.status.and_then(|status| status.disruptions_allowed);
    assert_eq!(allowed.unwrap_or_default(), 0);
}
