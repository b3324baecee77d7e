//! Hosts with BMCs (simulated), at addresses at which no host answers.

use serde_json::json;

use crate::manager::world::World;
use crate::support::bmc::{PASSWORD, SimulatedBmc, State, USER};
use crate::support::wait::until_true;

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA/Q3v/gDqSucpkvHs8f7alwh3gI+fypYWCvXqeJBUTL";

fn field(condition: &str, part: &str) -> String {
    format!(".status.conditions[?(@.type==\"{condition}\")].{part}")
}

fn secret(world: &World, name: &str, password: &str) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": name}, "stringData": {"username": USER, "password": password}});
    world.create(&format!("{name}.yaml"), &secret.to_string());
}

/// A Host with its own BMC and its own login `NAME-bmc`. Nobody listens at its port.
fn host(world: &World, name: &str, port: u16, bmc: &SimulatedBmc, tls: &serde_json::Value) {
    let access = json!({"address": bmc.address(), "credentialsRef": {"name": format!("{name}-bmc")}, "tls": tls});
    with_bmc(world, name, port, &access);
}

fn with_bmc(world: &World, name: &str, port: u16, bmc: &serde_json::Value) {
    let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": name},
    "spec": {
        "ssh": {"address": "127.0.0.1", "port": port, "credentialsRef": {"name": "ssh"}, "hostKeys": [KEY]},
        "bmc": bmc,
    }});
    world.create(&format!("{name}.yaml"), &host.to_string());
}

