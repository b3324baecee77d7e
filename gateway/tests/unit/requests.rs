use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::client::{Client, machine, spec};
use crate::support::gateway::Gateway;

async fn put(client: &Client, kind: &str, body: String) -> (u16, String) {
    let request = client.request(Method::PUT, &machine(Uuid::from_u128(1)));
    let answer = client
        .send(request.header("content-type", kind).body(body))
        .await;
    (answer.status.as_u16(), answer.code())
}

#[tokio::test]
async fn requests_that_make_no_sense_are_answered_as_problems() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let good = json!({"spec": spec("a")}).to_string();
    let json = "application/json";
    let unknown = json!({"spec": spec("a"), "sped": 1}).to_string();
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        (json, "{".to_owned(), 400, "BadRequest"),
        (json, String::new(), 400, "BadRequest"),
        (json, format!("{good}{good}"), 400, "BadRequest"),
        (json, deep, 422, "BadSpec"),
        (json, "{}".to_owned(), 422, "BadSpec"),
        (json, "[]".to_owned(), 422, "BadSpec"),
        (json, unknown, 422, "UnknownField"),
        ("text/plain", good, 415, "UnsupportedMediaType"),
        (json, " ".repeat((1 << 20) + 1), 413, "BodyTooLarge"),
    ];
    for (kind, body, status, code) in cases {
        let start: String = body.chars().take(60).collect();
        assert_eq!(
            put(&client, kind, body).await,
            (status, code.to_owned()),
            "{start}"
        );
    }
    assert_eq!(client.get("/v1/machines/x").await.code(), "BadSpec");
    assert_eq!(client.get("/v1/images/x").await.code(), "BadSpec");
    assert_eq!(client.get("/v2").await.code(), "NoSuchPath");
    assert_eq!(client.delete("/v1/machines").await.code(), "NoSuchMethod");
    let console = format!("{}/console?bytes=9999999999", machine(Uuid::from_u128(1)));
    assert_eq!(client.get(&console).await.code(), "BadSpec");
}

#[tokio::test]
async fn a_seed_of_the_wrong_type_is_not_quoted() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let body = json!({"spec": spec("a"), "seed": {"userData": ["secret-words"], "metaData": ""}});
    let answer = client.put(&machine(Uuid::from_u128(1)), &body).await;
    assert_eq!(answer.code(), "BadSpec");
    let body = json!({"spec": spec("a"), "seed": "secret-words"});
    let other = client.put(&machine(Uuid::from_u128(1)), &body).await;
    for text in [answer.text, other.text, gateway.log()] {
        assert!(!text.contains("secret-words"), "{text}");
    }
}
