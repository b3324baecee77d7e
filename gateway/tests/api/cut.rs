//! A create that is cut: the gateway is killed when it has come so far.

use std::fs;

use serde_json::Value;
use uuid::Uuid;

use crate::support::client::machine;
use crate::support::gateway::Gateway;
use crate::support::hypervisor::Hypervisor;
use crate::support::until;
use crate::{ready_image, request};

/// How far a create has come.
#[derive(Clone, Copy, Debug)]
enum Point {
    RootDisk,
    Seed,
    Defined,
}

impl Point {
    fn reached(self, hypervisor: &Hypervisor, id: Uuid) -> bool {
        let exists = |file: &str| hypervisor.pool_folder().join(file).exists();
        match self {
            Self::RootDisk => exists(&format!("tatara-{id}-root.qcow2")),
            Self::Seed => exists(&format!("tatara-{id}-seed.img")),
            Self::Defined => {
                hypervisor
                    .folder
                    .join("etc/qemu")
                    .read_dir()
                    .is_ok_and(|mut files| {
                        files.any(|file| file.is_ok_and(|file| file.file_name() == "a.xml"))
                    })
            }
        }
    }
}

/// Begins a create, and kills the gateway when it has come to a point.
async fn cut(hypervisor: &Hypervisor, gateway: Gateway, id: Uuid, body: &Value, at: Point) {
    let (client, body) = (gateway.client(), body.clone());
    let create = tokio::spawn(async move {
        let request = client.request(reqwest::Method::PUT, &machine(id));
        let request = request
            .header("content-type", "application/json")
            .body(body.to_string());
        client.try_send(request).await.map(|answer| answer.status)
    });
    until("the point", async || {
        at.reached(hypervisor, id).then_some(())
    })
    .await;
    gateway.kill();
    // it may have been quicker than the kill
    let _ = create.await.expect("no panic");
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_create_that_is_cut_is_finished_by_the_next_one() {
    let hypervisor = Hypervisor::up("gwcut1", 21);
    let mut gateway = hypervisor.gateway(&[]);
    let image = ready_image(&hypervisor, &gateway.client()).await;
    let body = request("a", &image);
    let before = hypervisor.inventory();
    for (number, at) in (1..).zip([Point::RootDisk, Point::Seed, Point::Defined]) {
        let id = Uuid::from_u128(number);
        cut(&hypervisor, gateway, id, &body, at).await;
        gateway = hypervisor.gateway(&[]);
        let client = gateway.client();
        let made = client.put(&machine(id), &body).await;
        assert!(made.status.is_success(), "{at:?}: {made:?}");
        let made = client.get(&machine(id)).await.json();
        assert_eq!(
            (&made["state"], &made["seed"]),
            (&"running".into(), &true.into()),
            "{at:?}"
        );
        assert_eq!(made.get("incomplete"), None, "{at:?}");
        let now = hypervisor.inventory();
        assert_eq!(
            (now.domains.len(), now.files.len()),
            (1, 4),
            "{at:?}: {now:?}"
        );
        let seed = hypervisor
            .pool_folder()
            .join(format!("tatara-{id}-seed.img"));
        let seed = fs::read(seed).expect("a seed");
        assert!(
            seed.windows(12).any(|window| window == b"secret-words"),
            "{at:?}"
        );
        client.delete(&machine(id)).await;
        assert_eq!(hypervisor.inventory(), before, "{at:?}");
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_create_that_is_cut_is_cleaned_by_a_delete() {
    let hypervisor = Hypervisor::up("gwcut2", 22);
    let mut gateway = hypervisor.gateway(&[]);
    let image = ready_image(&hypervisor, &gateway.client()).await;
    let body = request("a", &image);
    let before = hypervisor.inventory();
    for (number, at) in (1..).zip([Point::RootDisk, Point::Seed, Point::Defined]) {
        let id = Uuid::from_u128(number);
        cut(&hypervisor, gateway, id, &body, at).await;
        gateway = hypervisor.gateway(&[]);
        let client = gateway.client();
        // libvirt may still allocate the disk, and deletes none that it allocates: a caller repeats
        // what it refuses
        let deleted = until("an end of the allocation", async || {
            let answer = client.delete(&machine(id)).await;
            let is_refused = answer.status == 409 && answer.code() == "OperationInvalid";
            (!is_refused).then_some(answer)
        })
        .await;
        assert_eq!(deleted.status.as_u16(), 204, "{at:?}");
        assert_eq!(hypervisor.inventory(), before, "{at:?}");
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_caller_who_goes_away_cuts_nothing() {
    let hypervisor = Hypervisor::up("gwaway", 23);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    let id = Uuid::from_u128(1);
    let (caller, body) = (client.clone(), request("a", &image));
    let create = tokio::spawn(async move { caller.put(&machine(id), &body).await });
    until("its disk", async || {
        Point::RootDisk.reached(&hypervisor, id).then_some(())
    })
    .await;
    create.abort();
    let made = until("the machine", async || {
        let seen = client.get(&machine(id)).await;
        let whole = seen.status.is_success() && seen.json().get("incomplete").is_none();
        whole.then(|| seen.json())
    });
    assert_eq!(made.await["state"], "running");
}