fn pinned(bmc: &SimulatedBmc) -> serde_json::Value {
    json!({ "fingerprint": bmc.certificate.1 })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_bmc_that_cannot_be_used_says_why_and_locks_nobody_out() {
    let mut world = World::new("bmcs").await;
    let reachable = field("BMCReachable", "reason");
    a_wrong_password(&mut world, &reachable).await;
    a_changed_certificate(&world, &reachable).await;
    two_hosts_of_one_system(&world, &reachable).await;
    hosts_of_one_chassis(&world, &reachable).await;
}

async fn a_wrong_password(world: &mut World, reachable: &str) {
    let bmc = SimulatedBmc::start(State::default()).await;
    secret(world, "wrong-bmc", "canary-wrong-password");
    host(world, "wrong", 11, &bmc, &pinned(&bmc));
    world
        .until_says("host/wrong", "BMCLoginRefused", reachable)
        .await;
    // further passes, and another manager
    for number in ["1", "2"] {
        world.kubectl(&[
            "label",
            "--overwrite",
            "host/wrong",
            &format!("pass={number}"),
        ]);
        world.kubectl(&[
            "patch",
            "host/wrong",
            "--type=merge",
            "-p",
            &format!("{{\"spec\":{{\"failureDomain\":\"d{number}\"}}}}"),
        ]);
        let seen = world.says("host/wrong", ".metadata.generation");
        world
            .until_says("host/wrong", &seen, ".status.observedGeneration")
            .await;
        world.kill_manager();
        world.start_manager();
        world.until_leading().await;
    }
    world.kubectl(&[
        "patch",
        "host/wrong",
        "--type=merge",
        "-p",
        "{\"spec\":{\"failureDomain\":\"d3\"}}",
    ]);
    let seen = world.says("host/wrong", ".metadata.generation");
    world
        .until_says("host/wrong", &seen, ".status.observedGeneration")
        .await;
    assert_eq!(bmc.state().refused_logins, 1, "{:?}", bmc.state().requests);
    let message = world.says("host/wrong", &field("BMCReachable", "message"));
    assert!(message.contains("refuses user admin"), "{message}");
    assert!(!message.contains("canary"), "{message}");
    // the right password is taken up at once, and the host, which is off, is switched on
    world.patch(
        "secret/wrong-bmc",
        &json!({"stringData": {"password": PASSWORD}}),
    );
    world
        .until_says("host/wrong", "BMCAnswers", reachable)
        .await;
    until_true("its power", || bmc.state().power == "On").await;
    world
        .until_says("host/wrong", "On", ".status.bmc.powerState")
        .await;
    assert_eq!(bmc.state().refused_logins, 1);
    assert_eq!(bmc.state().open_sessions(), 0);
    assert!(!world.log().contains("canary"), "a password in the log");
}

async fn a_changed_certificate(world: &World, reachable: &str) {
    let mut bmc = SimulatedBmc::start(State {
        refuses_power: Some((400, "the chassis is open")),
        boot: ("Continuous".into(), "Pxe".into()),
        ..State::default()
    })
    .await;
    let before = pinned(&bmc);
    bmc.change_certificate();
    secret(world, "changed-bmc", PASSWORD);
    host(world, "changed", 12, &bmc, &before);
    world
        .until_says("host/changed", "BMCCertificateChanged", reachable)
        .await;
    assert_eq!(bmc.state().requests, Vec::<String>::new());
    // its authority is named instead
    let pem = bmc.authority.clone();
    world.kubectl(&[
        "create",
        "secret",
        "generic",
        "bmc-ca",
        &format!("--from-literal=ca.crt={pem}"),
    ]);
    let tls = json!({"fingerprint": null, "certificateAuthorityRef": {"name": "bmc-ca"}});
    world.patch("host/changed", &json!({"spec": {"bmc": {"tls": tls}}}));
    world
        .until_says("host/changed", "BMCAnswers", reachable)
        .await;
    // what it refuses is told in its own words; an override by the network is gone before the system starts
    let power = field("PowerOn", "reason");
    world
        .until_says("host/changed", "PowerActionRefused", &power)
        .await;
    let message = world.says("host/changed", &field("PowerOn", "message"));
    assert!(message.contains("the chassis is open"), "{message}");
    assert_eq!(bmc.state().boot.1, "Hdd");
    bmc.state().refuses_power = None;
    until_true("its power", || bmc.state().power == "On").await;
}

async fn two_hosts_of_one_system(world: &World, reachable: &str) {
    let bmc = SimulatedBmc::start(State::default()).await;
    for name in ["one", "two"] {
        secret(world, &format!("{name}-bmc"), PASSWORD);
    }
    host(world, "one", 13, &bmc, &pinned(&bmc));
    until_true("the power of the first", || bmc.state().power == "On").await;
    host(world, "two", 14, &bmc, &pinned(&bmc));
    for name in ["host/one", "host/two"] {
        world.until_says(name, "DuplicateBMC", reachable).await;
    }
    world.kubectl(&["delete", "host/two"]);
    world.until_says("host/one", "BMCAnswers", reachable).await;
}

/// Each is a system of its own, and all log in with one Secret: what is wrong with it is tried once between them.
async fn hosts_of_one_chassis(world: &World, reachable: &str) {
    let bmc = SimulatedBmc::start(State {
        systems: vec!["1", "2", "3", "4"],
        ..State::default()
    })
    .await;
    let blades = ["1", "2", "3", "4"].map(|system| (format!("blade-{system}"), system));
    for (port, (name, system)) in (15..).zip(&blades) {
        let access = json!({"address": bmc.address(), "systemID": system, "credentialsRef": {"name": "chassis-bmc"},
            "tls": pinned(&bmc)});
        with_bmc(world, name, port, &access);
    }
    let all_say = async |reason: &str| {
        for (name, _) in &blades {
            let host = format!("host/{name}");
            world.until_says(&host, reason, reachable).await;
        }
    };
    all_say("BMCCredentialMissing").await;
    // it wakes all of them
    secret(world, "chassis-bmc", "canary-wrong-password");
    all_say("BMCLoginRefused").await;
    assert_eq!(bmc.state().refused_logins, 1);
    world.patch(
        "secret/chassis-bmc",
        &json!({"stringData": {"password": PASSWORD}}),
    );
    all_say("BMCAnswers").await;
    assert_eq!(bmc.state().refused_logins, 1);
}
