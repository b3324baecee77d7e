//! Hosts that cannot be had, each with its reason, beside one that can.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tatara_core::api::{Host, Machine};

use crate::life::secrets::is_not_told;
use crate::support::commands::both;
use crate::support::versions::pinned;
use crate::support::wait::within;
use crate::support::world::World;

/// Somebody put a passphrase where the key belongs.
const MALFORMED: &str = "canary-no-key-5e1d";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts"]
async fn hosts_that_cannot_be_had_say_why_and_keep_no_other_back() {
    let world = World::prepared("life2", "10.92.0").await;
    secrets(&world);
    occupy(&world);
    for host in faulty(&world) {
        let output = world.apply(&host);
        assert!(output.status.success(), "{}", both(&output));
    }
    within("the host without a fault", 60, async || {
        world
            .available()
            .await
            .contains(&"good".to_owned())
            .then_some(())
    })
    .await;
    a_host_without_keys_is_refused(&world);
    each_says_why(&world).await;
    is_not_told(&world, MALFORMED);
    nothing_was_written_on_the_occupied(&world);
    a_machine_says_why_none_fits(&world).await;
    a_new_key_takes_effect_without_a_restart(&world).await;
    a_host_whose_disk_hangs_is_kept_back_while_sshd_answers(&world).await;
    a_host_that_goes_away_comes_back(&world).await;
}

pub fn keys(world: &World, host: &str) -> Vec<String> {
    let printed = world.fleet(&["hostkey", host]);
    printed
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some(format!("{} {}", words.next()?, words.next()?))
        })
        .collect()
}

fn host(name: &str, ssh: Value) -> Value {
    let mut ssh = ssh;
    if ssh.get("credentialsRef").is_none() {
        ssh["credentialsRef"] = json!({"name": "hosts-ssh"});
    }
    json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"name": name, "namespace": "default", "labels": {"pool": name}},
        "spec": {"ssh": ssh}})
}

fn secret(name: &str, key: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
        "metadata": {"name": name, "namespace": "default"}, "stringData": {"ssh-privatekey": key}})
}

pub fn right_key(world: &World) -> String {
    let env = world.fleet(&["env"]);
    let path = env.lines().find_map(|line| line.strip_prefix("KEY="));
    std::fs::read_to_string(path.expect("the fleet's key")).expect("a key")
}

fn secrets(world: &World) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&path)
        .stdin(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let wrong = std::fs::read_to_string(&path).expect("a key");
    for secret in [
        secret("hosts-ssh", &right_key(world)),
        secret("wrong-ssh", &wrong),
        secret("malformed-ssh", MALFORMED),
    ] {
        let output = world.apply(&secret);
        assert!(output.status.success(), "{}", both(&output));
    }
}

/// Two more servers: one with somebody else's cluster, one that another management cluster has taken.
fn occupy(world: &World) {
    for (name, last) in [("foreign", 21), ("taken", 22)] {
        let address = format!("{}.{last}", world.subnet());
        world.fleet(&["start", name, &address]);
        world.fleet(&["wait", name]);
    }
    world.shell(
        "foreign",
        "mkdir -p /etc/kubernetes/manifests /var/lib/etcd/member && echo live >/var/lib/etcd/member/db && echo x >/etc/kubernetes/manifests/etcd.yaml",
    );
    let marker = json!({"management": "11111111-2222-3333-4444-555555555555", "namespace": "default",
        "cluster": "theirs", "machine": "theirs-0", "uid": "99999999-2222-3333-4444-555555555555"});
    world.shell(
        "taken",
        &format!("mkdir -p /var/lib/tatara && echo '{marker}' >/var/lib/tatara/owner.json"),
    );
}

