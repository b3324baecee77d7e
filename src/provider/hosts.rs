//! Hosts over SSH: their sessions, and what they say of themselves.

use std::sync::Arc;

use kube::ResourceExt;

use super::{Credentials, target};
use crate::api::Host;
use crate::controllers::Chain;
use crate::node::{self, Observation};
use crate::remote::{Credential, Pool, Route, Session, Target};
use crate::store::Stores;

/// Why a host could not be asked, in the words of a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ContactError {
    /// One CamelCase word.
    pub reason: &'static str,
    /// For people, with the remedy.
    pub message: String,
    /// Whether it may pass by itself.
    pub transient: bool,
}

/// A server that is reached over SSH: a Host, or a virtual machine of ours.
pub trait Server: Sync {
    /// Namespace of its Secrets.
    fn namespace(&self) -> String;
    /// Where it is, for people.
    fn address(&self) -> &str;
    /// How it is reached, with the keys of its Secrets.
    fn target(
        &self,
        credential_of: &dyn Fn(&str) -> Result<Arc<Credential>, ContactError>,
    ) -> Result<Target, ContactError>;
}

impl Server for Host {
    fn namespace(&self) -> String {
        ResourceExt::namespace(self).unwrap_or_default()
    }

    fn address(&self) -> &str {
        &self.spec.ssh.address
    }

    fn target(
        &self,
        credential_of: &dyn Fn(&str) -> Result<Arc<Credential>, ContactError>,
    ) -> Result<Target, ContactError> {
        target::target(self, credential_of)
    }
}

/// All servers that the manager talks to.
pub struct Hosts {
    pool: Pool,
    credentials: Credentials,
    stores: Arc<Stores>,
}

impl Hosts {
    /// No connections yet; they are made when they are needed, and kept.
    pub fn new(stores: Arc<Stores>) -> Self {
        Self {
            pool: Pool::new(),
            credentials: Credentials::default(),
            stores,
        }
    }

    /// The shared session with a host.
    pub async fn session(&self, host: &impl Server) -> Result<Arc<Session>, ContactError> {
        let target = self.target(host)?;
        self.pool
            .session(&target)
            .await
            .map_err(|error| ContactError {
                reason: error.reason(),
                message: Chain(&error).to_string(),
                transient: error.is_transient(),
            })
    }

    /// The public key that we log in to a Host with, as in `authorized_keys`.
    pub fn authorized(&self, host: &Host) -> Result<String, ContactError> {
        let namespace = Server::namespace(host);
        let credential = self.credential(&namespace, &host.spec.ssh.credentials_ref.name)?;
        credential.public().map_err(unreadable)
    }

    /// Closes the connection to a Host that is gone, or is somewhere else now.
    pub fn forget(&self, host: &Host) {
        self.pool.forget(&target::place(host));
    }

    /// Closes the connection to a virtual machine that is gone.
    pub fn forget_guest(&self, address: &str) {
        let stop = (address.to_owned(), 22, super::libvirt::USER.to_owned());
        self.pool.forget(&vec![stop]);
    }

    /// Forgets the key of a Secret that is gone.
    pub fn forget_credential(&self, namespace: &str, name: &str) {
        self.credentials.forget(namespace, name);
    }

    /// The way to what a host can reach, over its SSH connection.
    pub fn route(&self, host: &impl Server) -> Result<Route, ContactError> {
        Ok(Route::Through {
            pool: self.pool.clone(),
            target: self.target(host)?,
        })
    }

    /// Asks a host for everything that plans look at, in one round trip.
    pub async fn observe(&self, host: &impl Server) -> Result<Observation, ContactError> {
        let stdout = self.run(host, node::observe()).await?;
        node::parse_observation(&stdout).map_err(unreadable)
    }

    /// Runs a script that answers on its standard output.
    pub async fn run(
        &self,
        host: &impl Server,
        script: Result<node::Script, node::RenderError>,
    ) -> Result<Vec<u8>, ContactError> {
        let script = script.map_err(unreadable)?;
        let session = self.session(host).await?;
        let output = session
            .run(script.as_str())
            .await
            .map_err(|error| run_failed(&error))?;
        if output.code == Some(0) {
            return Ok(output.stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(ContactError {
            reason: "ScriptFailed",
            message: format!(
                "a script of Tatara ended with exit code {:?} on {}: {}",
                output.code,
                host.address(),
                stderr.trim()
            ),
            transient: true,
        })
    }

    fn target(&self, host: &impl Server) -> Result<Target, ContactError> {
        let namespace = host.namespace();
        host.target(&|name| self.credential(&namespace, name))
    }

    fn credential(&self, namespace: &str, name: &str) -> Result<Arc<Credential>, ContactError> {
        let secret = self.stores.credentials.get(namespace, name);
        self.credentials.of(namespace, name, secret.as_deref())
    }
}

/// What a failed command says in a condition.
pub fn run_failed(error: &crate::remote::RunError) -> ContactError {
    let transient = matches!(error, crate::remote::RunError::Disconnected { .. });
    ContactError {
        reason: error.reason(),
        message: Chain(error).to_string(),
        transient,
    }
}

fn unreadable(error: impl std::error::Error) -> ContactError {
    ContactError {
        reason: "UnreadableAnswer",
        message: Chain(&error).to_string(),
        transient: true,
    }
}
