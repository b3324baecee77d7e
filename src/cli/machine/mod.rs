//! `tatara machine`: what only a person can know of a machine.

mod gone;

use clap::Subcommand;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use self::gone::{Known, Objection, consequences, objection};
use super::caller::{ApiError, Caller};
use super::prompt::{Answer, ask_for_name, say};
use crate::clock;
use tatara_core::api::names::{ANNOTATION_HOST_IS_GONE, LABEL_CLUSTER};
use tatara_core::api::{Cluster, Hypervisor, Machine};
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
    /// Checks what the management cluster knows of it, says what comes of it, and asks. It sets the
    /// annotation tatara.dev/host-is-gone to the UID of the Machine.
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
    #[error(
        "Machine {name} was deleted or changed meanwhile, and nothing was written; see what there is now, and repeat the command if it is the same: kubectl get machine {name} -o wide"
    )]
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
    Terminal(#[from] std::io::Error),
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
        if let Some(why) = self.judge(&known)? {
            say(&format!("Although {why}:"))?;
        }
        let namespace = &caller.namespace;
        say(&format!(
            "Machine {namespace}/{name} (uid {uid}) is to be declared gone. What comes of it:"
        ))?;
        for what in consequences(&known) {
            say(&format!("- {what}."))?;
        }
        if !self.yes {
            self.ask()?;
            // it may answer by now
            let now = read(&caller, &name).await?;
            if now.machine.metadata.uid != known.machine.metadata.uid {
                return Err(Error::Conflict { name });
            }
            self.judge(&now)?;
        }
        declare(&caller, &known.machine).await?;
        say(&format!(
            "declared; follow it: tatara describe machine {} -n {namespace}",
            word(&name)
        ))?;
        Ok(())
    }

    /// What speaks against it, and is overruled.
    fn judge(&self, known: &Known) -> Result<Option<String>, Error> {
        let name = self.name.clone();
        match objection(known, clock::now()) {
            Some(Objection::Useless(why)) => Err(Error::Useless { name, why }),
            Some(Objection::Shown(why)) if !self.force => Err(Error::Shown { name, why }),
            Some(Objection::Shown(why)) => Ok(Some(why)),
            None => Ok(None),
        }
    }

    /// Has the name typed by who runs the command.
    fn ask(&self) -> Result<(), Error> {
        match ask_for_name(
            "Only if it is destroyed, erased or disconnected for good, type its name: ",
            &self.name,
        )? {
            Answer::Meant => Ok(()),
            Answer::Other => Err(Error::NotConfirmed),
            Answer::NoTerminal => Err(Error::NotAsked),
        }
    }
}

async fn read(caller: &Caller, name: &str) -> Result<Known, Error> {
    let machine = caller.find::<Machine>(name).await?;
    let machine = machine.ok_or_else(|| Error::NotFound {
        namespace: caller.namespace.clone(),
        name: name.to_owned(),
    })?;
    let (cluster, others) = match machine.labels().get(LABEL_CLUSTER) {
        Some(cluster) => {
            let selector = format!("{LABEL_CLUSTER}={cluster}");
            let mut others = caller.list::<Machine>(&selector).await?;
            others.retain(|other| other.metadata.uid != machine.metadata.uid);
            (caller.find::<Cluster>(cluster).await?, others)
        }
        None => (None, Vec::new()),
    };
    let hypervisor = match gone::hypervisor(&machine) {
        Some(hypervisor) => caller.find::<Hypervisor>(hypervisor).await?,
        None => None,
    };
    Ok(Known {
        host: gone::host(&machine, &caller.list("").await?),
        cluster,
        others,
        hypervisor,
        machine,
    })
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
        // another UID in the metadata is refused as invalid
        kube::Error::Api(status) if is_other(&status) => Error::Conflict { name },
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

/// Whether the object is not the one of this UID any more.
fn is_other(status: &kube::core::Status) -> bool {
    let is_uid = status.code == 422 && status.message.contains("metadata.uid");
    is_uid || matches!(status.code, 404 | 409)
}
