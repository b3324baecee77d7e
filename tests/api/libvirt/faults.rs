//! What goes wrong at a hypervisor is said on the object, and mends itself where it can.

use std::fs;

use serde_json::json;

use crate::libvirt::world::World;
use crate::support::wait::until_true;

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn what_goes_wrong_at_a_hypervisor_is_said_and_never_makes_a_second_machine() {
    let mut world = World::new("tlv3", "10.73.0").await;
    wrong_checksum(&world).await;
    disk_full(&world).await;
    what_is_not_there(&world).await;
    leaves_a_hypervisor(&world).await;
    gateway_down(&world).await;
    gateway_stands_still(&world).await;
    wrong_credentials(&world).await;
    killed_on_the_way(&mut world).await;
    hypervisor_rebooted(&world).await;
    hypervisor_off_while_deleting(&world).await;
    given_up_is_ended(&world).await;
    orphan(&mut world).await;
}

/// Domains of the Machine `name`: never more than one.
fn domains_of(world: &World, name: &str) -> usize {
    let prefix = format!("{name}-");
    world
        .domains_and_volumes()
        .iter()
        .filter(|found| found.starts_with(&prefix))
        .count()
}

async fn gone(world: &World, name: &str) {
    world.kubectl(&["delete", "machine", name, "--wait=false"]);
    world.until_gone(&format!("machine/{name}")).await;
}

async fn wrong_checksum(world: &World) {
    let wrong = json!({"rootDisk": {"image": {"sha256": "0".repeat(64)}}});
    world.machine("checksum", &wrong);
    world.until_reason("checksum", "ImageChecksumDiffers").await;
    world.until_message("checksum", &world.image.1).await;
    gone(world, "checksum").await;
    assert_eq!(domains_of(world, "checksum"), 0);

    let nowhere = format!("{}.missing", world.image.0);
    world.machine(
        "nowhere",
        &json!({"rootDisk": {"image": {"url": nowhere, "sha256": "1".repeat(64)}}}),
    );
    world.until_reason("nowhere", "ImageFailed").await;
    world.until_message("nowhere", "404").await;
    gone(world, "nowhere").await;
}

/// A disk that is full in mid-image is said; when there is room, the Machine goes on.
async fn disk_full(world: &World) {
    world.hack("libvirt", &["pool", "tlv3", "small", "4"]);
    let (url, sha256) = world.serve("large.raw", &vec![9; 8 << 20]);
    let image = json!({"url": url, "sha256": sha256});
    let disk = json!({"pool": "small", "size": "8Mi", "image": image});
    world.machine("full", &json!({ "rootDisk": disk }));
    world.until_reason("full", "StorageFull").await;
    world.until_message("full", "file system is full").await;
    assert_eq!(domains_of(world, "full"), 0);
    let pool = world.pool("small");
    let pool = pool.to_str().expect("text");
    // it is tried again in between
    let files = || world.hack("libvirt", &["in", "tlv3", "ls", "-A", pool]);
    until_true("an empty pool", || files().is_empty()).await;
    let grown = "mount -o remount,size=64M \"$0\"";
    world.hack("libvirt", &["in", "tlv3", "sh", "-c", grown, pool]);
    world.until_running("full").await;
    gone(world, "full").await;
    assert_eq!(domains_of(world, "full"), 0);
    world.virsh(&["pool-refresh", "small"]);
    let left = world.virsh(&["vol-list", "small"]);
    assert_eq!(left.lines().count(), 1, "the image, for the next: {left}");
}

async fn what_is_not_there(world: &World) {
    world.machine(
        "network",
        &json!({"interfaces": [{"network": "elsewhere"}]}),
    );
    world.until_reason("network", "NoHypervisorAvailable").await;
    world
        .until_message("network", "1 without network elsewhere")
        .await;
    gone(world, "network").await;
}

/// It delays its own machines, and says so; then it goes on.
async fn gateway_down(world: &World) {
    world.hack("gateway", &["down", "tlv3"]);
    world
        .until_says("hypervisor/hypervisor-a", "Unreachable", ".status.state")
        .await;
    world.machine("late", &json!({}));
    world.until_reason("late", "NoHypervisorAvailable").await;
    world.until_message("late", "1 unreachable").await;
    world.hack("gateway", &["up", "tlv3"]);
    world.until_running("late").await;
    gone(world, "late").await;
}

/// It takes connections and answers nothing, as a hypervisor does whose disks hang. Then it goes on, with what it was
/// asked for meanwhile.
async fn gateway_stands_still(world: &World) {
    world.gateway_signal("STOP");
    world.machine("still", &json!({}));
    world
        .until_says("hypervisor/hypervisor-a", "Unreachable", ".status.state")
        .await;
    world.until_reason("still", "HypervisorUnreachable").await;
    world.gateway_signal("CONT");
    world.until_running("still").await;
    assert_eq!(domains_of(world, "still"), 1);
    gone(world, "still").await;
}

