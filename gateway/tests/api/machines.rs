use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::support::client::{machine, spec};
use crate::support::hypervisor::Hypervisor;
use crate::support::{until, within};
use crate::{ready_image, request};

const ID: Uuid = Uuid::from_u128(0x3f2b_7a52_66f4_4c4a_9d57_0c9d_3c7d_8e55);

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn the_seed_is_private_said_nowhere_and_goes_alone() {
    let hypervisor = Hypervisor::up("gwseed", 11);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    let made = client.put(&machine(ID), &request("a", &image)).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    assert_eq!(made.json()["seed"], true);

    let seed = hypervisor
        .pool_folder()
        .join(format!("tatara-{ID}-seed.img"));
    assert_eq!(
        fs::metadata(&seed).expect("a seed").permissions().mode() & 0o777,
        0o600
    );
    let content = fs::read(&seed).expect("a seed");
    assert!(content.windows(12).any(|window| window == b"secret-words"));
    let xml = hypervisor.virsh(&["dumpxml", "--security-info", "a"]);
    let libvirtd = fs::read_to_string(hypervisor.folder.join("log/libvirtd.log")).expect("a log");
    for text in [made.text, xml, gateway.log(), libvirtd] {
        assert!(!text.contains("secret-words"));
    }

    // no system runs in there that could let go of a disk
    assert_eq!(client.power(ID, "off").await.status.as_u16(), 204);
    let before = hypervisor.inventory();
    for _ in 0..2 {
        let gone = client.delete(&format!("{}/seed", machine(ID))).await;
        assert_eq!(gone.status.as_u16(), 204, "{gone:?}");
    }
    assert!(!seed.exists());
    let mut without = before;
    without.files.retain(|name| !name.ends_with("-seed.img"));
    assert_eq!(hypervisor.inventory(), without);
    assert_eq!(client.get(&machine(ID)).await.json()["seed"], false);
    assert_eq!(client.power(ID, "on").await.status.as_u16(), 204);
    let again = client.put(&machine(ID), &request("a", &image)).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["seed"]),
        (200, &json!(false))
    );

    client.delete(&machine(ID)).await;
    let left = hypervisor.inventory();
    assert_eq!(
        (left.domains.len(), left.files.len(), left.consoles.len()),
        (0, 1, 0),
        "{left:?}"
    );
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_machine_is_as_large_as_asked_and_its_devices_are_virtio() {
    let hypervisor = Hypervisor::up("gwsize", 12);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    let mut wanted = request("a", &image);
    wanted["spec"]["rootDisk"]["sizeBytes"] = json!(1 << 20);
    let small = client.put(&machine(ID), &wanted).await;
    assert_eq!((small.status.as_u16(), &*small.code()), (422, "BadSpec"));
    wanted["spec"]["rootDisk"]["sizeBytes"] = json!(3_u64 << 30);
    let made = client.put(&machine(ID), &wanted).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    let disks = hypervisor.virsh(&["domblklist", "a", "--details"]);
    assert_eq!(disks.lines().count(), 3, "{disks}");
    let sizes = hypervisor.virsh(&["domblkinfo", "a", "vda"]);
    assert!(sizes.contains(&(3_u64 << 30).to_string()), "{sizes}");
    let info = hypervisor.virsh(&["dominfo", "a"]);
    assert!(info.contains("Autostart:      enable"), "{info}");
    let xml = hypervisor.virsh(&["dumpxml", "a"]);
    for words in [
        "org.qemu.guest_agent.0",
        "<rng model='virtio'>",
        "q35",
        "mode='maximum'",
    ] {
        assert!(xml.contains(words), "{words} in {xml}");
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn an_address_is_found_by_the_mac_of_its_lease() {
    let hypervisor = Hypervisor::up("gwlease", 13);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    // its firmware asks for an address: there is nothing on its disk to boot
    let made = client.create(ID, &spec("a")).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    let mac = made.json()["interfaces"][0]["mac"].clone();
    // under emulation, beside other tests, firmware takes its time
    // (dnsmasq enters a card's address into the ARP table a moment before the lease is there)
    let address = within(Duration::from_mins(5), "an address", async || {
        let seen = client.get(&machine(ID)).await.json();
        seen["addresses"]
            .get(0)
            .filter(|found| found["source"] == "lease")
            .cloned()
    });
    let address = address.await;
    assert_eq!(
        (&address["mac"], &address["source"]),
        (&mac, &json!("lease")),
        "{address}"
    );
    assert!(
        address["address"]
            .as_str()
            .expect("text")
            .starts_with("10.61.13."),
        "{address}"
    );
    let leases = hypervisor.virsh(&["net-dhcp-leases", "default"]);
    assert!(
        leases.contains(address["address"].as_str().expect("text")),
        "{leases}"
    );
    client.power(ID, "off").await;
    assert_eq!(
        client.get(&machine(ID)).await.json()["addresses"],
        json!([])
    );
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_uefi_machine_starts_and_takes_its_variables_with_it() {
    let hypervisor = Hypervisor::up("gwuefi", 17);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let mut wanted = spec("a");
    wanted["firmware"] = json!("uefi");
    let made = client.create(ID, &wanted).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    let variables = hypervisor.folder.join("lib/qemu/nvram/a_VARS.fd");
    assert!(variables.exists());
    client.delete(&machine(ID)).await;
    assert!(!variables.exists());
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn what_people_do_by_hand_is_seen() {
    let hypervisor = Hypervisor::up("gwhand", 14);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    client.put(&machine(ID), &request("a", &image)).await;
    hypervisor.virsh(&["suspend", "a"]);
    let seen = client.get(&machine(ID)).await.json();
    assert_eq!(
        (&seen["state"], &seen["stateReason"]),
        (&json!("paused"), &json!("user"))
    );
    assert_eq!(client.power(ID, "resume").await.status.as_u16(), 204);
    assert_eq!(client.get(&machine(ID)).await.json()["state"], "running");
    hypervisor.virsh(&["destroy", "a"]);
    assert_eq!(client.get(&machine(ID)).await.json()["state"], "off");
    hypervisor.virsh(&["undefine", "a"]);
    assert_eq!(client.get(&machine(ID)).await.code(), "MachineUnknown");
    // what is left of it is taken again
    let made = client.put(&machine(ID), &request("a", &image)).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    assert_eq!(
        hypervisor.inventory().files.len(),
        4,
        "image, root, data, seed"
    );
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn foreign_domains_and_volumes_stay() {
    let hypervisor = Hypervisor::up("gwother", 15);
    hypervisor.virsh(&[
        "vol-create-as",
        "default",
        "theirs.qcow2",
        "1M",
        "--format",
        "qcow2",
    ]);
    let xml = format!(
        "<domain type='qemu'><name>theirs</name><uuid>{ID}</uuid><memory>65536</memory>\
         <os><type arch='x86_64'>hvm</type></os></domain>"
    );
    let file = hypervisor.folder.join("theirs.xml");
    fs::write(&file, xml).expect("a file");
    hypervisor.virsh(&["define", file.to_str().expect("text")]);
    let before = hypervisor.inventory();
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    assert_eq!(
        client.capacity().await["memoryBytes"]["allocated"],
        65_536 << 10
    );
    assert_eq!(client.delete(&machine(ID)).await.status.as_u16(), 204);
    assert_eq!(client.create(ID, &spec("b")).await.code(), "NameTaken");
    assert_eq!(
        client
            .create(Uuid::from_u128(2), &spec("theirs"))
            .await
            .code(),
        "NameTaken"
    );
    assert_eq!(hypervisor.inventory(), before);
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn machines_come_back_when_the_hypervisor_was_rebooted() {
    let hypervisor = Hypervisor::up("gwboot", 16);
    let gateway = hypervisor.gateway(&[]);
    gateway.client().create(ID, &spec("a")).await;
    gateway.kill();
    hypervisor.reboot();
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let state = until("running", async || {
        let seen = client.get(&machine(ID)).await;
        (seen.status.is_success() && seen.json()["state"] == "running").then_some(())
    });
    state.await;
    assert_eq!(client.create(ID, &spec("a")).await.status.as_u16(), 200);
}
