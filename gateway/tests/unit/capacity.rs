use futures::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::client::{Client, machine, spec};
use crate::support::gateway::Gateway;

async fn create_all(
    client: &Client,
    count: u128,
    cpus: u32,
) -> Vec<crate::support::client::Answer> {
    let specs: Vec<(Uuid, Value)> = (1..=count)
        .map(|i| {
            let mut wanted = spec(&format!("m-{i}"));
            wanted["cpus"] = json!(cpus);
            (Uuid::from_u128(i), wanted)
        })
        .collect();
    join_all(specs.iter().map(|(id, wanted)| client.create(*id, wanted))).await
}

#[tokio::test]
async fn fifty_creates_at_once_all_succeed_where_there_is_room() {
    let gateway = Gateway::start(&["--cpu-overcommit", "100"]);
    let client = gateway.client();
    for answer in create_all(&client, 50, 1).await {
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    }
    assert_eq!(client.machines().await.len(), 50);
}

#[tokio::test]
async fn fifty_creates_at_once_never_take_more_cpus_than_there_are() {
    // 8 CPUs, of which a domain that is not ours has 2
    let gateway = Gateway::start(&["--cpu-overcommit", "2"]);
    let client = gateway.client();
    let answers = create_all(&client, 50, 2).await;
    let made = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::CREATED)
        .count();
    let full = answers
        .iter()
        .filter(|answer| answer.status.as_u16() == 507);
    assert!(
        full.clone()
            .all(|answer| answer.code() == "InsufficientCapacity")
    );
    assert_eq!((made, full.count()), (7, 43));
    let cpus = &client.capacity().await["cpus"];
    assert_eq!(*cpus, json!({"total": 8, "limit": 16, "allocated": 16}));
    // of those that were refused nothing is left: the pool has what seven disks leave
    assert_eq!(client.machines().await.len(), 7);
    let pool = &client.capacity().await["pools"][0];
    let used = pool["capacityBytes"].as_u64().unwrap() - pool["availableBytes"].as_u64().unwrap();
    for id in 1..=50 {
        client.delete(&machine(Uuid::from_u128(id))).await;
    }
    let pool = &client.capacity().await["pools"][0];
    assert_eq!(
        pool["capacityBytes"], pool["availableBytes"],
        "{used} bytes were used by seven"
    );
}

#[tokio::test]
async fn memory_is_counted_with_foreign_domains_and_the_reserve() {
    let gateway = Gateway::start(&["--memory-reserve", "2147483648"]);
    let client = gateway.client();
    let memory = client.capacity().await["memoryBytes"].clone();
    let gib = 1_u64 << 30;
    let expected = json!({"total": 16 * gib, "limit": 14 * gib, "allocated": gib});
    assert_eq!(memory, expected);
    let mut wanted = spec("a");
    wanted["memoryBytes"] = json!(13 * gib + 1);
    let refused = client.create(Uuid::from_u128(1), &wanted).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (507, "InsufficientCapacity")
    );
    wanted["memoryBytes"] = json!(13 * gib);
    let made = client.create(Uuid::from_u128(1), &wanted).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
}

#[tokio::test]
async fn machines_that_are_off_keep_their_share() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    client.create(Uuid::from_u128(1), &spec("a")).await;
    let on = client.capacity().await;
    client.power(Uuid::from_u128(1), "off").await;
    assert_eq!(client.capacity().await, on);
}

#[tokio::test]
async fn five_hundred_machines_are_listed_whole_and_in_order() {
    let gateway = Gateway::start(&["--cpu-overcommit", "1000", "--memory-overcommit", "1000"]);
    let client = gateway.client();
    for answer in create_all(&client, 500, 1).await {
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    }
    let machines = client.machines().await;
    let ids = machines
        .iter()
        .map(|machine| machine["id"].as_str().expect("an id"));
    assert!(ids.eq((1..=500).map(|i| Uuid::from_u128(i).to_string())));
}
