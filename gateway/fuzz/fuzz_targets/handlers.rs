//! Requests in any order, on libvirt's test driver: every answer is one that the description has,
//! and never more is given out than there is. Input: lines `METHOD PATH`, each followed by a line
//! with its body.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use libfuzzer_sys::fuzz_target;
use tatara_gateway::api::router;
use tatara_gateway::api::types::{Capacity, MachineList, ProblemBody};
use tatara_gateway::app::App;
use tatara_gateway::auth::{Guard, Trust};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// Requests of one input.
const MOST: usize = 12;

thread_local! {
    static GATEWAY: RefCell<Option<(Runtime, Router)>> = const { RefCell::new(None) };
}

fn gateway() -> (Runtime, Router) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let args = [
        "gateway",
        "--libvirt",
        "test:///default",
        "--memory-overcommit",
        "100",
    ];
    let args = <tatara_gateway::args::Args as clap::Parser>::parse_from(args);
    let router = router(Arc::new(App::new(&args)), Arc::new(Guard::new(None)));
    (runtime, router.layer(axum::Extension(Trust::Socket)))
}

async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    body: &str,
) -> Option<(StatusCode, Vec<u8>)> {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()));
    let response = router
        .clone()
        .oneshot(request.ok()?)
        .await
        .expect("an answer");
    let status = response.status();
    let kind = response
        .headers()
        .get("content-type")
        .map(|kind| kind.as_bytes().to_vec());
    if kind.as_deref() == Some(b"text/event-stream") {
        return None;
    }
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes()
        .to_vec();
    if status.is_client_error() || status.is_server_error() {
        assert_eq!(
            kind.as_deref(),
            Some(&b"application/problem+json"[..]),
            "{method} {path}"
        );
        if method != "HEAD" {
            let problem: ProblemBody = serde_json::from_slice(&body).expect("a problem");
            assert_eq!(problem.status, status.as_u16());
            assert!(!problem.code.is_empty() && !problem.detail.is_empty());
        }
    }
    assert_ne!(
        status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "{method} {path} {body:?}"
    );
    Some((status, body))
}

async fn run(router: &Router, text: &str) {
    let mut lines = text.lines();
    for _ in 0..MOST {
        let (Some(head), body) = (lines.next(), lines.next().unwrap_or_default()) else {
            break;
        };
        let Some((method, path)) = head.split_once(' ') else {
            continue;
        };
        // nobody polls in here: who listens would wait for ever
        if !path.starts_with("/v1/events") {
            ask(router, method, path, body).await;
        }
    }
    let (_, capacity) = ask(router, "GET", "/v1/capacity", "")
        .await
        .expect("an answer");
    let capacity: Capacity = serde_json::from_slice(&capacity).expect("a capacity");
    assert!(capacity.cpus.allocated <= capacity.cpus.limit);
    assert!(capacity.memory_bytes.allocated <= capacity.memory_bytes.limit);
    // the next input finds nothing of this one
    let (_, list) = ask(router, "GET", "/v1/machines", "")
        .await
        .expect("an answer");
    let list: MachineList = serde_json::from_slice(&list).expect("machines");
    for machine in list.items {
        let path = format!("/v1/machines/{}", machine.id);
        let (status, _) = ask(router, "DELETE", &path, "").await.expect("an answer");
        assert_eq!(status, StatusCode::NO_CONTENT);
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    GATEWAY.with_borrow_mut(|slot| {
        let (runtime, router) = slot.get_or_insert_with(gateway);
        runtime.block_on(run(router, text));
    });
});
