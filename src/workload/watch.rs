//! The watch of a workload cluster's Nodes, for as long as the
//! [`WorkloadCluster`](super::WorkloadCluster) lives.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::time::Instant;

use super::cluster::{ClusterKey, Connectivity, State, Wake};
use super::error::{self, Cause};
use crate::clock;
use crate::remote::limits::{ALL_VIEWS, NODES, VIEWS};
use tatara_core::NodeView;

/// First and longest pause before the next attempt to reach a workload cluster. Five
/// seconds cost few requests, and the recovery of a workload cluster is noticed soon.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// The pause after a server exceeded a limit: it answers, so it would be connected and disconnected
/// in turn all the time.
const AFTER_LIMIT: Duration = Duration::from_mins(1);

/// A watch that lasted this long begins again at once; one that fails sooner is a failure like
/// others.
const LASTS: Duration = Duration::from_secs(30);

/// A watch in which nothing happens sees this often whether the others need its room.
const QUIET: Duration = Duration::from_secs(5);

/// Why one watch ended.
enum End {
    /// A new list was requested.
    Relist,
    /// The workload cluster did not answer, or not as it should.
    Failed(String, Cause),
}

/// Watches until it is stopped; a new list follows each failure, so that no change is missed.
pub(super) async fn follow(key: ClusterKey, client: Client, state: Arc<State>, wake: Wake) {
    let mut follower = Follower {
        key,
        client,
        state,
        wake,
        failures: 0,
    };
    loop {
        match follower.watch_once().await {
            End::Relist => follower.failures = 0,
            End::Failed(why, cause) => {
                follower.disconnected(&why, cause);
                follower.make_room(cause);
                tokio::select! {
                    () = tokio::time::sleep(pause(follower.failures, cause)) => {}
                    () = follower.state.relist_wanted(), if cause != Cause::Limit => {}
                }
                follower.failures = follower.failures.saturating_add(1);
            }
        }
    }
}

/// The pause after a failure and this many consecutive ones before it.
fn pause(failures: u32, cause: Cause) -> Duration {
    if cause == Cause::Limit {
        return AFTER_LIMIT;
    }
    let (first, longest) = BACKOFF;
    first
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(longest)
}

struct Follower {
    key: ClusterKey,
    client: Client,
    state: Arc<State>,
    wake: Wake,
    failures: u32,
}

impl Follower {
    async fn watch_once(&mut self) -> End {
        let nodes = Api::<Node>::all(self.client.clone());
        let mut events = pin!(watcher::watcher(nodes, watcher::Config::default()));
        let mut is_listed = false;
        let begun = Instant::now();
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                // a list that is under way suffices
                () = self.state.relist_wanted(), if is_listed => return End::Relist,
                () = tokio::time::sleep(QUIET) => {
                    if self.state.nodes().is_too_large() {
                        return End::Failed(too_large(), Cause::Limit);
                    }
                    continue;
                }
            };
            is_listed |= matches!(event, Some(Ok(Event::InitDone)));
            if is_listed && begun.elapsed() > LASTS {
                self.failures = 0;
            }
            match event {
                Some(Ok(event)) => {
                    self.take(event);
                    if self.state.nodes().is_too_large() {
                        return End::Failed(too_large(), Cause::Limit);
                    }
                }
                // the resourceVersion of the watch is compacted; the watcher lists again
                Some(Err(watcher::Error::WatchError(status))) if status.code == 410 => {}
                Some(Err(failure)) => {
                    let (why, cause) = explain(&failure);
                    return End::Failed(why, cause);
                }
                None => return End::Failed("the watch ended".to_owned(), Cause::Silence),
            }
        }
    }

    /// Drops the Nodes of a cluster that has more of them than it may: its next list begins with
    /// nothing. This comes after the connectivity, so that nobody takes a Node that was dropped for
    /// one that does not exist.
    fn make_room(&self, cause: Cause) {
        let mut nodes = self.state.nodes();
        if cause == Cause::Limit || nodes.is_too_large() {
            nodes.clear();
        }
    }

    fn take(&mut self, event: Event<Node>) {
        match event {
            Event::Init => self.state.nodes().begin(),
            Event::InitApply(node) => self.state.nodes().listed(NodeView::from_node(node)),
            Event::InitDone => {
                let changed = self.state.nodes().complete();
                self.connected();
                for view in changed {
                    (self.wake.node)(&self.key, &view);
                }
            }
            Event::Apply(node) => {
                let view = Arc::new(NodeView::from_node(node));
                let wanted = self.state.nodes().apply(&view);
                if wanted {
                    (self.wake.node)(&self.key, &view);
                }
            }
            Event::Delete(node) => {
                let name = node.metadata.name.unwrap_or_default();
                let gone = self.state.nodes().remove(&name);
                if let Some(view) = gone {
                    (self.wake.node)(&self.key, &view);
                }
            }
        }
    }

    fn connected(&mut self) {
        let since = clock::now();
        if self
            .state
            .set_connectivity(Connectivity::Connected { since })
        {
            tracing::info!(cluster = %self.key, "connected to the workload cluster");
            (self.wake.cluster)(&self.key);
        }
    }

    fn disconnected(&self, why: &str, cause: Cause) {
        tracing::debug!(cluster = %self.key, error = %why, "failed to reach the workload cluster");
        let since = clock::now();
        let new = Connectivity::Disconnected {
            since,
            why: why.to_owned(),
            cause,
        };
        if self.state.set_connectivity(new) {
            tracing::info!(cluster = %self.key, error = %why, "disconnected from the workload cluster");
            (self.wake.cluster)(&self.key);
        }
    }
}

/// What is told of a cluster that has more Nodes than the manager keeps.
pub(super) fn too_large() -> String {
    format!(
        "its API server has more than {NODES} Nodes, or more than {} MiB of labels and annotations of Nodes (less where all \
clusters together have more than {} MiB), and its Nodes are not read further; delete Nodes whose machines do not exist any more, and \
shorten annotations (Limits of answers in docs/troubleshooting.md)",
        VIEWS >> 20,
        ALL_VIEWS >> 20
    )
}

fn explain(failure: &watcher::Error) -> (String, Cause) {
    match failure {
        watcher::Error::InitialListFailed(inner)
        | watcher::Error::WatchStartFailed(inner)
        | watcher::Error::WatchFailed(inner) => (error::reason(inner), Cause::of(inner)),
        watcher::Error::WatchError(status) => (
            error::shortened(status.message.clone()),
            Cause::of_code(status.code),
        ),
        watcher::Error::NoResourceVersion => (failure.to_string(), Cause::Answered),
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
