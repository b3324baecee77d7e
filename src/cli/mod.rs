//! The command line. One file per sub-command: its arguments, and a `run` that does it.

mod caller;
pub mod cluster;
pub mod completion;
pub mod crds;
pub mod describe;
mod duration;
pub mod kubeconfig;
pub mod logs;
pub mod machine;
pub mod manager;
mod place;
mod printable;
mod prompt;
pub mod rollout;

pub use printable::printable;

use clap::{Parser, Subcommand};

/// Error of a sub-command; `main` prints it with its causes and exits with 1.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Turns machines that you own into Kubernetes clusters.
#[derive(Debug, Parser)]
#[command(name = "tatara", version, disable_help_subcommand = true)]
pub struct Cli {
    /// The sub-command.
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print Tatara's CustomResourceDefinitions, to be applied to a management cluster
    Crds(crds::Args),
    /// Show an object, everything below it, and what it waits for
    Describe(describe::Args),
    /// Print the admin kubeconfig of a Cluster
    Kubeconfig(kubeconfig::Args),
    /// Print the logs of Tatara's steps on a host
    Logs(logs::Args),
    /// Correct what is recorded of a Cluster, by what only a person can see
    Cluster(cluster::Args),
    /// Say of a machine what only a person can know
    Machine(machine::Args),
    /// Follow, pause, repeat or take back what a MachineDeployment rolls out
    Rollout(rollout::Args),
    /// Run the controllers
    Manager(Box<crate::manager::ManagerArgs>),
    /// Print a script that completes these commands in a shell
    Completion(completion::Args),
}

impl Cli {
    /// Runs the sub-command.
    ///
    /// # Errors
    /// The error of the sub-command.
    pub async fn run(self) -> Result<(), Error> {
        match self.command {
            Command::Crds(args) => Ok(args.run().await?),
            Command::Describe(args) => Ok(args.run().await?),
            Command::Kubeconfig(args) => Ok(args.run().await?),
            Command::Logs(args) => Ok(args.run().await?),
            Command::Rollout(args) => Ok(args.run().await?),
            Command::Cluster(args) => Ok(args.run().await?),
            Command::Machine(args) => Ok(args.run().await?),
            Command::Manager(args) => Ok(Box::pin(manager::run(*args)).await?),
            Command::Completion(args) => Ok(args.run()?),
        }
    }
}
