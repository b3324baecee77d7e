//! Virtual machines are made, kept and taken away.

use serde_json::json;

use crate::libvirt::world::World;
use crate::support::wait::until_true;

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn machines_are_made_kept_running_and_leave_nothing_behind() {
    let world = World::new("tlv1", "10.71.0").await;
    let before = world.domains_and_volumes();
    assert_eq!(before, [""; 0], "an empty hypervisor");

    world.machine("one", &json!({"disks": [{"name": "data", "size": "32Mi"}]}));
    world.machine("two", &json!({}));
    world.until_running("one").await;
    world.until_running("two").await;
    let domain = world.domain("one");
    assert!(domain.starts_with("one-") && domain.len() == 12, "{domain}");
    assert_eq!(world.virsh(&["domstate", &domain]), "running");
    let definition = world.virsh(&["dumpxml", &domain]);
    assert!(!definition.contains("PRIVATE KEY"), "a key in a definition");
    assert_eq!(
        world.says("hypervisor/hypervisor-a", ".status.machines"),
        "2"
    );
    assert_eq!(
        world.says("hypervisor/hypervisor-a", ".status.allocated.memory"),
        "256Mi"
    );

    secrets_stay_where_they_belong(&world);
    keeps_running(&world, &domain).await;
    deleted_by_hand_is_made_again(&world).await;

    world.kubectl(&["delete", "machine", "one", "two", "--wait=false"]);
    world.until_gone("machine/one").await;
    world.until_gone("machine/two").await;
    until_true("an empty hypervisor, but for the image", || {
        let left = world.domains_and_volumes();
        left.len() == 1 && left[0].starts_with("tatara-image-")
    })
    .await;
    world.until_gone("secret/one-ssh").await;
    world.kubectl(&["delete", "hypervisor", "hypervisor-a"]);
    world.kubectl(&["delete", "secret", "gateway"]);
}

/// The gateway's token and the keys of a virtual machine: not in logs, events, objects, arguments or definitions.
fn secrets_stay_where_they_belong(world: &World) {
    let field = |key: &str| format!("go-template={{{{index .data \"{key}\" | base64decode}}}}");
    let secret = |name: &str, key: &str| world.kubectl(&["get", "secret", name, "-o", &field(key)]);
    // of a key, a line in its middle: the first ones say what kind it is
    let line_of = |key: String| key.lines().nth(2).expect("a key").to_owned();
    let secrets = [
        secret("gateway", "token"),
        line_of(secret("one-ssh", "ssh-privatekey")),
        line_of(secret("one-ssh", "ssh-host-ed25519-key")),
    ];
    let places = world.told();
    assert!(places.len() > 5);
    for (place, text) in &places {
        for secret in &secrets {
            assert!(secret.len() > 20, "a secret: {secret:?}");
            assert!(!text.contains(secret.as_str()), "a secret in {place}");
        }
    }
    let told = places
        .iter()
        .any(|(place, text)| place == "manager.log" && text.contains("one"));
    assert!(told, "what was searched tells of the machine");
}

/// Off, and standing still.
async fn keeps_running(world: &World, domain: &str) {
    let runs = || world.virsh(&["domstate", domain]) == "running";
    world.virsh(&["destroy", domain]);
    until_true("a machine that is on again", runs).await;
    world.virsh(&["suspend", domain]);
    until_true("a machine that goes on", runs).await;
}

/// Before it was a Node nothing is lost with it.
async fn deleted_by_hand_is_made_again(world: &World) {
    let domain = world.domain("two");
    let old = world.virsh(&["domid", &domain]);
    world.virsh(&["destroy", &domain]);
    world.virsh(&["undefine", &domain, "--nvram"]);
    until_true("another domain of that name", || {
        let names = world.virsh(&["list", "--name"]);
        names.split_whitespace().any(|name| name == domain)
            && world.virsh(&["domid", &domain]) != old
    })
    .await;
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_hypervisor_is_never_given_more_than_it_has() {
    let world = World::new("tlv2", "10.72.0").await;
    let limit: i64 = {
        let memory = world.says("hypervisor/hypervisor-a", ".status.allocatable.memory");
        memory.trim_end_matches("Mi").parse().expect("a number")
    };
    // each takes a little more than a quarter: three fit
    let memory = json!({"memory": format!("{}Mi", limit / 4 + 1)});
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        world.machine(name, &memory);
    }
    let reason = r#".status.conditions[?(@.type=="InfrastructureReady")].reason"#;
    let having = |wanted: &str| {
        let of = |name: &&str| world.says(&format!("machine/{name}"), reason) == wanted;
        names.iter().copied().filter(of).collect::<Vec<_>>()
    };
    until_true("three machines, and two that wait", || {
        having("WaitingForAddress").len() == 3 && having("NoHypervisorAvailable").len() == 2
    })
    .await;
    let waiting = having("NoHypervisorAvailable");
    let message = world.message(waiting[0]);
    assert!(
        message
            .starts_with("1 Hypervisor matches the selector: 1 full; the Machine needs 1 CPUs and"),
        "{message}"
    );

    // room is given on
    let running = having("WaitingForAddress");
    world.kubectl(&["delete", "machine", running[0]]);
    until_true("another machine in its place", || {
        having("NoHypervisorAvailable").len() == 1
    })
    .await;
}
