//! `tatara rollout`: follows, pauses, repeats and takes back what a MachineDeployment rolls out, as `kubectl rollout` does for
//! Deployments, with the caller's permissions.

mod change;
mod history;
mod status;

use std::fmt;
use std::time::Duration;

use clap::Subcommand;
use kube::{Api, ResourceExt};

use super::caller::{ApiError, Caller};
use crate::api::MachineDeployment;

/// Arguments of `tatara rollout`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow a rollout until it is complete; exit with 1 if it cannot go on
    Status {
        #[command(flatten)]
        which: Which,
        /// Print where it stands, and exit with 1 if it is not complete
        #[arg(long)]
        no_watch: bool,
        /// After this time, exit with 1
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
    },
    /// List its revisions, each with what it changed
    History {
        #[command(flatten)]
        which: Which,
    },
    /// Go back to the template of an earlier revision
    Undo {
        #[command(flatten)]
        which: Which,
        /// The revision; by default the one before
        #[arg(long, value_name = "NUMBER")]
        to_revision: Option<i64>,
    },
    /// Stop after the present step; scaling continues
    Pause {
        #[command(flatten)]
        which: Which,
    },
    /// Go on after a pause
    Resume {
        #[command(flatten)]
        which: Which,
    },
    /// Replace its Machines, as its strategy says, by others of the same template
    Restart {
        #[command(flatten)]
        which: Which,
    },
}

/// A MachineDeployment.
#[derive(Debug, clap::Args)]
struct Which {
    /// Name of the MachineDeployment, or machinedeployment/NAME
    #[arg(value_name = "MACHINEDEPLOYMENT")]
    name: String,
    /// Its namespace; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
}

/// Why a rollout cannot be followed or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The argument names another kind.
    #[error("{kind} has no rollouts; name a MachineDeployment")]
    OtherKind {
        /// The kind.
        kind: String,
    },
    /// The MachineDeployment does not exist.
    #[error("MachineDeployment {of} does not exist; list them: kubectl -n {} get machinedeployments", of.namespace)]
    NotFound {
        /// Which.
        of: Name,
    },
    /// It was not changed.
    #[error("failed to change MachineDeployment {of}: {said}")]
    Refused {
        /// Which.
        of: Name,
        /// Message of the API server.
        said: String,
    },
    /// It is in that state already.
    #[error("MachineDeployment {of} is {state} already")]
    Already {
        /// Which.
        of: Name,
        /// `paused` or `not paused`.
        state: &'static str,
    },
    /// What was asked for would not happen before it goes on.
    #[error("MachineDeployment {of} is paused; go on first: tatara rollout resume {} -n {}", of.name, of.namespace)]
    Paused {
        /// Which.
        of: Name,
    },
    /// No MachineSet has that revision.
    #[error("MachineDeployment {of} has no {which}; list them: tatara rollout history {} -n {}", of.name, of.namespace)]
    NoRevision {
        /// Which.
        of: Name,
        /// `revision 3`, or `revision before the present one`.
        which: String,
    },
    /// A control plane cannot go back.
    #[error(
        "revision {revision} of MachineDeployment {of} has versions.controlPlane {old}, and the present one {new}: a control plane cannot go back to an older version"
    )]
    Downgrade {
        /// Which.
        of: Name,
        /// The revision.
        revision: i64,
        /// Its version.
        old: String,
        /// The present version.
        new: String,
    },
    /// It was deleted.
    #[error("MachineDeployment {of} was deleted")]
    Deleted {
        /// Which.
        of: Name,
    },
    /// It cannot go on by itself.
    #[error("MachineDeployment {of} cannot go on: {why}")]
    Stalled {
        /// Which.
        of: Name,
        /// Its own words.
        why: String,
    },
    /// It is not complete.
    #[error("MachineDeployment {of} is not rolled out: {why}")]
    Incomplete {
        /// Which.
        of: Name,
        /// Its own words.
        why: String,
    },
    /// It is not complete in time.
    #[error("MachineDeployment {of} is not rolled out after {} s: {why}", after.as_secs())]
    TooLate {
        /// Which.
        of: Name,
        /// The time limit.
        after: Duration,
        /// Its own words.
        why: String,
    },
}

/// Name and namespace of a MachineDeployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Args {
    /// Runs the sub-command.
    ///
    /// # Errors
    /// The MachineDeployment does not exist, is not as the sub-command needs it, is not complete, or a request to the
    /// management cluster fails.
    pub async fn run(&self) -> Result<(), Error> {
        match &self.command {
            Command::Status {
                which,
                no_watch,
                timeout,
            } => {
                let subject = which.find().await?;
                let limit = timeout.map(Duration::from_secs);
                status::follow(&subject, !no_watch, limit).await
            }
            Command::History { which } => history::print(&which.find().await?).await,
            Command::Undo { which, to_revision } => {
                change::undo(&which.find().await?, *to_revision).await
            }
            Command::Pause { which } => change::pause(&which.find().await?, true).await,
            Command::Resume { which } => change::pause(&which.find().await?, false).await,
            Command::Restart { which } => change::restart(&which.find().await?).await,
        }
    }
}

/// A MachineDeployment, and who asks for it.
struct Subject {
    caller: Caller,
    deployment: MachineDeployment,
    of: Name,
}

impl Subject {
    fn api(&self) -> Api<MachineDeployment> {
        Api::namespaced(self.caller.client.clone(), &self.of.namespace)
    }
}

impl Which {
    async fn find(&self) -> Result<Subject, Error> {
        let name = match self.name.split_once('/') {
            None => self.name.as_str(),
            Some((kind, name)) if is_deployment(kind) => name,
            Some((kind, _)) => return Err(Error::OtherKind { kind: kind.into() }),
        };
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let of = Name {
            namespace: caller.namespace.clone(),
            name: name.into(),
        };
        let found = caller.find::<MachineDeployment>(name).await?;
        let deployment = found.ok_or_else(|| Error::NotFound { of: of.clone() })?;
        Ok(Subject {
            caller,
            of: Name {
                name: deployment.name_any(),
                ..of
            },
            deployment,
        })
    }
}

/// The names under which kubectl knows the kind.
fn is_deployment(kind: &str) -> bool {
    let (plain, group) = kind.split_once('.').unwrap_or((kind, "cluster.k8s.io"));
    let plain = plain.to_lowercase();
    group == "cluster.k8s.io"
        && ["machinedeployment", "machinedeployments", "md"].contains(&&*plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_as_for_kubectl() {
        for (kind, expected) in [
            ("machinedeployment", true),
            ("MachineDeployments", true),
            ("md", true),
            ("machinedeployments.cluster.k8s.io", true),
            ("machinedeployments.cluster.x-k8s.io", false),
            ("deployment", false),
        ] {
            assert_eq!(is_deployment(kind), expected, "{kind}");
        }
    }
}
