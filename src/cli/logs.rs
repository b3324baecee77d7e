//! `tatara logs machine`: the logs of a Machine's steps on its host, read over SSH with the
//! caller's permissions, without the manager.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use tokio::sync::mpsc;

use super::caller::{ApiError, Caller, why_not_ready};
use super::printable;
use crate::providers::libvirt::{Guest, Keys};
use crate::providers::ssh::{Credentials, Server, target};
use crate::remote::{ConnectError, Credential, Pool, RunError, Session, Target};
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, LABEL_CLUSTER, ssh_secret};
use tatara_core::api::{Host, Machine};
use tatara_core::host::ContactError;
use tatara_core::node;

/// Arguments of `tatara logs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the logs of a Machine's steps, read from its host over SSH with the Host's Secret
    Machine(MachineArgs),
}

#[derive(Debug, clap::Args)]
struct MachineArgs {
    /// Name of the Machine
    name: String,
    /// Namespace of the Machine; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
    /// Print only this step, such as containerd; `tatara describe` names the running one
    #[arg(short, long)]
    step: Option<String>,
    /// Keep printing while steps are running
    #[arg(short, long)]
    follow: bool,
}

/// Why the logs cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The Machine does not exist.
    #[error(
        "Machine {name} does not exist in namespace {namespace}; list them: \
         kubectl -n {namespace} get machines"
    )]
    NotFound {
        /// Namespace of the search.
        namespace: String,
        /// The given name.
        name: String,
    },
    /// The Machine has neither a Host nor a virtual machine.
    #[error("Machine {name} has no host yet, so it has no logs: {why}")]
    NoHost {
        /// Name of the Machine.
        name: String,
        /// Reason and message of its condition Ready.
        why: String,
    },
    /// The Host's Secret has no usable key.
    #[error(transparent)]
    Credential(#[from] ContactError),
    /// The host cannot be reached.
    #[error("failed to reach Host {host}")]
    Connect {
        /// Name of the Host.
        host: String,
        /// Error of the connection.
        #[source]
        source: ConnectError,
    },
    /// The script that reads the logs failed on the host.
    #[error("failed to read the logs on Host {host}")]
    Run {
        /// Name of the Host.
        host: String,
        /// Error of the script.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The host has no logs of the Machine.
    #[error(
        "Host {host} has no logs of Machine {name}{step}; to see its state: tatara describe cluster {cluster} -n {namespace}"
    )]
    Nothing {
        /// Name of the Host.
        host: String,
        /// Name of the Machine.
        name: String,
        /// The given step.
        step: String,
        /// Its Cluster.
        cluster: String,
        /// Their namespace.
        namespace: String,
    },
    /// Standard output cannot be written.
    #[error("failed to write to standard output")]
    Output(#[source] std::io::Error),
}