fn faulty(world: &World) -> Vec<Value> {
    let at = |last: u8| format!("{}.{last}", world.subnet());
    let (a, b, c) = (
        keys(world, "host-a"),
        keys(world, "host-b"),
        keys(world, "host-c"),
    );
    let named = |name: &str| json!({"name": name});
    vec![
        host("good", json!({"address": at(11), "hostKeys": a})),
        host("off", json!({"address": at(99), "hostKeys": a})),
        host(
            "wrong-user",
            json!({"address": at(12), "hostKeys": b, "user": "ghost", "privilege": "sudo"}),
        ),
        host(
            "wrong-key",
            json!({"address": at(12), "hostKeys": b, "credentialsRef": named("wrong-ssh")}),
        ),
        host(
            "malformed",
            json!({"address": at(12), "hostKeys": b, "credentialsRef": named("malformed-ssh")}),
        ),
        host(
            "missing",
            json!({"address": at(12), "hostKeys": b, "credentialsRef": named("missing-ssh")}),
        ),
        host("changed", json!({"address": at(12), "hostKeys": a})),
        host(
            "no-sudo",
            json!({"address": at(12), "hostKeys": b, "user": "nosudo", "privilege": "sudo"}),
        ),
        host("twin-1", json!({"address": at(13), "hostKeys": c})),
        host("twin-2", json!({"address": at(13), "hostKeys": c})),
        host(
            "foreign",
            json!({"address": at(21), "hostKeys": keys(world, "foreign")}),
        ),
        host(
            "taken",
            json!({"address": at(22), "hostKeys": keys(world, "taken")}),
        ),
    ]
}

fn a_host_without_keys_is_refused(world: &World) {
    let output = world.apply(&host("no-keys", json!({"address": "192.0.2.1"})));
    assert!(!output.status.success());
    let said = both(&output);
    assert!(
        said.contains("hostKeys is empty") && said.contains("trustOnFirstUse"),
        "{said}"
    );
}

async fn each_says_why(world: &World) {
    let address = |last: u8| format!("{}.{last}", world.subnet());
    for (host, condition, reason, named) in [
        ("off", "Reachable", "SshUnreachable", address(99)),
        (
            "wrong-user",
            "Reachable",
            "AuthenticationFailed",
            "ghost".to_owned(),
        ),
        (
            "wrong-key",
            "Reachable",
            "AuthenticationFailed",
            "root".to_owned(),
        ),
        (
            "malformed",
            "Reachable",
            "CredentialMalformed",
            "malformed-ssh".to_owned(),
        ),
        (
            "missing",
            "Reachable",
            "CredentialMissing",
            "missing-ssh".to_owned(),
        ),
        (
            "changed",
            "Reachable",
            "HostKeyChanged",
            "hostKeys in place of the old one".to_owned(),
        ),
        ("no-sudo", "Reachable", "SudoRefused", "nosudo".to_owned()),
        (
            "twin-1",
            "Available",
            "DuplicateAddress",
            "twin-2".to_owned(),
        ),
        (
            "twin-2",
            "Available",
            "DuplicateAddress",
            "twin-1".to_owned(),
        ),
        ("foreign", "Clean", "Occupied", "/var/lib/etcd".to_owned()),
        ("taken", "Clean", "Occupied", "theirs-0".to_owned()),
    ] {
        let what = format!("{host}: {reason}");
        let said = within(&what, 60, async || {
            let said = world.host_says(host, condition).await;
            said.starts_with(&format!("False/{reason}: "))
                .then_some(said)
        })
        .await;
        assert!(said.contains(&named), "{host}: {said}");
        // the two columns of `kubectl get hosts` say it as well
        let host = world.api::<Host>().get(host).await.expect("a Host");
        assert_eq!(
            host.status.expect("a status").reason.as_deref(),
            Some(reason)
        );
    }
    // both are told everything that they share, the first one too
    for (host, twin) in [("twin-1", "twin-2"), ("twin-2", "twin-1")] {
        within("what twins share", 30, async || {
            let said = world.host_says(host, "Available").await;
            let machine_id = said.contains("machine-id") && said.contains("its hostname");
            (machine_id && said.matches(twin).count() == 3).then_some(())
        })
        .await;
    }
    assert_eq!(world.available().await, ["good"]);
}

