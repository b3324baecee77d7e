//! A member behind a wire that stands still: nothing is refused and nothing comes through, as when a network drops
//! packets or an API server takes requests and does not answer.

use std::time::{Duration, Instant};

use tatara::remote::{Reach, Route, kube_client};
use tatara::workload::health::{Readiness, probe};
use tatara::workload::{Connectivity, client_config};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::plane::Plane;
use crate::workload::objects::make_node;
use crate::workload::watch::{key, next_for, registry};

/// Passes bytes on both ways, unless it is frozen.
struct Wire {
    port: u16,
    frozen: watch::Sender<bool>,
}

impl Wire {
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let (frozen, state) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", port)).await;
                let (near, far) = (near.into_split(), far.expect("the server").into_split());
                tokio::spawn(pass(near.0, far.1, state.clone()));
                tokio::spawn(pass(far.0, near.1, state.clone()));
            }
        });
        Self { port: own, frozen }
    }

    fn freeze(&self, is_frozen: bool) {
        self.frozen.send_replace(is_frozen);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut frozen: watch::Receiver<bool>) {
    let mut piece = vec![0; 65_536];
    while let Ok(count) = from.read(&mut piece).await {
        let thawed = frozen.wait_for(|is_frozen| !is_frozen).await.is_ok();
        if count == 0 || !thawed || to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_member_behind_a_wire_that_stands_still_is_said_and_fresh_soon_after() {
    let plane = Plane::shared();
    let direct = plane.client().await;
    let mut config = client_config(plane.config().await);
    let port = config.cluster_url.port_u16().expect("a port");
    let wire = Wire::to(port).await;
    let url = format!("https://127.0.0.1:{}", wire.port);
    config.cluster_url = url.parse().expect("a URL");
    let client = kube_client(config, Route::Direct(Reach::ANYWHERE), "default").expect("a client");
    let (registry, mut wakes) = registry();
    let member = registry.connect(key("wire"), client.clone());
    next_for(&mut wakes, "cluster").await;

    wire.freeze(true);
    make_node(&direct, "frozen-1", "tatara://ssh/frozen-1").await;
    let health = probe(&client, Duration::from_secs(2)).await;
    let Readiness::Unreachable { .. } = health.readiness else {
        panic!("{health:?}");
    };
    // what a failed probe has it do
    member.relist();
    next_for(&mut wakes, "cluster").await;
    let Connectivity::Disconnected { why, .. } = member.connectivity() else {
        panic!("{:?}", member.connectivity());
    };
    // on a connection that was there, or on one that did not come about
    let is_told = why.contains("no answer within") || why == "the connection timed out";
    assert!(is_told, "{why}");
    assert!(member.node("frozen-1").is_none());

    wire.freeze(false);
    let thaw = Instant::now();
    next_for(&mut wakes, "frozen-1").await;
    let took = thaw.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?} after the thaw");
}
