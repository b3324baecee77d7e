use std::fs;

use uuid::Uuid;

use crate::support::client::spec;
use crate::support::gateway::{Gateway, NODE};

#[tokio::test]
async fn libvirt_that_is_not_there_is_said_and_found_when_it_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = folder.path().join("node.xml");
    let gateway = Gateway::on(&format!("test://{}", node.display()), folder, &[]);
    let client = gateway.client();
    let answer = client.get("/v1/capacity").await;
    assert_eq!(
        (answer.status.as_u16(), &*answer.code()),
        (503, "LibvirtUnavailable")
    );
    let answer = client.get("/v1/events").await;
    assert_eq!(
        (answer.status.as_u16(), &*answer.code()),
        (503, "LibvirtUnavailable")
    );
    fs::write(node, NODE).expect("a file");
    assert_eq!(client.get("/v1/capacity").await.status.as_u16(), 200);
    assert_eq!(
        client
            .create(Uuid::from_u128(1), &spec("a"))
            .await
            .status
            .as_u16(),
        201
    );
}

#[tokio::test]
async fn a_socket_that_a_killed_gateway_left_is_taken_over() {
    let mut killed = Gateway::start(&[]);
    let socket = killed.folder.path().join("socket").display().to_string();
    killed.process.kill().expect("killed");
    killed.process.wait().expect("an end");
    assert!(fs::exists(&socket).expect("a look"));
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("node.xml"), NODE).expect("a file");
    fs::rename(&socket, folder.path().join("socket")).expect("moved");
    let uri = format!("test://{}/node.xml", folder.path().display());
    let gateway = Gateway::on(&uri, folder, &[]);
    assert_eq!(
        gateway.client().get("/v1/machines").await.status.as_u16(),
        200
    );
}

#[tokio::test]
async fn log_lines_are_json_when_asked_for() {
    let gateway = Gateway::start(&["--log-json"]);
    gateway
        .client()
        .create(Uuid::from_u128(1), &spec("a"))
        .await;
    let line = gateway.wait_for("created a machine");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["id"], Uuid::from_u128(1).to_string());
}
