use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::client::Client;
use crate::support::gateway::{Gateway, NODE, tokens};
use crate::support::pki::{Authority, write};
use crate::support::until;

pub const GOOD: &str = "good-0123456789abcdef";
const OLD: &str = "old-0123456789abcdef0";

/// A gateway over HTTPS, its authority, and the authority of its clients.
pub fn gateway(mutual: bool, bearer: bool) -> (Gateway, Authority, Authority) {
    let (ours, theirs) = (Authority::new("servers"), Authority::new("clients"));
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let leaf = ours.server();
    write(at, "node.xml", NODE);
    let cert = write(at, "tls.crt", &leaf.certificate)
        .display()
        .to_string();
    let key = write(at, "tls.key", &leaf.key).display().to_string();
    let client_ca = write(at, "clients.crt", &theirs.certificate)
        .display()
        .to_string();
    let lines = format!("{GOOD} 2999-01-01T00:00:00Z\n{OLD} 2001-01-01T00:00:00Z\n");
    let token_file = tokens(at, &lines).display().to_string();
    let mut arguments = vec![
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
    ];
    if mutual {
        arguments.extend(["--client-ca", &client_ca]);
    }
    if bearer {
        arguments.extend(["--token-file", &token_file]);
    }
    let uri = format!("test://{}/node.xml", at.display());
    (Gateway::on(&uri, folder, &arguments), ours, theirs)
}

#[tokio::test]
async fn a_bearer_token_is_accepted_and_every_route_needs_it() {
    let (gateway, ours, _) = gateway(false, true);
    let address = gateway.address();
    let good = Client::https(&address, &ours.certificate, Some(GOOD), None);
    assert_eq!(good.get("/v1/capacity").await.status.as_u16(), 200);
    let none = Client::https(&address, &ours.certificate, None, None);
    let wrong = Client::https(
        &address,
        &ours.certificate,
        Some("wrong-0123456789abcdef"),
        None,
    );
    for path in ["/openapi.json", "/v1/capacity", "/v1/events", "/nowhere"] {
        for client in [&none, &wrong] {
            let answer = client.get(path).await;
            assert_eq!(
                (answer.status.as_u16(), &*answer.code()),
                (401, "Unauthenticated"),
                "{path}"
            );
        }
    }
    let basic = none
        .request(Method::GET, "/v1/capacity")
        .basic_auth(GOOD, Some(GOOD));
    assert_eq!(none.send(basic).await.code(), "Unauthenticated");
    assert!(!gateway.log().contains(GOOD));
}

#[tokio::test]
async fn an_expired_token_is_refused_by_name() {
    let (gateway, ours, _) = gateway(false, true);
    let client = Client::https(&gateway.address(), &ours.certificate, Some(OLD), None);
    let answer = client.get("/v1/capacity").await;
    assert_eq!(
        (answer.status.as_u16(), &*answer.code()),
        (401, "TokenExpired")
    );
}

#[tokio::test]
async fn tokens_are_read_again_when_their_file_changes() {
    let (gateway, ours, _) = gateway(false, true);
    let client = Client::https(&gateway.address(), &ours.certificate, Some(GOOD), None);
    assert_eq!(client.get("/v1/capacity").await.status.as_u16(), 200);
    tokens(gateway.folder.path(), "another-0123456789abcdef\n");
    assert_eq!(client.get("/v1/capacity").await.code(), "Unauthenticated");
}

#[tokio::test]
async fn a_client_certificate_is_accepted_and_none_or_anothers_is_refused() {
    let (gateway, ours, theirs) = gateway(true, false);
    let address = gateway.address();
    let get = async |leaf| {
        let client = Client::https(&address, &ours.certificate, None, leaf);
        client
            .try_send(client.request(Method::GET, "/v1/capacity"))
            .await
    };
    let leaf = theirs.client();
    assert_eq!(
        get(Some(&leaf)).await.expect("an answer").status.as_u16(),
        200
    );
    assert!(get(None).await.is_err(), "TLS refuses who shows none");
    let stranger = Authority::new("strangers").client();
    assert!(
        get(Some(&stranger)).await.is_err(),
        "TLS refuses another authority's"
    );
    let server = theirs.server();
    assert!(
        get(Some(&server)).await.is_err(),
        "TLS refuses one that is not for clients"
    );
}

