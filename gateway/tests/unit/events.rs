use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::Value;
use uuid::Uuid;

use crate::auth::{self, GOOD};
use crate::support::client::{Client, spec};
use crate::support::gateway::{Gateway, tokens};

/// A listener.
struct Listener {
    response: Response,
    text: String,
}

impl Listener {
    async fn new(client: &Client) -> Self {
        let response = client
            .request(Method::GET, "/v1/events")
            .send()
            .await
            .expect("an answer");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            text: String::new(),
        }
    }

    /// The next event: name and data. `None` when the stream has ended.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(str::to_owned)
                };
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name, serde_json::from_str(&data).expect("JSON")));
                }
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_mins(1), self.response.chunk());
            let chunk = chunk.await.expect("within a minute").ok()??;
            self.text
                .push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    /// The next event of a name, and the names of those before it.
    async fn until(&mut self, name: &str) -> (Value, Vec<String>) {
        let mut before = Vec::new();
        loop {
            let (seen, data) = self.next().await.expect("an event");
            if seen == name {
                return (data, before);
            }
            before.push(seen);
        }
    }
}

#[tokio::test]
async fn a_listener_hears_all_that_there_is_and_then_what_changes() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    client.create(first, &spec("a")).await;
    let mut listener = Listener::new(&client).await;
    let (_, before) = listener.until("synced").await;
    assert_eq!(before, ["machine", "capacity"]);

    client.create(second, &spec("b")).await;
    let (machine, _) = listener.until("machine").await;
    assert_eq!(machine["id"], second.to_string());
    let (capacity, _) = listener.until("capacity").await;
    assert_eq!(capacity["cpus"]["allocated"], 4);

    client.power(second, "off").await;
    let (machine, _) = listener.until("machine").await;
    assert_eq!(
        (&machine["id"], &machine["state"]),
        (&second.to_string().into(), &"off".into())
    );

    client.delete(&format!("/v1/machines/{first}")).await;
    let (gone, before) = listener.until("machine-gone").await;
    assert_eq!(gone["id"], first.to_string());
    assert!(
        !before.contains(&"machine".to_owned()),
        "the other did not change: {before:?}"
    );
}

#[tokio::test]
async fn later_listeners_hear_everything_and_all_hear_the_same_change() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let mut early = Listener::new(&client).await;
    early.until("synced").await;
    client.create(Uuid::from_u128(1), &spec("a")).await;
    let (told, _) = early.until("machine").await;
    let mut late = Listener::new(&client).await;
    let (same, _) = late.until("machine").await;
    assert_eq!(told, same);
    late.until("synced").await;
    client
        .delete(&format!("/v1/machines/{}", Uuid::from_u128(1)))
        .await;
    early.until("machine-gone").await;
    late.until("machine-gone").await;
}

#[tokio::test]
async fn streams_end_with_the_gateway() {
    let mut gateway = Gateway::start(&[]);
    let mut listener = Listener::new(&gateway.client()).await;
    listener.until("synced").await;
    let ended = tokio::task::spawn_blocking(move || gateway.end());
    while listener.next().await.is_some() {}
    assert!(ended.await.expect("an end").success());
}

#[tokio::test]
async fn a_token_that_is_taken_away_hears_nothing_more() {
    let (gateway, ours, _) = auth::gateway(false, true);
    let client = Client::https(&gateway.address(), &ours.certificate, Some(GOOD), None);
    let mut listener = Listener::new(&client).await;
    listener.until("synced").await;
    tokens(gateway.folder.path(), "another-0123456789abcdef\n");
    let made = gateway
        .client()
        .create(Uuid::from_u128(1), &spec("a"))
        .await;
    assert_eq!(made.status.as_u16(), 201);
    assert_eq!(listener.next().await, None);
}
