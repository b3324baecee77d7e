//! `tatara machine`: what only a person can know of a machine.

mod gone;

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use clap::Subcommand;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use self::gone::{Known, Objection, consequences, objection, place};
use super::caller::{ApiError, Caller};
use super::printable;
use crate::clock;
use tatara_core::api::names::{ANNOTATION_HOST_IS_GONE, LABEL_CLUSTER, LABEL_CONTROL_PLANE};
use tatara_core::api::{Host, Hypervisor, Machine};
use tatara_core::words::word;

/// Field manager of these changes.
const FIELD_MANAGER: &str = "tatara-machine";

/// Arguments of `tatara machine`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Declare that what a Machine runs on is destroyed, erased or disconnected for good
    ///
    /// Checks what the management cluster knows of it, says what comes of it, and asks. It sets the annotation
    /// tatara.dev/host-is-gone to the UID of the Machine.
    DeclareGone(DeclareGone),
}

#[derive(Debug, clap::Args)]
struct DeclareGone {
    /// Name of the Machine
    #[arg(value_name = "MACHINE")]
    name: String,
    /// Its namespace; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only if this is the UID of the Machine
    #[arg(long)]
    uid: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Although it is seen to be there, as where another server has its address
    #[arg(long)]
    force: bool,
}

/// Why a machine is not declared gone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The Machine does not exist.
    #[error(
        "Machine {namespace}/{name} does not exist; list them: kubectl -n {namespace} get machines"
    )]
    NotFound {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Another Machine has the name by now.
    #[error(
        "Machine {name} has another UID ({uid}): the one that was meant does not exist any more"
    )]
    Another {
        /// Its name.
        name: String,
        /// The UID that it has.
        uid: String,
    },
    /// That would change nothing.
    #[error("Machine {name} is not declared gone: {why}")]
    Useless {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// Something shows that it is there.
    #[error("Machine {name} is not declared gone: {why}. Only if you know better: add --force")]
    Shown {
        /// Its name.
        name: String,
        /// What shows that.
        why: String,
    },
    /// Nobody can be asked.
    #[error(
        "nobody can be asked, as standard input is no terminal, and nothing was changed; read the above, then add --yes"
    )]
    NotAsked,
    /// The answer was another.
    #[error("that is not the name of the Machine; nothing was changed")]
    NotConfirmed,
    /// It was replaced meanwhile.
    #[error("another Machine has the name {name} by now, and nothing was written")]
    Conflict {
        /// Its name.
        name: String,
    },
    /// The caller may not change it.
    #[error(
        "you may not change Machine {name}; ask an administrator to run: kubectl -n {namespace} create rolebinding NAME --clusterrole=edit --user=YOU ({said})"
    )]
    Forbidden {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Message of the API server.
        said: String,
    },
    /// The API server refuses it.
    #[error("failed to change Machine {name}: {said}")]
    Refused {
        /// Its name.
        name: String,
        /// Message of the API server.
        said: String,
    },
    /// The terminal cannot be read or written.
    #[error("failed to use the terminal")]
    Terminal(#[source] std::io::Error),
}

impl Args {
    /// Runs the sub-command.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn run(&self) -> Result<(), Error> {
        let Command::DeclareGone(args) = &self.command;
        args.run().await
    }
}

impl DeclareGone {
    async fn run(&self) -> Result<(), Error> {
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let known = read(&caller, &self.name).await?;
        let uid = known.machine.uid().unwrap_or_default();
        let name = self.name.clone();
        if self.uid.as_ref().is_some_and(|meant| *meant != uid) {
            return Err(Error::Another { name, uid });
        }
        match objection(&known, clock::now()) {
            Some(Objection::Useless(why)) => return Err(Error::Useless { name, why }),
            Some(Objection::Shown(why)) if !self.force => return Err(Error::Shown { name, why }),
            Some(Objection::Shown(why)) => say(&format!("Although {why}:"))?,
            None => (),
        }
        let namespace = &caller.namespace;
        say(&format!(
            "Machine {namespace}/{name} (uid {uid}) is declared gone. What comes of it:"
        ))?;
        for what in consequences(&known) {
            say(&format!("- {what}."))?;
        }
        if !self.yes {
            self.ask()?;
        }
        declare(&caller, &known.machine).await?;
        say(&format!(
            "declared; follow it: tatara describe machine {} -n {namespace}",
            word(&name)
        ))
    }

