//! Tells when a pod has left a node: what a drain waits for.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Called once, when it is time to look again.
pub type LookAgain = Box<dyn FnOnce() + Send>;

/// The nodes that are watched for their drain, by the UID of their Machine.
#[derive(Clone)]
pub struct DrainWatches {
    watched: Arc<Mutex<HashSet<String>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl DrainWatches {
    /// Nothing is watched yet.
    pub fn new(tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            watched: Arc::default(),
            tasks,
            stop,
        }
    }

    /// Says once when a pod has gone from the node since `version`, the resourceVersion of the drain's own
    /// list. Does nothing for a Machine that is watched already. A watch that breaks says nothing: a drain
    /// is looked at again from time to time all the same.
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
                Err(error) => tracing::debug!(node, %error, "watch of a drain broken"),
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a pod has gone from the node before the watch ended.
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