async fn wrong_credentials(world: &World) {
    let reason = ".status.reason";
    let token = fs::read_to_string(world.token_file()).expect("a token");
    world.credentials(&world.authority(), "wrong");
    world
        .until_says("hypervisor/hypervisor-a", "Unauthorized", reason)
        .await;

    // another authority than the one that vouches for the gateway
    let other = fs::read_to_string(format!("{}/tests/pki/ec.crt", env!("CARGO_MANIFEST_DIR")))
        .expect("a certificate");
    world.credentials(&other, token.trim());
    world
        .until_says("hypervisor/hypervisor-a", "CertificateUnknown", reason)
        .await;

    world.credentials(&world.authority(), token.trim());
    world
        .until_says("hypervisor/hypervisor-a", "Available", ".status.state")
        .await;

    fs::write(
        world.token_file(),
        format!("{} 2020-01-01T00:00:00Z\n", token.trim()),
    )
    .expect("a file");
    world.hack("gateway", &["down", "tlv3"]);
    world.hack("gateway", &["up", "tlv3"]);
    world
        .until_says("hypervisor/hypervisor-a", "TokenExpired", reason)
        .await;
    fs::write(world.token_file(), token).expect("a file");
    world
        .until_says("hypervisor/hypervisor-a", "Available", ".status.state")
        .await;
}

/// The manager, and libvirtd, die while a machine is made.
async fn killed_on_the_way(world: &mut World) {
    for (round, name) in ["k0", "k1", "k2"].into_iter().enumerate() {
        world.machine(name, &json!({}));
        until_true("its place", || {
            !world
                .says(
                    &format!("machine/{name}"),
                    r".metadata.annotations.tatara\.dev/hypervisor",
                )
                .is_empty()
        })
        .await;
        if round < 2 {
            world.restart_manager();
        }
        world.hack("libvirt", &["restart", "tlv3"]);
        world.until_running(name).await;
        assert_eq!(domains_of(world, name), 1, "{name}");
    }
}

/// What was on before is on again, and is the same.
async fn hypervisor_rebooted(world: &World) {
    let uuid = world.virsh(&["domuuid", &world.domain("k0")]);
    world.hack("libvirt", &["kill", "tlv3"]);
    world
        .until_says("hypervisor/hypervisor-a", "Unreachable", ".status.state")
        .await;
    world.until_reason("k0", "HypervisorUnreachable").await;
    world.hack("libvirt", &["up", "tlv3"]);
    world.hack("gateway", &["up", "tlv3"]);
    for name in ["k0", "k1", "k2"] {
        world.until_running(name).await;
        assert_eq!(domains_of(world, name), 1, "{name}");
    }
    assert_eq!(world.virsh(&["domuuid", &world.domain("k0")]), uuid);
    gone(world, "k1").await;
}

async fn hypervisor_off_while_deleting(world: &World) {
    world.hack("gateway", &["down", "tlv3"]);
    world
        .until_says("hypervisor/hypervisor-a", "Unreachable", ".status.state")
        .await;
    world.kubectl(&["delete", "machine", "k2", "--wait=false"]);
    let reason = r#".status.conditions[?(@.type=="Deleting")].reason"#;
    world
        .until_says("machine/k2", "HypervisorUnreachable", reason)
        .await;
    let limit = json!({"spec": {"deletion": {"hostReleaseTimeoutSeconds": 1}}}).to_string();
    world.kubectl(&["patch", "machine", "k2", "--type=merge", "-p", &limit]);
    world.until_gone("machine/k2").await;
    world.hack("gateway", &["up", "tlv3"]);
}

/// What was given up is ended when its hypervisor is back, and nothing else is.
async fn given_up_is_ended(world: &World) {
    let reason = r#".status.conditions[?(@.type=="MachinesKnown")].reason"#;
    world
        .until_says("hypervisor/hypervisor-a", "AllKnown", reason)
        .await;
    let given_up = r".metadata.annotations.tatara\.dev/given-up";
    world
        .until_says("hypervisor/hypervisor-a", "", given_up)
        .await;
    assert_eq!(domains_of(world, "k2"), 0);
    assert_eq!(domains_of(world, "k0"), 1);
}

/// A virtual machine whose Machine is gone and was not given up may be a live node: it is named, and never deleted.
async fn orphan(world: &mut World) {
    let domain = world.domain("k0");
    world.kill_manager();
    world.kubectl(&["delete", "machine", "k0", "--wait=false"]);
    let free = r#"{"metadata":{"finalizers":null}}"#;
    world.kubectl(&["patch", "machine", "k0", "--type=merge", "-p", free]);
    world.until_gone("machine/k0").await;
    world.restart_manager();
    let reason = r#".status.conditions[?(@.type=="MachinesKnown")].reason"#;
    world
        .until_says("hypervisor/hypervisor-a", "Orphaned", reason)
        .await;
    let message = world.says(
        "hypervisor/hypervisor-a",
        r#".status.conditions[?(@.type=="MachinesKnown")].message"#,
    );
    assert!(message.contains(&domain), "{message}");
    assert_eq!(domains_of(world, "k0"), 1);
}

/// What cannot be made on one Hypervisor is made on another, while nothing of it exists there.
async fn leaves_a_hypervisor(world: &World) {
    let place = r".metadata.annotations.tatara\.dev/hypervisor";
    let nowhere = format!("{}.missing", world.image.0);
    let image = json!({"url": nowhere, "sha256": "2".repeat(64)});
    world.machine("mover", &json!({"rootDisk": {"image": image}}));
    world.until_reason("mover", "ImageFailed").await;
    assert_eq!(world.says("machine/mover", place), "hypervisor-a");
    world.register_as("hypervisor-b");
    world
        .until_says("hypervisor/hypervisor-b", "Available", ".status.state")
        .await;
    world
        .until_says("machine/mover", "hypervisor-b", place)
        .await;
    gone(world, "mover").await;
    world.kubectl(&["delete", "hypervisor", "hypervisor-b"]);
}
