//! Servers of Clusters that answer without an end, twenty at once, beside Clusters that are in order.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use crate::manager::world::World;
use crate::support::bmc::tls::{Identity, identity};
use crate::support::wait::until_true;

/// The Pod may have 512 MiB.
const MOST: u64 = 400;
/// What no log and no condition may have of an answer.
const CANARY: &str = "canary";

/// How a server misbehaves when it is asked for its Nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// A body without an end.
    Body,
    /// One byte a second.
    Drip,
    /// The same page, with a token for the next one.
    Again,
    /// A watch whose line has no end.
    Line,
    /// A million Nodes, in pages.
    Million,
    /// Headers without an end.
    Headers,
    /// A redirect to where it was asked.
    Circle,
    /// A string, where a list was asked for.
    Text,
    /// It is in order, and has as many Nodes as it may.
    Full,
}

impl Fault {
    /// What the condition says, one of these.
    fn told(self) -> &'static [&'static str] {
        match self {
            Self::Body => &["sent more than 16 MiB in one answer", "no answer within"],
            Self::Drip => &["no answer within"],
            Self::Again => &["sent more than 60 pages of one list"],
            Self::Line => &[
                "sent more than 4 MiB in one line of a watch",
                "no answer within",
            ],
            Self::Million => &["its API server has more than 20000 Nodes"],
            Self::Headers => &["sent more than 100 headers, or 400 KiB of them, in one answer"],
            Self::Circle => &["answers with a redirect, which is not followed"],
            Self::Text => &["its answer is not JSON of the kind that was requested"],
            Self::Full => &[],
        }
    }

    async fn nodes<S: AsyncWrite + Unpin>(self, to: &mut S, query: &str) -> Result<()> {
        let is_watch = query.contains("watch=");
        match self {
            Self::Body => {
                to.write_all(format!("{OK}\r\n{{\"items\":\"").as_bytes())
                    .await?;
                flood(to, b"x").await
            }
            Self::Drip => {
                to.write_all(format!("{OK}\r\n").as_bytes()).await?;
                loop {
                    to.write_all(b" ").await?;
                    to.flush().await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            Self::Again => json(to, &list(0, 2, 10, "again")).await,
            Self::Line if is_watch => {
                to.write_all(format!("{OK}\r\n{{\"type\":\"").as_bytes())
                    .await?;
                flood(to, b"x").await
            }
            Self::Line => json(to, &list(0, 2, 10, "")).await,
            Self::Million => {
                let from = continued(query);
                json(
                    to,
                    &list(from, from + 9_000, 10, &(from + 9_000).to_string()),
                )
                .await
            }
            Self::Headers => {
                to.write_all(OK.as_bytes()).await?;
                flood(to, b"X-More: and more\r\n").await
            }
            Self::Circle => {
                let circle =
                    "HTTP/1.1 302 Found\r\nLocation: /api/v1/nodes\r\nContent-Length: 0\r\n\r\n";
                to.write_all(circle.as_bytes()).await
            }
            Self::Text => json(to, &format!("\"{}\"", CANARY.repeat(2 << 20))).await,
            Self::Full if is_watch => {
                to.write_all(format!("{OK}\r\n").as_bytes()).await?;
                to.flush().await?;
                std::future::pending().await
            }
            Self::Full => {
                // as many of kubeadm's size as each of 20 clusters may have at any time
                let (from, all) = (continued(query), 1_400);
                let next = all.min(from + 500);
                let token = if next == all {
                    String::new()
                } else {
                    next.to_string()
                };
                json(to, &list(from, next, 1_700, &token)).await
            }
        }
    }
}

/// The beginning of an answer that ends with the connection.
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";

/// Writes until nobody reads.
async fn flood<S: AsyncWrite + Unpin>(to: &mut S, what: &[u8]) -> Result<()> {
    let much = what.repeat((16 << 10) / what.len());
    loop {
        to.write_all(&much).await?;
    }
}

async fn json<S: AsyncWrite + Unpin>(to: &mut S, body: &str) -> Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    to.write_all(head.as_bytes()).await?;
    to.write_all(body.as_bytes()).await?;
    to.flush().await
}

/// Where a page begins.
fn continued(query: &str) -> usize {
    let token = query
        .split(['?', '&'])
        .find_map(|pair| pair.strip_prefix("continue="));
    token
        .and_then(|token| token.parse().ok())
        .unwrap_or_default()
}

/// A page of Nodes, each with so many bytes of annotations.
fn list(from: usize, to: usize, bytes: usize, next: &str) -> String {
    let text = "a".repeat(bytes);
    let node =
        |n| format!("{{\"metadata\":{{\"name\":\"n{n}\",\"annotations\":{{\"a\":\"{text}\"}}}}}}");
    let nodes: Vec<String> = (from..to).map(node).collect();
    format!(
        "{{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"1\",\"continue\":\"{next}\"}},\"items\":[{}]}}",
        nodes.join(",")
    )
}

/// Answers the requests of one connection.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    fault: Fault,
    everywhere: bool,
) -> Result<()> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some(end) = text.find("\r\n\r\n") else {
            if stream.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
            continue;
        };
        read.drain(..end + 4);
        let path = text.split(' ').nth(1).unwrap_or_default();
        if everywhere || path.starts_with("/api/v1/nodes") {
            fault.nodes(&mut stream, path).await?;
        } else if path.starts_with("/version") {
            let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
                "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
            json(&mut stream, &version.to_string()).await?;
        } else {
            json(&mut stream, "ok").await?;
        }
    }
}

