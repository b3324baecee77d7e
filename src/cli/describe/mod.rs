//! `tatara describe`: an object, its owners, everything below it, and what it waits for.

pub(super) mod age;
mod annotations;
mod changes;
mod details;
mod display;
mod events;
mod forest;
mod kind;
mod kinds;
mod lease;
mod onward;
mod provider;
mod render;
mod screen;
mod snapshot;
mod standing;
mod terminal;
mod tree;
mod turn;
mod users;
mod waiting;
mod watch;

#[cfg(test)]
mod tests;

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures::future::Either;
use tokio::signal::unix::{SignalKind, signal};

use self::display::Display;
use self::events::events;
use self::kind::{Kind, What, WhatParser};
use self::snapshot::Snapshot;
use self::watch::Watch;
use super::caller::{ApiError, Caller};
use super::duration;
use crate::manager::DEFAULT_LEASE_NAMESPACE;
use tatara_core::api::conditions::Status;
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// At most this many names are listed if the given one does not exist.
const NAMED: usize = 20;

/// Arguments of `tatara describe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kind of the object as for kubectl, or KIND/NAME
    #[arg(value_name = "KIND", value_parser = WhatParser)]
    what: What,
    /// Name of the object
    name: Option<String>,
    /// Namespace of the object; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
    /// `wide`: also list the annotations that steer Tatara, and those that you may set
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "watch")]
    output: Option<Output>,
    /// Keep showing changes until Ctrl-C: in place on a terminal, otherwise line by line
    #[arg(short, long)]
    watch: bool,
    /// Exit once the object's condition Ready is True
    #[arg(long, requires = "watch")]
    until_ready: bool,
    /// After this time, print what the object waits for and exit with 1
    #[arg(long, value_name = "TIME", requires = "until_ready", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Namespace of the manager's Lease, which shows whether a manager is running
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "TATARA_LEASE_NAMESPACE",
        default_value = DEFAULT_LEASE_NAMESPACE
    )]
    lease_namespace: String,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// With the annotations of the object, of its owners and of what is below it.
    Wide,
}

/// Why an object cannot be described, or is not ready in time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The arguments name two objects.
    #[error("{kind}/{first} and {second} are two names; omit one")]
    TwoNames {
        /// The kind.
        kind: Kind,
        /// The name after the slash.
        first: String,
        /// The name of the second argument.
        second: String,
    },
    /// The arguments name no object.
    #[error("which {kind}? In namespace {namespace}, {instead}")]
    NotNamed {
        /// Namespace of the search.
        namespace: String,
        /// The kind.
        kind: Kind,
        /// The existing names, or the remedy.
        instead: String,
    },
    /// The object does not exist.
    #[error("{kind} {name} does not exist in namespace {namespace}; {instead}")]
    NotFound {
        /// Namespace of the search.
        namespace: String,
        /// Its kind.
        kind: Kind,
        /// The given name.
        name: String,
        /// The existing names, or the remedy.
        instead: String,
    },
    /// A MachineClass has no conditions.
    #[error("a {kind} has no condition Ready; omit --until-ready")]
    NeverReady {
        /// The kind.
        kind: Kind,
    },
    /// The object was deleted before it became ready.
    #[error("{kind} {name} was deleted before it was ready")]
    Deleted {
        /// Its kind.
        kind: Kind,
        /// Its name.
        name: String,
    },
    /// The time limit is exceeded.
    #[error("{kind} {name} is not ready after {seconds} s; {waiting}")]
    NotReady {
        /// Its kind.
        kind: Kind,
        /// Its name.
        name: String,
        /// The time limit in seconds.
        seconds: u64,
        /// What the object waits for.
        waiting: String,
    },
    /// Standard output cannot be written.
    #[error("failed to write to standard output")]
    Output(#[source] std::io::Error),
}