#[tokio::test]
async fn with_both_either_is_enough_and_a_wrong_certificate_is_refused_all_the_same() {
    let (gateway, ours, theirs) = gateway(true, true);
    let address = gateway.address();
    let leaf = theirs.client();
    let certificate = Client::https(&address, &ours.certificate, None, Some(&leaf));
    assert_eq!(certificate.get("/v1/capacity").await.status.as_u16(), 200);
    let token = Client::https(&address, &ours.certificate, Some(GOOD), None);
    assert_eq!(token.get("/v1/capacity").await.status.as_u16(), 200);
    let neither = Client::https(&address, &ours.certificate, None, None);
    assert_eq!(neither.get("/v1/capacity").await.code(), "Unauthenticated");
    let stranger = Authority::new("strangers").client();
    let wrong = Client::https(&address, &ours.certificate, Some(GOOD), Some(&stranger));
    assert!(
        wrong
            .try_send(wrong.request(Method::GET, "/v1/capacity"))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_renewed_certificate_is_used_without_a_restart() {
    let (gateway, _, _) = gateway(false, true);
    let renewed = Authority::new("renewed");
    let leaf = renewed.server();
    write(gateway.folder.path(), "tls.key", &leaf.key);
    write(gateway.folder.path(), "tls.crt", &leaf.certificate);
    let address = gateway.address();
    let status = until("the new certificate", async || {
        let client = Client::https(&address, &renewed.certificate, Some(GOOD), None);
        client
            .try_send(client.request(Method::GET, "/v1/capacity"))
            .await
            .ok()
    });
    assert_eq!(status.await.status.as_u16(), 200);
}

#[tokio::test]
async fn the_unix_socket_is_its_owners_alone_and_gone_afterwards() {
    let mut gateway = Gateway::start(&[]);
    let socket = gateway.folder.path().join("socket");
    let mode = fs::metadata(&socket)
        .expect("a socket")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(gateway.end().success());
    assert!(!socket.exists());
}

/// What the gateway says when it does not start.
fn refusal(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tatara-gateway"))
        .args(["--libvirt", "test:///default"])
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn without_a_guard_it_does_not_start() {
    assert!(refusal(&[]).contains("nowhere to listen"));
    assert!(refusal(&["--listen", "127.0.0.1:0"]).contains("--token-file"));
    let folder = tempfile::tempdir().expect("a folder");
    let leaf = Authority::new("servers").server();
    let cert = write(folder.path(), "tls.crt", &leaf.certificate)
        .display()
        .to_string();
    let key = write(folder.path(), "tls.key", &leaf.key)
        .display()
        .to_string();
    let https = [
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
    ];
    assert!(refusal(&https).contains("--token-file"));
    let open = write(folder.path(), "tokens", GOOD);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).expect("a mode");
    let open = open.display().to_string();
    let said = refusal(&[&https[..], &["--token-file", &open]].concat());
    assert!(said.contains("chmod 600"), "{said}");
    assert!(!said.contains(GOOD));
}

#[tokio::test]
async fn strangers_at_the_address_do_not_shut_out_the_socket() {
    let (gateway, _, _) = gateway(true, false);
    let address = gateway.address();
    let mut strangers = Vec::new();
    for _ in 0..520 {
        strangers.push(TcpStream::connect(&address).await.expect("a connection"));
    }
    let client = gateway.client();
    let answer = timeout(Duration::from_secs(5), client.get("/v1/machines"));
    assert_eq!(answer.await.expect("at once").status.as_u16(), 200);
}

#[tokio::test]
async fn strangers_shut_out_neither_those_elsewhere_nor_those_who_have_proved_themselves() {
    let (gateway, ours, _) = gateway(false, true);
    let address = gateway.address();
    let known = Client::https(&address, &ours.certificate, Some(GOOD), None);
    // more than may be open from one address without proof
    let mut streams = Vec::new();
    for _ in 0..80 {
        let stream = known.request(Method::GET, "/v1/events").send().await;
        streams.push(stream.expect("a stream"));
    }
    let mut strangers = Vec::new();
    for _ in 0..520 {
        strangers.push(TcpStream::connect(&address).await.expect("a connection"));
    }
    let elsewhere = Client::https_from("127.0.0.2", &address, &ours.certificate, Some(GOOD));
    let answer = timeout(Duration::from_secs(5), elsewhere.get("/v1/machines"));
    assert_eq!(answer.await.expect("at once").status.as_u16(), 200);
    assert!(streams.iter().all(|stream| stream.status().is_success()));
}
