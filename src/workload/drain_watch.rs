//! Reports when a pod of a node is deleted: what a drain waits for.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Called once, when the next pass of a drain is worth while.
pub type LookAgain = Box<dyn FnOnce() + Send>;

/// The watches of nodes that are drained, by the UID of their Machine.
#[derive(Clone)]
pub struct DrainWatches {
    watched: Arc<Mutex<HashSet<String>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl DrainWatches {
    /// No watches yet.
    pub fn new(tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            watched: Arc::default(),
            tasks,
            stop,
        }
    }

    /// Calls `look_again` once when a pod of the node is deleted after `version`, the
    /// resourceVersion of the drain's list. Does nothing if the Machine is watched already. A watch
    /// that fails does not call it: a drain is repeated at intervals anyway.
    pub fn start(
        &self,
        machine: &str,
        client: Client,
        node: &str,
        version: String,
        look_again: LookAgain,
    ) {
        if !self.lock().insert(machine.to_owned()) {
            return;
        }
        let (machine, node, this) = (machine.to_owned(), node.to_owned(), self.clone());
        self.tasks.spawn(async move {
            let gone = tokio::select! {
                gone = pod_gone(&client, &node, &version) => gone,
                () = this.stop.cancelled() => Ok(false),
            };
            this.lock().remove(&machine);
            match gone {
                Ok(true) => look_again(),
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(node, %error, "failed to watch the pods of a drained node");
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a pod of the node was deleted before the watch ended.
async fn pod_gone(client: &Client, node: &str, version: &str) -> Result<bool, kube::Error> {
    let params = WatchParams::default().fields(&format!("spec.nodeName={node}"));
    let pods: Api<Pod> = Api::all(client.clone());
    let mut events = pin!(pods.watch_metadata(&params, version).await?);
    while let Some(event) = events.try_next().await? {
        if matches!(event, WatchEvent::Deleted(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}