/// A Cluster with an API server of this kind; a second one of a kind may be so whatever it is asked for.
async fn attack(
    world: &World,
    (name, fault, everywhere): (&str, Fault, bool),
    servers: &mut JoinSet<()>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let Identity {
        acceptor,
        authority,
        ..
    } = identity();
    servers.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let acceptor = acceptor.clone();
            connections.spawn(async move {
                let accepted: Result<TlsStream<TcpStream>> = acceptor.accept(stream).await;
                if let Ok(stream) = accepted {
                    // it ends when the manager does not read further
                    answer(stream, fault, everywhere).await.ok();
                }
            });
            while connections.try_join_next().is_some() {}
        }
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    });
    let from = format!("--from-literal=value={kubeconfig}");
    world.kubectl(&[
        "create",
        "secret",
        "generic",
        &format!("{name}-kubeconfig"),
        &from,
    ]);
    world.plain_cluster(name, &json!([]));
}

/// Starts a server and a Cluster for each of these, and a Cluster that is in order before and after.
async fn attacked(world: &World, faults: &[(String, Fault, bool)], servers: &mut JoinSet<()>) {
    world.external_cluster("good", &json!([]));
    until_true("a good Cluster", || {
        healthy(world, "good")["reason"] == "ReadyzPassed"
    })
    .await;
    for (name, fault, everywhere) in faults {
        attack(world, (name, *fault, *everywhere), servers).await;
    }
}

/// The condition `ControlPlaneHealthy`.
fn healthy(world: &World, name: &str) -> Value {
    let cluster = world.kubectl(&["get", "cluster", name, "-o", "json"]);
    condition(&serde_json::from_str(&cluster).expect("JSON"))
}

fn condition(cluster: &Value) -> Value {
    let all = cluster["status"]["conditions"].as_array();
    let mut all = all.into_iter().flatten();
    let found = all.find(|condition| condition["type"] == "ControlPlaneHealthy");
    found.cloned().unwrap_or_default()
}

fn clusters(world: &World) -> Vec<Value> {
    let all = world.kubectl(&["get", "clusters", "-o", "json"]);
    let all: Value = serde_json::from_str(&all).expect("JSON");
    all["items"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a management plane"]
async fn twenty_servers_that_never_end_cost_their_own_clusters_a_condition_and_nobody_else_anything()
 {
    use Fault::{Again, Body, Circle, Drip, Headers, Line, Million, Text};
    let world = World::new("endless").await;
    let kinds = [Body, Drip, Again, Line, Million, Headers, Circle, Text];
    let fault = |n: usize| {
        let fault = kinds[n % kinds.len()];
        // of these, the second one answers its readiness so as well
        let everywhere = n / kinds.len() == 1 && [Body, Drip, Headers, Circle].contains(&fault);
        (format!("bad-{n}"), fault, everywhere)
    };
    let faults: Vec<_> = (0..20).map(fault).collect();
    let mut servers = JoinSet::new();
    attacked(&world, &faults, &mut servers).await;
    let before = healthy(&world, "good");
    let mut silent: Vec<_> = faults.iter().collect();
    until_true("a condition of each", || {
        let clusters = clusters(&world);
        silent.retain(|(name, fault, _)| {
            let cluster = clusters
                .iter()
                .find(|c| c["metadata"]["name"] == name.as_str());
            let condition = cluster.map(condition).unwrap_or_default();
            let message = condition["message"].as_str().unwrap_or_default();
            let is_told = fault.told().iter().any(|told| message.contains(told));
            if is_told {
                eprintln!("{name} {fault:?}: {} {message}", condition["status"]);
            }
            !is_told
        });
        silent.is_empty()
    })
    .await;
    // one that comes now is reached, and the one before never lost its condition
    world.external_cluster("late", &json!([]));
    until_true("a late Cluster", || {
        healthy(&world, "late")["reason"] == "ReadyzPassed"
    })
    .await;
    assert_eq!(healthy(&world, "good"), before);
    assert_within(&world);
    let log = world.log();
    let longest = log.lines().map(str::len).max().unwrap_or_default();
    assert!(longest < 8 << 10, "{longest} bytes in a line of the log");
    assert!(!log.contains(CANARY), "an answer is in the log");
    let shown = world.kubectl(&["get", "clusters,events", "-o", "json"]);
    assert!(!shown.contains(CANARY), "an answer is in a condition");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a management plane"]
async fn twenty_clusters_with_as_many_nodes_as_they_may_have_fit() {
    let world = World::new("full").await;
    let faults: Vec<_> = (0..20)
        .map(|n| (format!("full-{n}"), Fault::Full, false))
        .collect();
    let mut servers = JoinSet::new();
    attacked(&world, &faults, &mut servers).await;
    let connected = "connected to the workload cluster";
    until_true("all", || world.log().matches(connected).count() > 20).await;
    assert_within(&world);
}

fn assert_within(world: &World) {
    let peak = world.peak();
    eprintln!("the manager had {peak} MiB at most");
    assert!(peak < MOST, "the manager had {peak} MiB");
}
