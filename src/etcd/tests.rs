//! What is asked of etcd.

use std::sync::{Arc, Mutex};

use http::Response;
use tower::service_fn;

use super::*;

/// Path and body of each request.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A member that answers all with this, and what it was asked.
fn member(answer: &Value) -> (Etcd, Asked) {
    let asked = Asked::default();
    let (all, answer) = (asked.clone(), answer.to_string());
    let http = service_fn(move |request: Request<Body>| {
        let (all, answer) = (all.clone(), answer.clone());
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await?;
            let body = serde_json::from_slice(&body).expect("JSON");
            all.lock().expect("a list").push((path, body));
            Ok::<_, kube::Error>(Response::new(Body::from(answer.into_bytes())))
        }
    });
    (Etcd::new(kube::Client::new(http, "default")), asked)
}

/// A list that is not linearizable may be that of a member that lost the others, and nothing may be
/// removed by that.
#[tokio::test]
async fn the_list_of_members_is_asked_of_the_quorum() {
    let listed = json!({ "ID": "7", "name": "node-7", "peerURLs": ["https://192.0.2.7:2380"], "clientURLs": [] });
    let (etcd, asked) = member(&json!({ "header": {}, "members": [listed] }));
    let members = etcd.members().await.expect("members");
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].id, MemberId(7));
    let question = json!({ "linearizable": true });
    let expected = [("/v3/cluster/member/list".to_owned(), question)];
    assert_eq!(*asked.lock().expect("a list"), expected);
}