    /// Has the name typed by who runs the command.
    fn ask(&self) -> Result<(), Error> {
        let input = std::io::stdin();
        if !input.is_terminal() {
            return Err(Error::NotAsked);
        }
        let asks = "Only if it is destroyed, erased or disconnected for good, type its name: ";
        let mut answer = String::new();
        let mut output = std::io::stdout();
        write!(output, "{asks}").map_err(Error::Terminal)?;
        output.flush().map_err(Error::Terminal)?;
        input
            .lock()
            .read_line(&mut answer)
            .map_err(Error::Terminal)?;
        let is_meant = answer.trim() == self.name;
        is_meant.then_some(()).ok_or(Error::NotConfirmed)
    }
}

async fn read(caller: &Caller, name: &str) -> Result<Known, Error> {
    let machine = caller.find::<Machine>(name).await?;
    let machine = machine.ok_or_else(|| Error::NotFound {
        namespace: caller.namespace.clone(),
        name: name.to_owned(),
    })?;
    let (host, hypervisor) = place(&machine);
    let cluster = machine.labels().get(LABEL_CLUSTER);
    let mut known = Known {
        cluster: None,
        other_control_planes: 0,
        host: None,
        hypervisor: None,
        machine: machine.clone(),
    };
    if let Some(cluster) = cluster {
        known.cluster = caller.find(cluster).await?;
        known.other_control_planes = others(caller, &machine, cluster).await?;
    }
    match (host, hypervisor) {
        (_, Some(hypervisor)) => known.hypervisor = caller.find::<Hypervisor>(hypervisor).await?,
        (Some(host), None) => known.host = caller.find::<Host>(host).await?,
        (None, None) => (),
    }
    Ok(known)
}

/// How many other control-plane Machines a Cluster has.
async fn others(caller: &Caller, machine: &Machine, cluster: &str) -> Result<usize, ApiError> {
    let all: Api<Machine> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let selector = format!("{LABEL_CLUSTER}={cluster},{LABEL_CONTROL_PLANE}");
    let labelled = kube::api::ListParams::default().labels(&selector);
    let all = all.list_metadata(&labelled).await;
    let all = all.map_err(|error| caller.explain::<Machine>(error))?;
    let is_other =
        |one: &&kube::core::PartialObjectMeta<Machine>| one.metadata.uid != machine.metadata.uid;
    Ok(all.items.iter().filter(is_other).count())
}

/// Writes it, if the name is that of the same Machine still.
async fn declare(caller: &Caller, machine: &Machine) -> Result<(), Error> {
    let name = machine.name_any();
    let metadata = json!({
        "uid": machine.metadata.uid,
        "annotations": { (ANNOTATION_HOST_IS_GONE): machine.metadata.uid },
    });
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let machines: Api<Machine> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let written = machines.patch_metadata(&name, &parameters, &patch).await;
    written.map(drop).map_err(|error| match error {
        kube::Error::Api(status) if status.code == 409 => Error::Conflict { name },
        kube::Error::Api(status) if status.code == 403 => Error::Forbidden {
            namespace: caller.namespace.clone(),
            said: status.message.clone(),
            name,
        },
        kube::Error::Api(status) => Error::Refused {
            said: status.message.clone(),
            name,
        },
        error => caller.explain::<Machine>(error).into(),
    })
}

fn say(text: &str) -> Result<(), Error> {
    writeln!(std::io::stdout(), "{}", printable(text)).map_err(Error::Terminal)
}
