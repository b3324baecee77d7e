//! `tatara kubeconfig`: the admin kubeconfig of a Cluster, from its Secret, with the caller's
//! permissions.

use std::fs::{OpenOptions, Permissions};
use std::io::{IsTerminal as _, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use super::caller::{ApiError, Caller, why_not_ready};
use super::printable;
use tatara_core::api::Cluster;
use tatara_core::api::conditions::{ConditionType, Status, find};
use tatara_core::api::names::kubeconfig_secret;

/// Key of the Secret that holds the kubeconfig (Cluster API convention).
const KEY: &str = "value";

/// Arguments of `tatara kubeconfig`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the Cluster
    cluster: String,
    /// Namespace of the Cluster; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
    /// Write it to this file, readable by you alone, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Why the kubeconfig cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The Cluster does not exist.
    #[error(
        "Cluster {name} does not exist in namespace {namespace}; list them: \
         kubectl -n {namespace} get clusters"
    )]
    NotFound {
        /// Namespace of the search.
        namespace: String,
        /// The given name.
        name: String,
    },
    /// Its control plane is not initialized.
    #[error(
        "Cluster {name} has no control plane yet ({why}); wait for it: \
         tatara describe cluster {name} -n {namespace} --watch --until-ready"
    )]
    NotReady {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Reason and message of its condition Ready.
        why: String,
    },
    /// Whether it has a control plane is unknown.
    #[error("Cluster {name} has no kubeconfig: {why}")]
    InDoubt {
        /// Its name.
        name: String,
        /// Message of its condition.
        why: String,
    },
    /// The Secret does not exist, or has no kubeconfig.
    #[error(
        "Secret {secret} in namespace {namespace} has no kubeconfig (key {KEY}). For a control plane that Tatara manages, \
         the manager creates it: retry in a minute, then check its log: kubectl -n tatara-system logs deployment/tatara-manager. \
         For an external control plane, create it: kubectl -n {namespace} create secret generic {secret} \
         --from-file={KEY}=KUBECONFIG --dry-run=client -o yaml | kubectl apply -f -"
    )]
    Missing {
        /// Its namespace.
        namespace: String,
        /// Its name.
        secret: String,
    },
    /// The kubeconfig cannot be written.
    #[error("failed to write to {to}")]
    Output {
        /// The file, or standard output.
        to: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

impl Args {
    /// Prints the kubeconfig, or writes it to the file.
    ///
    /// # Errors
    /// The Cluster or its kubeconfig does not exist, a request to the management cluster fails, or
    /// the output cannot be written.
    pub async fn run(&self) -> Result<(), Error> {
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let cluster = self.cluster(&caller).await?;
        let text = text(&caller, &kubeconfig_secret(&cluster.name_any())).await?;
        let text = text.ok_or_else(|| missing(&cluster))?;
        match &self.output {
            Some(file) => write_privately(file, &text).map_err(|source| Error::Output {
                to: file.display().to_string(),
                source,
            }),
            None => print(&text).map_err(|source| Error::Output {
                to: "standard output".into(),
                source,
            }),
        }
    }

    async fn cluster(&self, caller: &Caller) -> Result<Cluster, Error> {
        let found = caller.find(&self.cluster).await?;
        found.ok_or_else(|| Error::NotFound {
            namespace: caller.namespace.clone(),
            name: self.cluster.clone(),
        })
    }
}

/// As it is to a file or a program, and as text to a terminal.
fn print(text: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    if out.is_terminal() {
        return out.write_all(printable(&String::from_utf8_lossy(text)).as_bytes());
    }
    out.write_all(text)
}

/// Why its Secret has no kubeconfig.
fn missing(cluster: &Cluster) -> Error {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let status = cluster.status.as_ref();
    let conditions = status.map(|s| s.conditions.as_slice()).unwrap_or_default();
    match find(conditions, ConditionType::ControlPlaneInitialized) {
        Some(made) if made.status == Status::True => Error::Missing {
            namespace,
            secret: kubeconfig_secret(&name),
        },
        Some(made) if made.reason.ends_with("InDoubt") => Error::InDoubt {
            name,
            why: made.message.clone(),
        },
        _ => Error::NotReady {
            namespace,
            name,
            why: why_not_ready(conditions),
        },
    }
}

/// The kubeconfig of its Secret, whatever the Cluster's conditions: its control plane may run.
async fn text(caller: &Caller, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let api: Api<Secret> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let secret = api.get_opt(name).await;
    let secret = secret.map_err(|error| caller.explain::<Secret>(error))?;
    let text = secret.and_then(|secret| secret.data?.remove(KEY));
    Ok(text.map(|text| text.0))
}

/// Replaces an existing file, content and mode.
fn write_privately(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_in_doubt_is_not_to_be_waited_for() {
        for (status, reason, says) in [
            ("False", "Initializing", "wait for it: tatara describe"),
            ("False", "ControlPlaneInDoubt", "has no kubeconfig: words"),
            ("False", "TurnInDoubt", "has no kubeconfig: words"),
            ("True", "Initialized", "has no kubeconfig"),
        ] {
            let condition = json!({"type": "ControlPlaneInitialized", "status": status, "reason": reason,
                "message": "words", "lastTransitionTime": "2027-01-15T08:00:00Z"});
            let cluster = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
                "metadata": {"name": "c", "namespace": "n"},
                "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
                    "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}},
                "status": {"conditions": [condition]}});
            let said = missing(&serde_json::from_value(cluster).unwrap()).to_string();
            assert!(said.contains(says), "{reason}: {said}");
        }
    }

    #[test]
    fn a_file_is_readable_by_its_owner_alone_also_where_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, "an older one, and longer").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        for path in [path, folder.path().join("new")] {
            write_privately(&path, b"text").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"text");
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
