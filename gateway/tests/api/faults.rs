use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::support::client::{machine, spec};
use crate::support::hypervisor::Hypervisor;
use crate::support::until;
use crate::{ready_image, request};

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn libvirtd_restarted_in_mid_create_costs_time_and_leaves_nothing() {
    let hypervisor = Hypervisor::up("gwrest", 31);
    let gateway = hypervisor.gateway(&["--cpu-overcommit", "100"]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    let before = hypervisor.inventory();
    let ids: Vec<_> = (1..=6).map(Uuid::from_u128).collect();
    let create = async |id: &Uuid| {
        let body = request(&format!("m-{}", id.as_u128()), &image);
        until("made", async || {
            let answer = client.put(&machine(*id), &body).await;
            // what a restart cuts is said as that, and asked again
            let fine = answer.status.is_success() || answer.code().starts_with("Libvirt");
            assert!(fine, "{answer:?}");
            answer.status.is_success().then_some(())
        })
        .await;
    };
    let restart = async {
        until("the first disk", async || {
            (hypervisor.inventory() != before).then_some(())
        })
        .await;
        hypervisor.restart();
    };
    futures::join!(join_all(ids.iter().map(create)), restart);
    assert_eq!(client.machines().await.len(), 6);
    let now = hypervisor.inventory();
    assert_eq!(
        (now.domains.len(), now.files.len()),
        (6, 1 + 6 * 3),
        "{now:?}"
    );
    for id in &ids {
        assert_eq!(client.delete(&machine(*id)).await.status.as_u16(), 204);
    }
    assert_eq!(hypervisor.inventory(), before);
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_machine_that_does_not_start_leaves_nothing() {
    let hypervisor = Hypervisor::up("gwmem", 32);
    let gateway = hypervisor.gateway(&["--memory-overcommit", "1000"]);
    let client = gateway.client();
    let before = hypervisor.inventory();
    let mut wanted = spec("a");
    wanted["memoryBytes"] = json!(8_u64 << 40);
    let refused = client.create(Uuid::from_u128(1), &wanted).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (500, "LibvirtFailed"),
        "{refused:?}"
    );
    assert_eq!(hypervisor.inventory(), before);
    assert_eq!(client.machines().await.len(), 0);
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_full_pool_is_said_and_leaves_nothing() {
    let hypervisor = Hypervisor::up("gwpool", 33);
    hypervisor.pool("small", 1);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let before = hypervisor.inventory();
    let mut body = json!({"spec": spec("a")});
    body["spec"]["rootDisk"]["pool"] = json!("small");
    body["seed"] = json!({"userData": "x".repeat(900_000), "metaData": ""});
    let refused = client.put(&machine(Uuid::from_u128(1)), &body).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (507, "PoolFull"),
        "{refused:?}"
    );
    assert_eq!(hypervisor.inventory(), before);
    let volumes = hypervisor.virsh(&["vol-list", "small"]);
    assert_eq!(volumes.trim(), "", "nothing is left in there");
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_restart_of_libvirtd_between_requests_is_not_the_callers_business() {
    let hypervisor = Hypervisor::up("gwagain", 34);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    client.create(Uuid::from_u128(1), &spec("a")).await;
    for _ in 0..3 {
        hypervisor.restart();
        let seen = client.get(&machine(Uuid::from_u128(1))).await;
        assert_eq!(
            (seen.status.as_u16(), &seen.json()["state"]),
            (200, &json!("running"))
        );
    }
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_libvirtd_that_hangs_is_said_and_listeners_are_sent_away() {
    let hypervisor = Hypervisor::up("gwhang", 35);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let events = client.request(Method::GET, "/v1/events").send();
    let events = events.await.expect("events");
    hypervisor.signal("STOP");
    let held = tokio::spawn({
        let client = client.clone();
        async move { client.get("/v1/capacity").await }
    });
    let events = timeout(Duration::from_mins(1), events.text()).await;
    let events = events.expect("its end").expect("a whole stream");
    assert!(events.contains("event: synced"));
    let answer = client.get("/v1/events").await;
    assert_eq!(
        (answer.status.as_u16(), &*answer.code()),
        (503, "LibvirtUnavailable")
    );
    hypervisor.signal("CONT");
    assert_eq!(held.await.expect("no panic").status.as_u16(), 200);
    assert_eq!(client.get("/v1/capacity").await.status.as_u16(), 200);
}