impl Args {
    /// Prints the logs that the arguments select.
    ///
    /// # Errors
    /// The Machine does not exist or has no host or logs, or a request to the management cluster or
    /// the host fails.
    pub async fn run(&self) -> Result<(), Error> {
        let What::Machine(machine) = &self.what;
        match machine.run().await {
            // the reader has closed the pipe, such as `head`
            Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

impl MachineArgs {
    async fn run(&self) -> Result<(), Error> {
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let machine = self.machine(&caller).await?;
        let uid = machine.uid().unwrap_or_default();
        let (name, target) = if machine.annotations().contains_key(ANNOTATION_HYPERVISOR) {
            guest_of(&caller, &machine).await?
        } else {
            let host = host_of(&caller, &machine, &uid).await?;
            (host.name_any(), target_of(&caller, &host).await?)
        };
        let session = Pool::new().session(&target).await;
        let session = session.map_err(|source| Error::Connect {
            host: name.clone(),
            source,
        })?;
        let script = if self.follow {
            node::follow_log
        } else {
            node::log
        };
        let failed = |source| Error::Run {
            host: name.clone(),
            source,
        };
        let script = script(&uid, self.step.as_deref()).map_err(|error| failed(error.into()))?;
        if print(&session, &script, &failed).await? == 0 {
            let step = self.step.as_ref().map(|step| format!(", step {step}"));
            return Err(Error::Nothing {
                host: name,
                name: self.name.clone(),
                step: step.unwrap_or_default(),
                cluster: machine
                    .labels()
                    .get(LABEL_CLUSTER)
                    .cloned()
                    .unwrap_or_default(),
                namespace: caller.namespace.clone(),
            });
        }
        Ok(())
    }

    async fn machine(&self, caller: &Caller) -> Result<Machine, Error> {
        let found = caller.find(&self.name).await?;
        found.ok_or_else(|| Error::NotFound {
            namespace: caller.namespace.clone(),
            name: self.name.clone(),
        })
    }
}

/// SSH target of a virtual machine: the address in its Machine's status, with the keys of its
/// Secret.
async fn guest_of(caller: &Caller, machine: &Machine) -> Result<(String, Target), Error> {
    let status = machine.status.as_ref();
    let address = status.and_then(|status| status.addresses.first());
    let address = address.ok_or_else(|| no_host(machine))?.address.clone();
    let name = ssh_secret(&machine.name_any());
    let api: Api<Secret> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let secret = api.get_opt(&name).await;
    let secret = secret.map_err(|error| caller.explain::<Secret>(error))?;
    let keys = secret.as_ref().and_then(Keys::of);
    let decoded = Credentials::default();
    let guest = Guest {
        namespace: caller.namespace.clone(),
        address: address.clone(),
        host_key: keys.map(|keys| keys.host_public).unwrap_or_default(),
        secret: name,
    };
    let credential = decoded.of(&caller.namespace, &guest.secret, secret.as_ref());
    let credential = credential.await;
    Ok((address, guest.target(&|_| credential.clone())?))
}

async fn host_of(caller: &Caller, machine: &Machine, uid: &str) -> Result<Host, Error> {
    let api: Api<Host> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let list = api.list(&ListParams::default()).await;
    let hosts = list.map_err(|error| caller.explain::<Host>(error))?;
    let holds = |host: &Host| {
        host.spec
            .consumer_ref
            .as_ref()
            .is_some_and(|c| c.uid == uid)
    };
    hosts
        .items
        .into_iter()
        .find(holds)
        .ok_or_else(|| no_host(machine))
}

fn no_host(machine: &Machine) -> Error {
    let conditions = machine
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice());
    Error::NoHost {
        name: machine.name_any(),
        why: why_not_ready(conditions.unwrap_or_default()),
    }
}

/// SSH target of a host: the manager's, but without trust on first use.
async fn target_of(caller: &Caller, host: &Host) -> Result<Target, Error> {
    let api: Api<Secret> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let decoded = Credentials::default();
    let mut credentials: HashMap<&str, Result<Arc<Credential>, ContactError>> = HashMap::new();
    for name in host.spec.credentials() {
        let secret = api.get_opt(name).await;
        let secret = secret.map_err(|error| caller.explain::<Secret>(error))?;
        let secret = secret.filter(|s| s.type_.as_deref() == Some("kubernetes.io/ssh-auth"));
        let credential = decoded.of(&caller.namespace, name, secret.as_ref());
        credentials.insert(name, credential.await);
    }
    let mut target = target::target(host, |name| credentials[name].clone())?;
    target.trust_on_first_use = false;
    Ok(target)
}

/// Prints the output of a script line by line, and returns the number of lines.
async fn print(
    session: &Session,
    script: &node::Script,
    failed: &impl Fn(Box<dyn std::error::Error + Send + Sync>) -> Error,
) -> Result<usize, Error> {
    let (sender, mut lines) = mpsc::unbounded_channel::<String>();
    let run = async {
        let on_line = move |line: &str| drop(sender.send(line.to_owned()));
        let output = session.follow(script.as_str(), on_line).await;
        output.map_err(|error: RunError| failed(error.into()))
    };
    let write = async {
        let mut count = 0;
        while let Some(line) = lines.recv().await {
            writeln!(std::io::stdout(), "{}", printable(&line)).map_err(Error::Output)?;
            count += 1;
        }
        Ok(count)
    };
    let (output, count) = tokio::try_join!(run, write)?;
    if output.success() {
        return Ok(count);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = format!("the script failed with {}: {said}", output.end());
    Err(failed(said.into()))
}
