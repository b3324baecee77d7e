//! The gateway on a real libvirtd with QEMU: images, seeds, addresses, and what goes wrong.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod cut;
mod faults;
mod images;
mod leftovers;
mod machines;
mod odd;
mod slow_server;

use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::StatusCode;
use serde_json::{Value, json};

use support::client::Client;
use support::hypervisor::Hypervisor;
use support::site::Site;
use support::until;

/// A file that machines can start from, and its checksum.
struct ImageFile {
    path: PathBuf,
    sha256: String,
}

/// A qcow2 image of a blank disk, unlike any other.
fn image_file(folder: &Path) -> ImageFile {
    let path = folder.join("image.qcow2");
    qemu_img(&[
        "create",
        "-q",
        "-f",
        "qcow2",
        path.to_str().expect("text"),
        "64M",
    ]);
    known(path)
}

fn known(path: PathBuf) -> ImageFile {
    let sum = Command::new("sha256sum")
        .arg(&path)
        .output()
        .expect("sha256sum runs");
    let sum = String::from_utf8(sum.stdout).expect("text");
    let sha256 = sum.split_whitespace().next().expect("a sum").to_owned();
    ImageFile { path, sha256 }
}

fn qemu_img(arguments: &[&str]) {
    let status = Command::new("qemu-img")
        .args(arguments)
        .status()
        .expect("qemu-img runs");
    assert!(status.success());
}

/// Asks for an image until it is no longer being fetched.
async fn fetched(client: &Client, sha256: &str, request: &Value) -> Value {
    let path = format!("/v1/images/{sha256}");
    let asked = client.put(&path, request).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{asked:?}");
    let pool = request["pool"].as_str().unwrap_or("default");
    let path = format!("{path}?pool={pool}");
    until("the image's end", async || {
        let image = client.get(&path).await.json();
        (image["state"] != "fetching").then_some(image)
    })
    .await
}

/// Serves and fetches an image; its checksum.
async fn ready_image(hypervisor: &Hypervisor, client: &Client) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image_file(folder.path());
    let site = Site::start(&hypervisor.outside()).await;
    let request = json!({"url": site.serve(&image.path), "format": "qcow2"});
    let seen = fetched(client, &image.sha256, &request).await;
    assert_eq!(seen["state"], "ready", "{seen}");
    image.sha256
}

/// A small machine from an image, with a seed.
fn request(name: &str, image: &str) -> Value {
    let mut spec = support::client::spec(name);
    spec["rootDisk"]["image"] = json!(image);
    spec["disks"] = json!([{"name": "data", "sizeBytes": 1 << 20}]);
    json!({"spec": spec, "seed": {"userData": "secret-words", "metaData": "instance-id: x\n"}})
}