impl Args {
    /// Describes the object that the arguments name.
    ///
    /// # Errors
    /// The object does not exist, a request to the management cluster fails, or the object is not
    /// ready in time.
    pub async fn run(&self) -> Result<(), Error> {
        match self.describe().await {
            // the reader has closed the pipe, such as `head`
            Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    async fn describe(&self) -> Result<(), Error> {
        let started = crate::clock::now();
        let kind = self.what.kind;
        let name = match (&self.what.name, &self.name) {
            (Some(first), Some(second)) => {
                return Err(Error::TwoNames {
                    kind,
                    first: first.clone(),
                    second: second.clone(),
                });
            }
            (first, second) => first.as_ref().or(second.as_ref()),
        };
        if kind == Kind::MachineClass && self.until_ready {
            return Err(Error::NeverReady { kind });
        }
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let Some(name) = name else {
            let instead = instead(&caller, kind).await?;
            let namespace = caller.namespace;
            return Err(Error::NotNamed {
                namespace,
                kind,
                instead,
            });
        };
        let watch = Watch::start(&caller, kind, name, &self.lease_namespace).await?;
        let Some(object) = watch.snapshot.described() else {
            return Err(Error::NotFound {
                namespace: caller.namespace.clone(),
                kind,
                name: name.clone(),
                instead: instead(&caller, kind).await?,
            });
        };
        let display = Display::new(started);
        if !self.watch {
            let uid = object.meta.uid.clone().unwrap_or_default();
            let events = events(&caller, &uid).await;
            let now = crate::clock::now();
            return display.once(&watch.snapshot, &events, self.output, now);
        }
        let limit = self.timeout;
        let limit = limit.map_or(Either::Left(pending()), |limit| {
            Either::Right(tokio::time::sleep(limit))
        });
        let mut limit = pin!(limit);
        let mut follow = Follow { watch, display };
        tokio::select! {
            result = follow.until(self.until_ready) => return result,
            () = &mut limit => {}
        }
        let snapshot = &follow.watch.snapshot;
        Err(Error::NotReady {
            kind,
            name: name.clone(),
            seconds: self.timeout.unwrap_or_default().as_secs(),
            waiting: waiting::sentence(snapshot, &tree::rows(snapshot), crate::clock::now()),
        })
    }
}

/// The existing objects of a kind, or the remedy if there are none.
async fn instead(caller: &Caller, kind: Kind) -> Result<String, ApiError> {
    let names = match kind {
        Kind::Cluster => caller.names::<Cluster>().await,
        Kind::Machine => caller.names::<Machine>().await,
        Kind::MachineSet => caller.names::<MachineSet>().await,
        Kind::MachineDeployment => caller.names::<MachineDeployment>().await,
        Kind::MachineClass => caller.names::<MachineClass>().await,
        Kind::Host => caller.names::<Host>().await,
        Kind::Hypervisor => caller.names::<Hypervisor>().await,
    }?;
    let all = match kind {
        Kind::MachineClass => "MachineClasses".to_owned(),
        kind => format!("{kind}s"),
    };
    let namespace = &caller.namespace;
    Ok(match names.len() {
        0 => {
            format!("there are no {all}: create one, or select another namespace with --namespace")
        }
        1..=NAMED => format!("the {all} are {}", names.join(", ")),
        many => format!(
            "there are {many} {all}: kubectl -n {namespace} get {}",
            all.to_lowercase()
        ),
    })
}

struct Follow {
    watch: Watch,
    display: Display,
}

impl Follow {
    /// Shows every change until the object is deleted, or, if requested, until it is ready.
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
            if snapshot.described().is_none() {
                let kind = snapshot.kind;
                self.display.say(&format!("the {kind} was deleted"), now)?;
                return if ready {
                    Err(Error::Deleted {
                        kind,
                        name: snapshot.name.clone(),
                    })
                } else {
                    Ok(())
                };
            }
            if ready && is_ready(snapshot) {
                let text = format!("the {} is ready", snapshot.kind);
                return self.display.say(&text, now);
            }
            tokio::select! {
                taken = self.watch.next() => taken?,
                _ = second.tick(), if self.display.shows_ages() => {}
                _ = resized.recv(), if self.display.shows_ages() => {}
            }
        }
    }
}

/// Whether Ready is True for the current generation of the object's spec.
fn is_ready(snapshot: &Snapshot) -> bool {
    let Some(object) = snapshot.described() else {
        return false;
    };
    let mut ready = object
        .conditions
        .iter()
        .filter(|c| c.type_ == "Ready" && c.status == Status::True);
    ready.any(|c| c.observed_generation >= object.meta.generation)
}
