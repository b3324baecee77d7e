//! No secret of a cluster is anywhere but in its Secret: what the management cluster and the cluster that
//! was made hold, what the manager wrote, what `ps` showed, and what anybody can read on a host.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::support::canaries::{Canaries, CommandLines};
use crate::support::commands::done;
use crate::support::world::World;

/// What is in every Secret of a cluster. A Secret of which nobody knows what in it is secret fails the test.
async fn of(client: &Client) -> Canaries {
    let mut canaries = Canaries::new();
    let secrets = Api::<Secret>::all(client.clone());
    for secret in secrets.list(&Default::default()).await.expect("Secrets") {
        let name = format!(
            "{}/{}",
            secret.namespace().unwrap_or_default(),
            secret.name_any()
        );
        for (key, value) in secret.data.unwrap_or_default() {
            let name = format!("{name}: {key}");
            let text = String::from_utf8(value.0).expect("text");
            if text.contains("PRIVATE KEY-----") {
                canaries.key(&name, &text);
            } else if text.contains("client-key-data: ") {
                canaries.keys_in_base64(&name, &text);
            } else if let Some(token) = token_of(&text) {
                // of a signed one, the signature
                canaries.word(&name, token.rsplit('.').next().expect("its end"));
            } else if key == "token" || key == "token-secret" {
                canaries.word(&name, &text);
            } else {
                assert!(is_public(&key, &text), "{name}: is it secret?");
            }
        }
    }
    canaries
}

/// The token of a kubeconfig.
fn token_of(kubeconfig: &str) -> Option<String> {
    let document: Value = serde_saphyr::from_str(kubeconfig).ok()?;
    let token = document.pointer("/users/0/user/token")?;
    token.as_str().map(ToOwned::to_owned)
}

fn is_public(key: &str, text: &str) -> bool {
    text.starts_with("-----BEGIN CERTIFICATE-----")
        || text.starts_with("-----BEGIN PUBLIC KEY-----")
        || ["namespace", "description", "expiration", "token-id"].contains(&key)
        || key.starts_with("auth-")
        || key.starts_with("usage-")
}

/// Every object of a cluster that is no Secret, Events too.
fn objects(kubectl: impl Fn() -> Command) -> String {
    let kinds = done(kubectl().args(["api-resources", "--verbs=list", "--output=name"]));
    let kinds: BTreeSet<_> = kinds.lines().filter(|kind| *kind != "secrets").collect();
    assert!(
        kinds.contains("events.events.k8s.io") && kinds.contains("configmaps"),
        "{kinds:?}"
    );
    let kinds: Vec<_> = kinds.into_iter().collect();
    done(kubectl().args(["get", &kinds.join(","), "-A", "-o", "json"]))
}

/// Where a host tells them: files that anybody there can read, and its journal.
fn told(world: &World, host: &str, canaries: &Canaries) -> String {
    let mut command = world.hack("fleet");
    command
        .args(["ssh", host, "umask 077; cat >/run/canaries"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().expect("ssh");
    let mut stdin = child.stdin.take().expect("its standard input");
    stdin
        .write_all(canaries.patterns().as_bytes())
        .expect("room in a pipe");
    drop(stdin);
    assert!(child.wait().expect("its end").success());
    world.shell(
        host,
        "! test -e /etc/kubernetes/pki/ca.key || grep -qaF -f /run/canaries /etc/kubernetes/pki/ca.key || echo the search finds nothing
        runuser -u nosudo -- grep -rlaF -D skip -f /dev/stdin /boot /dev/shm /etc /home /opt /run /srv /tmp /usr/local /var </run/canaries 2>/dev/null
        journalctl --no-pager --all --output=json | grep -qaF -f /run/canaries && echo journal
        rm /run/canaries",
    )
}

/// Searched for while the cluster stands; `seen` is what was looked at while it worked.
pub async fn are_in_their_secrets_only(world: &World, seen: CommandLines) {
    let mut canaries = of(&world.client).await;
    canaries.extend(of(&world.member().await).await);
    let secrets = done(
        world
            .kubectl_command()
            .args(["get", "secrets", "-A", "-o", "json"]),
    );
    let found = canaries.found_in(secrets.as_bytes());
    assert!(found.len() > 5, "the search finds {found:?}");
    for (what, text) in [
        ("management cluster", objects(|| world.kubectl_command())),
        ("the cluster", objects(|| world.member_kubectl())),
    ] {
        let found = canaries.found_in(text.as_bytes());
        assert_eq!(found, BTreeSet::new(), "objects of {what}");
    }
    for line in seen.end() {
        let found = canaries.found_in(&line);
        let line = String::from_utf8_lossy(&line);
        assert_eq!(found, BTreeSet::new(), "{line}");
    }
    for file in ["manager.log", "management/audit.log"] {
        let text = std::fs::read(world.run().join(file)).expect("a log");
        assert!(!text.is_empty(), "{file}");
        assert_eq!(canaries.found_in(&text), BTreeSet::new(), "{file}");
    }
    let logs = canaries.found_below(&world.run().join("management/log"));
    assert_eq!(logs, [], "logs of the management plane");
    for host in ["host-a", "host-b", "host-c"] {
        assert_eq!(told(world, host, &canaries), "", "{host}");
    }
}

/// A word of a Secret that could not be used, which is a mistake that people make with real ones.
pub fn is_not_told(world: &World, canary: &str) {
    let mut canaries = Canaries::new();
    canaries.word("malformed", canary);
    let objects = objects(|| world.kubectl_command());
    assert_eq!(canaries.found_in(objects.as_bytes()), BTreeSet::new());
    let log = std::fs::read(world.run().join("manager.log")).expect("a log");
    assert_eq!(canaries.found_in(&log), BTreeSet::new());
}
