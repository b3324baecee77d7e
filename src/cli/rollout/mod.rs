//! `tatara rollout`: follows, pauses, repeats and takes back what a MachineDeployment rolls out, as
//! `kubectl rollout` does for Deployments, with the caller's permissions.

mod change;
mod history;
mod status;
mod undo;

use std::fmt;
use std::time::Duration;

use clap::Subcommand;
use kube::{Api, ResourceExt};

use super::caller::{ApiError, Caller};
use super::{duration, prompt};
use tatara_core::api::conditions::{ConditionType, Reason, Status, find};
use tatara_core::api::{MachineClass, MachineDeployment};
use tatara_core::machine_deployment::revision::Revision;

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
        #[arg(long, value_name = "TIME", value_parser = duration::parse)]
        timeout: Option<Duration>,
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
    /// Others write to it.
    #[error("MachineDeployment {of} was changed meanwhile; try again")]
    Conflict {
        /// Which.
        of: Name,
    },
    /// The caller may not change it.
    #[error("you may not change MachineDeployment {of}; ask an administrator to run: kubectl -n {} create rolebinding NAME --clusterrole=edit --user=YOU ({said})", of.namespace)]
    Forbidden {
        /// Which.
        of: Name,
        /// Message of the API server.
        said: String,
    },
    /// An annotation pauses it.
    #[error("MachineDeployment {of} is paused: {why}")]
    Held {
        /// Which.
        of: Name,
        /// The object with the annotation, and the remedy.
        why: String,
    },
    /// The output cannot be written.
    #[error("failed to write to standard output")]
    Output(#[source] std::io::Error),
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
        "revision {revision} of MachineDeployment {of} has versions.controlPlane {old}, and a later one had {ran}: a control plane does not go back. Set the other fields back by hand, with versions.controlPlane {ran} or newer"
    )]
    Downgrade {
        /// Which.
        of: Name,
        /// The revision.
        revision: i64,
        /// Its version.
        old: String,
        /// The newest version of all revisions.
        ran: String,
    },
    /// Nothing would come of it.
    #[error(
        "revision {revision} of MachineDeployment {of} cannot be run, and nothing was changed: {why}"
    )]
    NotRunnable {
        /// Which.
        of: Name,
        /// The revision.
        revision: i64,
        /// What forbids it.
        why: String,
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
    /// The MachineDeployment does not exist, is not as the sub-command needs it, is not complete,
    /// or a request to the management cluster fails.
    pub async fn run(&self) -> Result<(), Error> {
        match &self.command {
            Command::Status {
                which,
                no_watch,
                timeout,
            } => {
                let subject = which.find().await?;
                status::follow(&subject, !no_watch, *timeout).await
            }
            Command::History { which } => history::print(&which.find().await?).await,
            Command::Undo { which, to_revision } => {
                undo::undo(which.find().await?, *to_revision).await
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
    /// Read once more.
    async fn again(self) -> Result<Self, Error> {
        let found = self.caller.find::<MachineDeployment>(&self.of.name).await?;
        let Some(deployment) = found else {
            return Err(Error::Deleted { of: self.of });
        };
        Ok(Self { deployment, ..self })
    }

    /// What its template means, whenever it was restarted; `None` if it names a MachineClass that
    /// does not exist here.
    async fn present(&self) -> Result<Option<Revision>, Error> {
        let template = &self.deployment.spec.template;
        let spec = &template.spec.provider_spec;
        let class = spec.value_from.as_ref();
        let class = class.and_then(|source| source.machine_class.as_ref());
        let is_here = |other: &String| other.is_empty() || *other == self.of.namespace;
        let class = class.filter(|class| class.namespace.as_ref().is_none_or(is_here));
        let value = match (&spec.value, class) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(class)) => {
                let found = self.caller.find::<MachineClass>(&class.name).await?;
                found.map(|class| class.value().clone())
            }
            (None, None) => None,
        };
        let versions = template.spec.versions.as_ref();
        Ok(value
            .map(|value| Revision::new(versions, &value).restarted(&template.metadata.annotations)))
    }

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

fn paused_by_annotation(deployment: &MachineDeployment) -> Option<String> {
    let status = deployment.status.as_ref()?;
    let paused = find(&status.conditions, ConditionType::Paused)?;
    let is_held = paused.status == Status::True && paused.reason == Reason::PausedByAnnotation;
    // it names the object, and has the command
    is_held.then(|| paused.message.clone())
}

fn say(text: &str) -> Result<(), Error> {
    prompt::say(text).map_err(Error::Output)
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
