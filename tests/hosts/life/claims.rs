//! Hosts and Machines that are made from the YAML of others, and Hosts that are deleted by force: under init, under a
//! worker's Ready Node, and in mid-reset. Nothing is done twice, no live node is touched, and who is stuck says so.

use std::process::Command;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use serde_json::{Value, json};

use crate::life::copied;
use crate::life::examples::tatara;
use crate::support::commands::{both, done};
use crate::support::wait::within;
use crate::support::world::World;

const CONTROL_PLANE: &str = "quickstart-control-plane";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn copied_and_lost_hosts_and_machines_cost_no_node_and_no_second_init() {
    let world = World::prepared("life8", "10.102.0").await;
    world.quickstart("apply");
    scale(&world, 1);
    a_host_is_lost_under_init(&world).await;
    world.until_ready(2, 300).await;
    world.quickstart("member");
    let (worker, host) = the_worker(&world).await;
    let spare = spare_of(&host);
    copied::a_machine_is_copied(&world, &worker, &host).await;
    copied::a_host_is_copied(&world, &worker, &host, spare).await;
    copied::a_host_is_copied_with_its_address(&world, &worker, &host).await;
    a_host_is_lost_under_a_node(&world, &worker, &host).await;
    a_host_is_lost_in_mid_reset(&world).await;
    the_users_word_ends_a_machine_whose_server_is_off(&world).await;
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

pub fn yaml(world: &World, what: &str) -> Value {
    let text = world.kubectl(&["get", what, "--output=json"]);
    serde_json::from_str(&text).expect("JSON")
}

/// As a person would copy it: without what the API server alone sets.
pub fn copied(mut object: Value, name: &str) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "generation",
        "ownerReferences",
    ] {
        metadata.remove(field);
    }
    metadata.insert("name".into(), name.into());
    object.as_object_mut().expect("an object").remove("status");
    object
}

/// A Host as it was registered first.
pub fn registered(world: &World, host: &str) -> Value {
    let mut object = copied(yaml(world, &format!("host/{host}")), host);
    object["metadata"]["finalizers"] = json!([]);
    let spec = object["spec"].as_object_mut().expect("a spec");
    spec.remove("consumerRef");
    object
}

pub fn applied(world: &World, object: &Value) {
    let output = world.apply(object);
    assert!(output.status.success(), "{}", both(&output));
}

fn force_delete(world: &World, host: &str) {
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    world.kubectl(&["delete", "host", host, "--wait=false"]);
    let patched = world
        .kubectl_command()
        .args(["patch", "host", host, "--type=merge", "-p", patch])
        .output();
    // one that nothing held is gone already
    patched.expect("kubectl");
}

pub async fn machine_says(world: &World, machine: &str, condition: &str, text: &str) -> String {
    within(text, 120, async || {
        let said = world.machine_says(machine, condition).await;
        said.contains(text).then_some(said)
    })
    .await
}

/// Runs the first kubectl command of a message, whose end is that of the patch.
pub fn follow(world: &World, said: &str) {
    let command = said.split_once("kubectl ");
    let command = command.and_then(|(_, command)| Some(command.split_once("}'")?.0));
    let command = command.unwrap_or_else(|| panic!("no patch in {said:?}"));
    let kubectl = world.kubectl_command();
    let kubectl = format!(
        "{} --kubeconfig {}",
        kubectl.get_program().display(),
        world.run().join("management/admin.kubeconfig").display()
    );
    done(Command::new("bash").args(["-c", &format!("{kubectl} {command}}}'")]));
}

async fn the_worker(world: &World) -> (String, String) {
    let lines = world.progress().await.into_iter();
    let names = lines.map(|line| line.split(' ').next().unwrap_or_default().to_owned());
    let worker = names
        .into_iter()
        .find(|name| name != CONTROL_PLANE)
        .expect("a worker");
    let host = world.host_of(&worker).await;
    (worker, host)
}

fn spare_of(host: &str) -> &'static str {
    if host == "host-b" { "host-c" } else { "host-b" }
}

pub async fn is_ready(nodes: &Api<Node>, name: &str) -> bool {
    let node = nodes.get_opt(name).await.expect("an answer");
    let conditions = node
        .and_then(|node| node.status?.conditions)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|c| c.type_ == "Ready" && c.status == "True")
}