fn nothing_was_written_on_the_occupied(world: &World) {
    let found = world.shell(
        "foreign",
        "cat /var/lib/etcd/member/db /etc/kubernetes/manifests/etcd.yaml; ls -A /var/lib/tatara 2>/dev/null || true",
    );
    assert_eq!(found, "live\nx");
    let found = world.shell("taken", "ls -A /var/lib/tatara");
    assert_eq!(found, "owner.json");
}

async fn a_machine_says_why_none_fits(world: &World) {
    world.kubectl(&[
        "apply",
        "-f",
        world
            .run()
            .join("manifests/20-cluster.yaml")
            .to_str()
            .expect("a path"),
    ]);
    let machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "wants", "namespace": "default", "labels": {"cluster.k8s.io/cluster-name": "quickstart"}},
        "spec": {"versions": {"kubelet": pinned("KUBERNETES"), "controlPlane": pinned("KUBERNETES")}, "providerSpec": {"value": {
            "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
            "hostSelector": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["off", "foreign", "twin-1"]}]}}}}});
    let output = world.apply(&machine);
    assert!(output.status.success(), "{}", both(&output));
    let said = within("the reason that no host fits", 30, async || {
        let said = world.machine_says("wants", "InfrastructureReady").await;
        (!said.is_empty()).then_some(said)
    })
    .await;
    assert!(
        said.starts_with("False/NoHostAvailable: 3 hosts match the selector"),
        "{said}"
    );
    let machine = world
        .api::<Machine>()
        .get("wants")
        .await
        .expect("a Machine");
    assert_eq!(machine.status.expect("a status").host, None);
    world.kubectl(&["delete", "machine/wants", "cluster/quickstart"]);
}

async fn a_new_key_takes_effect_without_a_restart(world: &World) {
    let output = world.apply(&secret("wrong-ssh", &right_key(world)));
    assert!(output.status.success(), "{}", both(&output));
    within("the host with the new key", 30, async || {
        world
            .host_says("wrong-key", "Reachable")
            .await
            .starts_with("True/")
            .then_some(())
    })
    .await;
}

async fn a_host_that_goes_away_comes_back(world: &World) {
    world.fleet(&["kill", "host-a"]);
    within("a host that does not answer", 120, async || {
        world
            .host_says("good", "Reachable")
            .await
            .starts_with("False/SshUnreachable")
            .then_some(())
    })
    .await;
    assert!(world.available().await.is_empty());
    world.fleet(&["start", "host-a", &format!("{}.11", world.subnet())]);
    within("its return", 60, async || {
        world
            .available()
            .await
            .contains(&"good".to_owned())
            .then_some(())
    })
    .await;
}

async fn a_host_whose_disk_hangs_is_kept_back_while_sshd_answers(world: &World) {
    // as a mount that stands still would have it
    let df =
        "printf '#!/bin/sh\\nexec sleep 3600\\n' >/usr/local/bin/df && chmod 755 /usr/local/bin/df";
    world.shell("host-a", df);
    within("a host that hangs", 150, async || {
        let said = world.host_says("good", "Reachable").await;
        said.starts_with("False/HostHangs").then_some(())
    })
    .await;
    assert!(world.available().await.is_empty());
    // the next look waits for the one that hangs, and does not pile up behind it
    tokio::time::sleep(std::time::Duration::from_secs(45)).await;
    let hanging = world.shell("host-a", "pgrep -c -f 'sleep 360[0]'");
    assert_eq!(hanging.trim(), "1");
    let still = world.host_says("good", "Reachable").await;
    assert!(still.starts_with("False/HostHangs"), "{still}");
    world.shell("host-a", "rm /usr/local/bin/df; pkill -f 'sleep 360[0]'");
    within("its return", 90, async || {
        let available = world.available().await;
        available.contains(&"good".to_owned()).then_some(())
    })
    .await;
}
