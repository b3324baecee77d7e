//! A whole guest of Debian's packages (hack/image/guest) in a machine of the gateway's.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use support::client::{Client, machine, spec};
use support::hypervisor::Hypervisor;
use support::site::Site;
use support::{until, within};

const ID: Uuid = Uuid::from_u128(0x3f2b_7a52_66f4_4c4a_9d57_0c9d_3c7d_8e55);
/// Under emulation, beside other tests.
const BOOT: Duration = Duration::from_mins(20);
const DISK: u64 = 9 << 30;

const USER_DATA: &str = "#cloud-config
runcmd:
- [sh, -c, 'echo seen=$(df -B1 --output=size / | tail -n 1)= >/dev/ttyS0']
";

/// The guest's image and its checksum.
fn image() -> (PathBuf, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../hack/image/guest");
    let output = Command::new(script)
        .output()
        .expect("hack/image/guest runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let text = String::from_utf8(output.stdout).expect("text");
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key))
            .expect("a value")
    };
    (value("IMAGE=").into(), value("SHA256=").to_owned())
}

async fn has_image(client: &Client, sha256: &str, url: &str) {
    let path = format!("/v1/images/{sha256}");
    client
        .put(&path, &json!({"url": url, "format": "qcow2"}))
        .await;
    within(BOOT, "the image", async || {
        let image = client.get(&path).await.json();
        assert_ne!(image["state"], "failed", "{image}");
        (image["state"] == "ready").then_some(())
    })
    .await;
}

async fn console(client: &Client) -> String {
    client.get(&format!("{}/console", machine(ID))).await.text
}

async fn address(client: &Client, source: &str) -> Option<Value> {
    let seen = client.get(&machine(ID)).await.json();
    let addresses = seen["addresses"].as_array().expect("a list").clone();
    addresses
        .into_iter()
        .find(|address| address["source"] == source)
}

#[tokio::test]
#[ignore = "slow: boots a guest under emulation"]
async fn a_guest_reads_its_seed_grows_its_disk_and_lets_go_of_the_seed() {
    let (path, sha256) = image();
    let hypervisor = Hypervisor::up("gwguest", 41);
    let site = Site::start(&hypervisor.outside()).await;
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    has_image(&client, &sha256, &site.serve(&path)).await;
    let before = hypervisor.inventory();

    let mut wanted = spec("guest");
    wanted["memoryBytes"] = json!(1 << 30);
    wanted["rootDisk"] = json!({"sizeBytes": DISK, "image": sha256});
    let meta_data = format!("instance-id: {ID}\nlocal-hostname: guest\n");
    let body = json!({"spec": wanted, "seed": {"userData": USER_DATA, "metaData": meta_data}});
    let made = client.put(&machine(ID), &body).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");

    let seen = within(
        BOOT,
        "the words of its user-data on its console",
        async || {
            let text = console(&client).await;
            let (_, seen) = text.split_once("seen=")?;
            seen.split_once('=').map(|(size, _)| size.trim().to_owned())
        },
    );
    let seen: u64 = seen.await.parse().expect("a size");
    assert!(
        seen > DISK / 10 * 9,
        "its root file system has {seen} bytes of {DISK}"
    );
    let lease = until("its address", async || address(&client, "lease").await).await;

    // its own words, where the hypervisor knows nothing
    let other = hypervisor.gateway(&["--lease-directory", "/nowhere"]);
    let agent = within(BOOT, "its agent's words", async || {
        hypervisor.inside(&["ip", "neigh", "flush", "all"]);
        address(&other.client(), "agent").await
    });
    assert_eq!(agent.await["address"], lease["address"]);

    within(BOOT, "the seed's end", async || {
        let answer = client.delete(&format!("{}/seed", machine(ID))).await;
        let fine = answer.status.as_u16() == 204 || answer.code() == "SeedBusy";
        assert!(fine, "{answer:?}");
        (answer.status.as_u16() == 204).then_some(())
    })
    .await;
    let seen = client.get(&machine(ID)).await.json();
    assert_eq!(
        (&seen["seed"], &seen["state"]),
        (&json!(false), &json!("running"))
    );
    assert_eq!(
        hypervisor.inventory().files.len(),
        before.files.len() + 1,
        "its root disk"
    );

    assert_eq!(client.power(ID, "shutdown").await.status.as_u16(), 204);
    within(BOOT, "off", async || {
        (client.get(&machine(ID)).await.json()["state"] == "off").then_some(())
    })
    .await;
    client.delete(&machine(ID)).await;
    assert_eq!(hypervisor.inventory(), before);
}
