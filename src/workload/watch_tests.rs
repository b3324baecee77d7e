use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use http::{Request, Response};
use kube::client::Body;
use tokio::sync::Semaphore;
use tower::{BoxError, service_fn};

use super::super::cluster::WorkloadCluster;
use super::*;

#[test]
fn the_pause_doubles_from_a_quarter_of_a_second_to_five_seconds() {
    let silent = |failures| pause(failures, Cause::Silence);
    let millis: Vec<_> = (0..8).map(|n| silent(n).as_millis()).collect();
    assert_eq!(millis, [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
    assert_eq!(silent(u32::MAX), Duration::from_secs(5));
}

#[test]
fn a_server_that_exceeds_a_limit_is_asked_once_a_minute() {
    assert_eq!(pause(0, Cause::Limit), Duration::from_mins(1));
}

/// A list of so many Nodes.
fn list(nodes: usize) -> String {
    let node = |n| format!("{{\"metadata\":{{\"name\":\"n{n}\"}}}}");
    let nodes: Vec<_> = (0..nodes).map(node).collect();
    format!(
        "{{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"1\"}},\"items\":[{}]}}",
        nodes.join(",")
    )
}

const ADDED: &str = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"more\",\"resourceVersion\":\"2\"}}}\n";

/// A server with as many Nodes as a cluster may have, to which one more comes; of its next lists
/// each waits for `further`, and has one Node.
fn crowded(further: Arc<Semaphore>) -> Client {
    let requests = Arc::new(AtomicUsize::new(0));
    let answer = move |request: Request<Body>| {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch");
        let number = requests.fetch_add(1, Relaxed);
        let further = Arc::clone(&further);
        async move {
            let body = match number {
                0 => list(NODES),
                1 => ADDED.to_owned(),
                _ if is_watch => std::future::pending().await,
                _ => {
                    let may = further.acquire().await;
                    may.map(tokio::sync::SemaphorePermit::forget)?;
                    list(1)
                }
            };
            Ok::<_, BoxError>(Response::new(Body::from(body.into_bytes())))
        }
    };
    Client::new(service_fn(answer), "default")
}

async fn until(workload: &WorkloadCluster, what: impl Fn(&Connectivity) -> bool) {
    let come = async {
        while !what(&workload.connectivity()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let come = tokio::time::timeout(Duration::from_mins(5), come).await;
    assert!(come.is_ok(), "{:?}", workload.connectivity());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_had_too_many_nodes_keeps_none_and_is_read_again() {
    let further = Arc::new(Semaphore::new(0));
    let key = ClusterKey {
        namespace: "default".into(),
        name: "crowded".into(),
        uid: "u".into(),
    };
    let wake = Wake {
        node: Arc::new(|_, _| {}),
        cluster: Arc::new(|_| {}),
    };
    let workload = WorkloadCluster::connect(key, crowded(Arc::clone(&further)), wake);
    let is_limit = |now: &Connectivity| matches!(now, Connectivity::Disconnected { cause, .. } if *cause == Cause::Limit);
    until(&workload, is_limit).await;
    // between two instructions of the watch
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((workload.is_synced(), workload.nodes().len()), (false, 0));
    further.add_permits(1);
    until(&workload, |now| {
        matches!(now, Connectivity::Connected { .. })
    })
    .await;
    assert_eq!((workload.is_synced(), workload.nodes().len()), (true, 1));
}
