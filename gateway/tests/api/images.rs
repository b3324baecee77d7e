use std::fs;

use futures::future::join_all;
use serde_json::json;

use crate::support::client::machine;
use crate::support::hypervisor::Hypervisor;
use crate::support::site::Site;
use crate::support::until;
use crate::{fetched, image_file, known, qemu_img, ready_image, request, slow_server};

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn an_image_is_fetched_once_and_a_wrong_checksum_leaves_nothing() {
    let hypervisor = Hypervisor::up("gwimg", 1);
    let site = Site::start(&hypervisor.outside()).await;
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let folder = tempfile::tempdir().expect("a folder");
    let image = image_file(folder.path());
    let before = hypervisor.inventory();
    let request = json!({"url": site.serve(&image.path), "format": "qcow2"});

    let wrong = "0".repeat(64);
    let failed = fetched(&client, &wrong, &request).await;
    assert_eq!(failed["state"], "failed");
    assert_eq!(failed["error"]["code"], "ChecksumMismatch", "{failed}");
    assert!(
        failed["error"]["detail"]
            .as_str()
            .expect("text")
            .contains(&image.sha256)
    );
    assert_eq!(hypervisor.inventory(), before);
    assert_eq!(site.served("image.qcow2"), 1);

    let path = format!("/v1/images/{}", image.sha256);
    let asked = join_all((0..20).map(|_| client.put(&path, &request))).await;
    assert!(
        asked.iter().all(|answer| answer.status.is_success()),
        "{asked:?}"
    );
    let ready = until("ready", async || {
        let answer = client.put(&path, &request).await;
        (answer.status.as_u16() == 200).then(|| answer.json())
    });
    let ready = ready.await;
    let bytes = fs::metadata(&image.path).expect("a file").len();
    assert_eq!(
        (&ready["state"], &ready["receivedBytes"]),
        (&json!("ready"), &json!(bytes))
    );
    assert_eq!(site.served("image.qcow2"), 2, "one for each checksum");
    let file = hypervisor
        .pool_folder()
        .join(format!("tatara-image-{}.qcow2", image.sha256));
    assert_eq!(
        fs::read(file).expect("the image"),
        fs::read(&image.path).expect("a file")
    );
    let other = json!({"url": site.serve(&image.path), "format": "raw"});
    let refused = client.put(&path, &other).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (409, "ImageDiffers")
    );
    assert!(refused.text.contains("format qcow2"), "{refused:?}");
    // a restarted gateway knows it as well
    drop(gateway);
    let gateway = hypervisor.gateway(&[]);
    assert_eq!(gateway.client().get(&path).await.json(), ready);
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn images_that_cannot_be_had_or_trusted_are_refused_by_name() {
    let hypervisor = Hypervisor::up("gwbad", 2);
    let site = Site::start(&hypervisor.outside()).await;
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let folder = tempfile::tempdir().expect("a folder");
    let image = image_file(folder.path());
    let before = hypervisor.inventory();
    let url = site.serve(&image.path);

    let missing = json!({"url": format!("{url}.not"), "format": "qcow2"});
    let failed = fetched(&client, &image.sha256, &missing).await;
    assert_eq!(failed["error"]["code"], "FetchFailed");
    assert!(
        failed["error"]["detail"]
            .as_str()
            .expect("text")
            .contains("404"),
        "{failed}"
    );
    let nobody = "http://127.0.0.1:9/secret-words";
    let nobody = json!({"url": nobody, "format": "qcow2"});
    let failed = fetched(&client, &image.sha256, &nobody).await;
    assert_eq!(failed["error"]["code"], "FetchFailed");
    assert!(!failed.to_string().contains("secret-words"), "{failed}");
    assert!(!gateway.log().contains("secret-words"));

    let child = folder.path().join("child.qcow2");
    let (parent, name) = (
        image.path.to_str().expect("text"),
        child.to_str().expect("text"),
    );
    qemu_img(&[
        "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", parent, name,
    ]);
    let child = known(child);
    let backed = json!({"url": site.serve(&child.path), "format": "qcow2"});
    let failed = fetched(&client, &child.sha256, &backed).await;
    assert_eq!(failed["error"]["code"], "ImageRefused");
    assert!(
        failed["error"]["detail"]
            .as_str()
            .expect("text")
            .contains("backing file"),
        "{failed}"
    );

    let text = folder.path().join("text");
    fs::write(&text, "no image").expect("a file");
    let text = known(text);
    let no_image = json!({"url": site.serve(&text.path), "format": "qcow2"});
    let failed = fetched(&client, &text.sha256, &no_image).await;
    assert_eq!(failed["error"]["code"], "ImageRefused", "{failed}");
    assert_eq!(hypervisor.inventory(), before);

    for (field, value) in [("url", "file:///etc/passwd"), ("pool", "nopool")] {
        let mut bad = json!({"url": url, "format": "qcow2"});
        bad[field] = json!(value);
        let answer = client
            .put(&format!("/v1/images/{}", image.sha256), &bad)
            .await;
        assert_eq!(
            (answer.status.as_u16(), &*answer.code()),
            (422, "BadSpec"),
            "{answer:?}"
        );
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_disk_that_is_full_in_mid_image_is_said_and_given_back() {
    let hypervisor = Hypervisor::up("gwfull", 3);
    let site = Site::start(&hypervisor.outside()).await;
    let small = hypervisor.pool("small", 16);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.raw");
    fs::write(&large, vec![0x5a; 24 << 20]).expect("a file");
    let large = known(large);
    let url = site.serve(&large.path);
    let request = json!({"url": url, "format": "raw", "pool": "small"});
    let failed = fetched(&client, &large.sha256, &request).await;
    assert_eq!(failed["error"]["code"], "DiskFull", "{failed}");
    let free = |capacity: &serde_json::Value| {
        let pools = capacity["pools"].as_array().expect("pools").clone();
        pools
            .into_iter()
            .find(|pool| pool["name"] == "small")
            .expect("it")["availableBytes"]
            .clone()
    };
    hypervisor.virsh(&["pool-refresh", "small"]);
    assert!(free(&client.capacity().await).as_u64().expect("a size") > 15 << 20);
    assert!(!small.exists() || fs::read_dir(small).expect("a folder").next().is_none());
    // the other pool has room
    let request = json!({"url": url, "format": "raw"});
    assert_eq!(
        fetched(&client, &large.sha256, &request).await["state"],
        "ready"
    );
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn an_image_that_is_given_up_or_cut_leaves_nothing_and_can_be_fetched_again() {
    let hypervisor = Hypervisor::up("gwcutimg", 4);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let folder = tempfile::tempdir().expect("a folder");
    let image = image_file(folder.path());
    let content = fs::read(&image.path).expect("a file");
    let (first, rest) = content.split_at(content.len() / 2);
    let path = format!("/v1/images/{}", image.sha256);
    let before = hypervisor.inventory();
    let slow =
        async || slow_server::serve(&hypervisor.outside(), first.to_vec(), rest.to_vec()).await;
    let under_way = async |client: &crate::support::client::Client| {
        until("the first half", async || {
            let image = client.get(&path).await.json();
            (image["receivedBytes"] == json!(first.len())).then_some(())
        })
        .await;
        assert_eq!(hypervisor.inventory().files.len(), 1, "its part");
    };

    // given up
    let (url, held) = slow().await;
    client
        .put(&path, &json!({"url": url, "format": "qcow2"}))
        .await;
    under_way(&client).await;
    assert_eq!(client.delete(&path).await.status.as_u16(), 204);
    until("nothing", async || {
        (hypervisor.inventory() == before).then_some(())
    })
    .await;
    drop(held);

    // the server ends early
    let (url, held) = slow().await;
    client
        .put(&path, &json!({"url": url, "format": "qcow2"}))
        .await;
    under_way(&client).await;
    drop(held);
    let failed = until("its end", async || {
        let image = client.get(&path).await.json();
        (image["state"] == "failed").then_some(image)
    });
    assert_eq!(failed.await["error"]["code"], "FetchFailed");
    assert_eq!(hypervisor.inventory(), before);

    // the gateway is killed
    let (url, _held) = slow().await;
    client
        .put(&path, &json!({"url": url, "format": "qcow2"}))
        .await;
    under_way(&client).await;
    gateway.kill();
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    until("nothing", async || {
        (hypervisor.inventory() == before).then_some(())
    })
    .await;

    // and in the end it comes, slowly
    let (url, held) = slow().await;
    client
        .put(&path, &json!({"url": url, "format": "qcow2"}))
        .await;
    under_way(&client).await;
    let other = json!({"url": url, "format": "raw"});
    assert_eq!(client.put(&path, &other).await.code(), "ImageDiffers");
    held.send(()).expect("sent");
    until("ready", async || {
        (client.get(&path).await.json()["state"] == "ready").then_some(())
    })
    .await;
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn an_image_stays_while_a_disk_is_built_upon_it() {
    let hypervisor = Hypervisor::up("gwuse", 5);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    let id = uuid::Uuid::from_u128(5);
    let made = client.put(&machine(id), &request("a", &image)).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    let path = format!("/v1/images/{image}");
    assert_eq!(client.delete(&path).await.code(), "ImageInUse");
    client.delete(&machine(id)).await;
    for _ in 0..2 {
        assert_eq!(client.delete(&path).await.status.as_u16(), 204);
    }
    assert_eq!(client.get(&path).await.code(), "ImageUnknown");
    assert_eq!(hypervisor.inventory().files, Vec::<String>::new());
    // one that libvirt has not seen yet
    let file = hypervisor
        .pool_folder()
        .join(format!("tatara-image-{image}.raw"));
    fs::write(&file, "an image").expect("a file");
    assert_eq!(client.delete(&path).await.status.as_u16(), 204);
    assert!(!file.exists());
    let refused = client.put(&machine(id), &request("a", &image)).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (409, "ImageNotReady")
    );
}