pub async fn until_deleted(world: &World, machine: &str) {
    within("the end of the Machine", 120, async || {
        let machines = world.kubectl(&["get", "machines", "--output=name"]);
        (!machines.contains(machine)).then_some(())
    })
    .await;
}

async fn a_host_is_lost_under_init(world: &World) {
    world.until_one_says("False/KubeadmInit: ", 240).await;
    let host = registered(world, "host-a");
    force_delete(world, "host-a");
    let said = machine_says(world, CONTROL_PLANE, "InfrastructureReady", "HostLost").await;
    // another that could run init does not
    let mut second = copied(
        yaml(world, &format!("machine/{CONTROL_PLANE}")),
        "second-control-plane",
    );
    second["metadata"]["annotations"] = json!({});
    second["metadata"]["finalizers"] = json!([]);
    let spec = second["spec"].as_object_mut().expect("a spec");
    spec.remove("providerID");
    spec["providerSpec"]["value"]["hostSelector"] = json!({"matchLabels": {"role": "worker"}});
    applied(world, &second);
    within("the second to wait", 240, async || {
        let said = world
            .machine_says("second-control-plane", "BootstrapReady")
            .await;
        let waits = ["Turn", "ControlPlane", "Doubt"];
        waits.iter().any(|word| said.contains(word)).then_some(())
    })
    .await;
    let other = world.host_of("second-control-plane").await;
    assert_eq!(world.starts(&other, "init"), 0, "one init");

    applied(world, &host);
    follow(world, &said);
    within("a control plane that is Ready", 300, async || {
        let said = world.machine_says(CONTROL_PLANE, "Ready").await;
        said.starts_with("True/").then_some(())
    })
    .await;
    assert_eq!(world.starts("host-a", "init"), 1);
    world.kubectl(&[
        "delete",
        "machine",
        "second-control-plane",
        "--timeout=120s",
    ]);
    assert_eq!(world.starts(&other, "init"), 0, "one init");
}

async fn a_host_is_lost_under_a_node(world: &World, worker: &str, host: &str) {
    let nodes: Api<Node> = Api::all(world.member().await);
    let again = registered(world, host);
    force_delete(world, host);
    machine_says(world, worker, "InfrastructureReady", "HostLost").await;
    world.kubectl(&["delete", "machine", worker, "--wait=false"]);
    let said = machine_says(world, worker, "Deleting", "NotReset").await;
    assert!(is_ready(&nodes, host).await, "{said}");
    let resets = world.starts(host, "reset");
    applied(world, &again);
    follow(world, &said);
    until_deleted(world, worker).await;
    assert_eq!(world.starts(host, "reset"), resets + 1);
    world.until_ready(2, 240).await;
}

async fn a_host_is_lost_in_mid_reset(world: &World) {
    let (worker, host) = the_worker(world).await;
    let again = registered(world, &host);
    let resets = world.starts(&host, "reset");
    world.kubectl(&["delete", "machine", &worker, "--wait=false"]);
    within("a reset", 120, async || {
        (world.starts(&host, "reset") > resets).then_some(())
    })
    .await;
    // so that the manager does not see the end of the reset first
    world.signal_manager("-STOP");
    force_delete(world, &host);
    world.signal_manager("-CONT");
    machine_says(world, &worker, "Deleting", "NotReset").await;
    // the host says by itself how its reset ended, whoever claims it
    applied(world, &again);
    until_deleted(world, &worker).await;
    assert_eq!(world.starts(&host, "reset"), resets + 1);
    world.until_ready(2, 240).await;
}

async fn the_users_word_ends_a_machine_whose_server_is_off(world: &World) {
    let (worker, host) = the_worker(world).await;
    world.fleet(&["kill", &host]);
    force_delete(world, &host);
    world.kubectl(&["delete", "machine", &worker, "--wait=false"]);
    machine_says(world, &worker, "Deleting", "NotReset").await;
    let said = tatara(world, &["machine", "declare-gone", &worker, "--yes"]);
    assert!(said.contains("takes effect at once"), "{said}");
    until_deleted(world, &worker).await;
    let nodes: Api<Node> = Api::all(world.member().await);
    assert!(nodes.get_opt(&host).await.expect("an answer").is_none());
    world.until_ready(2, 240).await;
}
