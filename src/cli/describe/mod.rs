//! `tatara describe cluster`: a Cluster, everything below it, and what it waits for.

mod age;
mod changes;
mod display;
mod kinds;
mod provider;
mod render;
mod screen;
mod snapshot;
mod standing;
mod terminal;
mod tree;
mod waiting;
mod watch;

#[cfg(test)]
mod tests;

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures::future::Either;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use tokio::signal::unix::{SignalKind, signal};

use self::display::Display;
use self::snapshot::Snapshot;
use self::watch::Watch;
use super::caller::{ApiError, Caller};
use crate::api::Cluster;
use crate::api::conditions::Status;

/// Arguments of `tatara describe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// A Cluster as a tree of its objects, each with its reason and progress
    Cluster(ClusterArgs),
}

#[derive(Debug, clap::Args)]
struct ClusterArgs {
    /// Name of the Cluster
    name: String,
    /// Its namespace; that of the kubeconfig's context by default
    #[arg(short, long)]
    namespace: Option<String>,
    /// Go on showing what changes: in place on a terminal, line by line elsewhere. Ends with Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// End once the Cluster's condition Ready is True
    #[arg(long, requires = "watch")]
    until_ready: bool,
    /// Give up after this time, say what was waited for, and exit with 1
    #[arg(long, value_name = "SECONDS", requires = "until_ready")]
    timeout: Option<u64>,
}

/// Why a Cluster could not be described, or did not get ready.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The management cluster gave no answer.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// There is no such Cluster.
    #[error("namespace {namespace} has no Cluster {name}; {instead}")]
    NotFound {
        /// Where it was looked for.
        namespace: String,
        /// The name that was asked for.
        name: String,
        /// What there is, or what to do.
        instead: String,
    },
    /// The Cluster was deleted before it got ready.
    #[error("Cluster {name} was deleted before it was ready")]
    Deleted {
        /// Its name.
        name: String,
    },
    /// The time is over.
    #[error("Cluster {name} is not ready after {seconds} s; {waiting}")]
    NotReady {
        /// Its name.
        name: String,
        /// The time that the caller gave it.
        seconds: u64,
        /// What it waited for.
        waiting: String,
    },
    /// Standard output cannot be written to.
    #[error("failed to write to standard output")]
    Output(#[source] std::io::Error),
}

impl Args {
    /// Describes what the arguments name.
    pub async fn run(&self) -> Result<(), Error> {
        let What::Cluster(cluster) = &self.what;
        match cluster.run().await {
            // who reads has seen enough, as `head` has
            Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

impl ClusterArgs {
    async fn run(&self) -> Result<(), Error> {
        let started = crate::clock::now();
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let watch = Watch::start(&caller, &self.name).await?;
        if watch.snapshot.cluster().is_none() {
            return Err(self.not_found(&caller).await?);
        }
        let display = Display::new(started);
        if !self.watch {
            return display.once(&watch.snapshot, crate::clock::now());
        }
        let limit = self.timeout.map(Duration::from_secs);
        let limit = limit.map_or(Either::Left(pending()), |limit| {
            Either::Right(tokio::time::sleep(limit))
        });
        let mut limit = pin!(limit);
        let mut follow = Follow { watch, display };
        tokio::select! {
            result = follow.until(self.until_ready) => return result,
            () = &mut limit => {}
        }
        Err(Error::NotReady {
            name: self.name.clone(),
            seconds: self.timeout.unwrap_or_default(),
            waiting: waiting::sentence(&tree::rows(&follow.watch.snapshot), crate::clock::now()),
        })
    }

    async fn not_found(&self, caller: &Caller) -> Result<Error, ApiError> {
        let api: Api<Cluster> = Api::namespaced(caller.client.clone(), &caller.namespace);
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.map_err(|error| caller.explain::<Cluster>(error))?;
        let names: Vec<String> = list.items.iter().map(ResourceExt::name_any).collect();
        Ok(Error::NotFound {
            namespace: caller.namespace.clone(),
            name: self.name.clone(),
            instead: if names.is_empty() {
                "it has no Clusters: apply one, or name another namespace with --namespace".into()
            } else {
                format!("its Clusters are {}", names.join(", "))
            },
        })
    }
}

struct Follow {
    watch: Watch,
    display: Display,
}

impl Follow {
    /// Shows every change until the Cluster was deleted, or ready if that is what is waited for.
    async fn until(&mut self, ready: bool) -> Result<(), Error> {
        let mut second = tokio::time::interval(Duration::from_secs(1));
        let mut resized = signal(SignalKind::window_change()).map_err(Error::Output)?;
        loop {
            let now = crate::clock::now();
            let Watch {
                snapshot,
                interrupted,
                ..
            } = &self.watch;
            self.display.show(snapshot, interrupted.as_ref(), now)?;
            if snapshot.cluster().is_none() {
                self.display.say("the Cluster was deleted", now)?;
                return if ready {
                    Err(Error::Deleted {
                        name: snapshot.name.clone(),
                    })
                } else {
                    Ok(())
                };
            }
            if ready && is_ready(snapshot) {
                return self.display.say("the Cluster is ready", now);
            }
            tokio::select! {
                taken = self.watch.next() => taken?,
                _ = second.tick(), if self.display.shows_ages() => {}
                _ = resized.recv(), if self.display.shows_ages() => {}
            }
        }
    }
}

/// Whether Ready was said of the Cluster as it is now, and not of an earlier spec.
fn is_ready(snapshot: &Snapshot) -> bool {
    let Some(cluster) = snapshot.cluster() else {
        return false;
    };
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|c| c.type_ == "Ready" && c.status == Status::True);
    ready.any(|c| c.observed_generation >= cluster.metadata.generation)
}
