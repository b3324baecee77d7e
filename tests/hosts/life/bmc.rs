//! Real hosts whose power is driven through BMCs: the BMCs are simulated, the power and the hosts are not.

use std::process::Command;

use kube::api::DeleteParams;
use serde_json::{Value, json};
use tatara_core::api::{Host, Machine};

use super::budget;
use crate::support::bmc::{OnPower, PASSWORD, SimulatedBmc, State, USER};
use crate::support::commands::both;
use crate::support::wait::within;
use crate::support::world::{World, root};

const NAME: &str = "rf";
const SUBNET: &str = "10.85.0";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn hosts_are_switched_on_where_needed_off_when_free_and_fenced_when_silent() {
    let world = World::prepared(NAME, SUBNET).await;
    // one was switched off by hand, and one stays without a BMC
    world.fleet(&["kill", "host-c"]);
    let b = bmc_of(&world, "host-b", "On").await;
    let c = bmc_of(&world, "host-c", "Off").await;
    register(&world, &[("host-b", &b, true), ("host-c", &c, false)]);

    registering(&world, &b, &c).await;
    world.quickstart("apply");
    world.until_ready(3, 600).await;
    world.quickstart("up");
    assert_eq!(b.state().power, "On", "a claim switches on");
    nothing_is_asked_while_all_is_well(&world, &b, &c).await;
    a_silent_host_is_fenced(&world, &c).await;
    a_host_that_lost_its_power_comes_back(&world, &c).await;
    budget::does_not_hold_a_dead_host(&world, &c).await;
    a_released_host_rests(&world, &b).await;
    drop((b, c));
    world.leave();
}

/// A BMC whose power is that of a host of the fleet.
async fn bmc_of(world: &World, host: &'static str, power: &str) -> SimulatedBmc {
    let fleet = root().join("hack/fleet");
    let state = world.run().parent().expect("a folder").to_owned();
    let run = move |arguments: &[&str]| {
        let mut command = Command::new(&fleet);
        command
            .env("FLEET", NAME)
            .env("SUBNET", SUBNET)
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", &state);
        let output = command.args(arguments).output().expect("hack/fleet");
        assert!(output.status.success(), "{arguments:?}: {}", both(&output));
    };
    let on_power: OnPower = Box::new(move |power| match power {
        "On" => {
            run(&["start", host]);
            run(&["plug", host]);
        }
        _ => run(&["kill", host]),
    });
    SimulatedBmc::start(State {
        power: power.into(),
        on_power: Some(on_power),
        ..State::default()
    })
    .await
}

/// The quickstart's Hosts and their Secrets, these with a BMC.
fn register(world: &World, with_bmc: &[(&str, &SimulatedBmc, bool)]) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": "bmc", "namespace": "default"},
        "stringData": {"username": USER, "password": PASSWORD}});
    applied(world, &secret);
    let key = crate::life::hosts::right_key(world);
    let ssh = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
        "metadata": {"name": "hosts-ssh", "namespace": "default"}, "stringData": {"ssh-privatekey": key}});
    applied(world, &ssh);
    let manifests = world.run().join("manifests/10-hosts.yaml");
    let text = std::fs::read_to_string(manifests).expect("the manifests of the hosts");
    for part in text.split("\n---\n") {
        let mut host: Value = serde_saphyr::from_str(part).expect("a Host");
        let name = host["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        let found = with_bmc.iter().find(|(of, _, _)| *of == name);
        if let Some((_, bmc, goes_off)) = found {
            host["spec"]["bmc"] = json!({
                "address": bmc.address(), "credentialsRef": {"name": "bmc"},
                "tls": {"fingerprint": bmc.certificate.1}, "powerOffWhenReleased": goes_off,
            });
        }
        applied(world, &host);
    }
}

fn applied(world: &World, object: &Value) {
    let output = world.apply(object);
    assert!(output.status.success(), "{}", both(&output));
}

pub fn is_on(world: &World, host: &str) -> bool {
    let list = world.fleet(&["list"]);
    let line = list
        .lines()
        .find(|line| line.starts_with(&format!("{host} ")));
    line.expect("a host").split(' ').nth(2) == Some("on")
}

pub async fn until_host_says(world: &World, host: &str, condition: &str, text: &str, seconds: u64) {
    within(
        &format!("{host}: {condition} {text}"),
        seconds,
        async || {
            let said = world.host_says(host, condition).await;
            said.starts_with(text).then_some(())
        },
    )
    .await;
}

/// One that is off is switched on to be looked at; one that is to rest is looked at, switched off, and Available.
async fn registering(world: &World, b: &SimulatedBmc, c: &SimulatedBmc) {
    until_host_says(world, "host-c", "Available", "True/", 180).await;
    assert!(is_on(world, "host-c"));
    assert_eq!(c.state().boot.1, "None", "nothing to override");
    until_host_says(world, "host-b", "PowerOn", "False/SwitchedOff", 120).await;
    until_host_says(world, "host-b", "Available", "True/", 10).await;
    until_host_says(world, "host-b", "Reachable", "Unknown/SwitchedOff", 10).await;
    assert!(!is_on(world, "host-b"));
    assert_eq!(b.state().open_sessions() + c.state().open_sessions(), 0);
}

/// The figure: requests to BMCs while all hosts answer and nothing is to change.
async fn nothing_is_asked_while_all_is_well(world: &World, b: &SimulatedBmc, c: &SimulatedBmc) {
    // the last looks at hosts that were just claimed are over when their Machines have been Ready for a while
    let count = || b.state().requests.len() + c.state().requests.len();
    let mut before = count();
    within("a minute without a request", 300, async || {
        let start = before;
        for _ in 0..60 {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            if count() != start {
                before = count();
                return None;
            }
        }
        Some(())
    })
    .await;
    assert_eq!(count(), before);
    eprintln!("requests to two BMCs in 60 s: 0 (since their start: {before})");
    until_host_says(world, "host-b", "BMCReachable", "True/", 10).await;
}

/// The cable is pulled: the host runs on unseen. Its Machine is deleted.
async fn a_silent_host_is_fenced(world: &World, c: &SimulatedBmc) {
    let machine = machine_on(world, "host-c").await;
    let before = resets(c);
    world.fleet(&["cut", "host-c"]);
    assert!(is_on(world, "host-c"));
    // pods cannot be evicted from a node that does not answer
    let exclude = "machine.cluster.k8s.io/exclude-node-draining=true";
    world.kubectl(&["annotate", &format!("machine/{machine}"), exclude]);
    let machines = world.api::<Machine>();
    let asked = machines.delete(&machine, &DeleteParams::default()).await;
    asked.expect("a deletion");
    let fenced = within("a fenced host", 300, async || {
        let is_gone = machines
            .get_opt(&machine)
            .await
            .expect("an answer")
            .is_none();
        if is_gone {
            return Some("nothing: it is gone".to_owned());
        }
        let said = world.machine_says(&machine, "Deleting").await;
        said.contains("HostFenced").then_some(said)
    })
    .await;
    eprintln!("the Machine says: {fenced}");
    within("the end of the Machine", 60, async || {
        let machine = machines.get_opt(&machine).await.expect("an answer");
        machine.is_none().then_some(())
    })
    .await;
    assert!(resets(c) > before, "its power was cut");
    let events = world.kubectl(&["get", "events", "-o", "jsonpath={.items[*].reason}"]);
    for reason in ["Fenced", "HostFenced"] {
        assert!(
            events.split(' ').any(|of| of == reason),
            "{reason}: {events}"
        );
    }
    // switched on and reset, it serves the Machine that takes its place
    within("another Machine on the host", 300, async || {
        let host = world.api::<Host>().get("host-c").await.expect("a Host");
        let consumer = host.spec.consumer_ref?;
        (consumer.name != machine && !consumer.releasing).then_some(())
    })
    .await;
    world.until_ready(3, 600).await;
    one_node_per_machine(world).await;
}

/// How often the power was switched.
pub fn resets(bmc: &SimulatedBmc) -> usize {
    let state = bmc.state();
    let resets = state.requests.iter().filter(|of| of.contains("Reset"));
    resets.count()
}

pub async fn one_node_per_machine(world: &World) {
    within("three Nodes", 60, async || {
        let output = world
            .member_kubectl()
            .args(["get", "nodes", "-o", "name"])
            .output();
        let output = output.expect("kubectl");
        let nodes = String::from_utf8_lossy(&output.stdout).lines().count();
        (nodes == 3).then_some(())
    })
    .await;
}

/// A power cut at a host that works: its Machine misses it, and its BMC says that it is off.
async fn a_host_that_lost_its_power_comes_back(world: &World, c: &SimulatedBmc) {
    world.fleet(&["kill", "host-c"]);
    c.state().power = "Off".into();
    within("its power", 300, async || {
        (c.state().power == "On").then_some(())
    })
    .await;
    world.until_ready(3, 300).await;
}

async fn a_released_host_rests(world: &World, b: &SimulatedBmc) {
    let machine = machine_on(world, "host-b").await;
    let first = "cluster.k8s.io/delete-machine=true";
    world.kubectl(&["annotate", &format!("machine/{machine}"), first]);
    world.kubectl(&[
        "scale",
        "machinedeployment/quickstart-workers",
        "--replicas=1",
    ]);
    until_host_says(world, "host-b", "PowerOn", "False/SwitchedOff", 300).await;
    until_host_says(world, "host-b", "Available", "True/", 10).await;
    until_host_says(world, "host-b", "Clean", "True/", 10).await;
    assert!(!is_on(world, "host-b"));
    assert_eq!(b.state().power, "Off");
}

pub async fn machine_on(world: &World, host: &str) -> String {
    let host = world.api::<Host>().get(host).await.expect("a Host");
    host.spec.consumer_ref.expect("a claim").name
}
