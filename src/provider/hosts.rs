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

/// All hosts that the manager talks to.
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
    pub async fn session(&self, host: &Host) -> Result<Arc<Session>, ContactError> {
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

    /// Closes the connection to a Host that is gone, or is somewhere else now.
    pub fn forget(&self, host: &Host) {
        self.pool.forget(&target::place(host));
    }

    /// Forgets the key of a Secret that is gone.
    pub fn forget_credential(&self, namespace: &str, name: &str) {
        self.credentials.forget(namespace, name);
    }

    /// The way to what a host can reach, over its SSH connection.
    pub fn route(&self, host: &Host) -> Result<Route, ContactError> {
        Ok(Route::Through {
            pool: self.pool.clone(),
            target: self.target(host)?,
        })
    }

    /// Asks a host for everything that plans look at, in one round trip.
    pub async fn observe(&self, host: &Host) -> Result<Observation, ContactError> {
        let stdout = self.run(host, node::observe()).await?;
        node::parse_observation(&stdout).map_err(unreadable)
    }

    /// Runs a script that answers on its standard output.
    pub async fn run(
        &self,
        host: &Host,
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
                host.spec.ssh.address,
                stderr.trim()
            ),
            transient: true,
        })
    }

    fn target(&self, host: &Host) -> Result<Target, ContactError> {
        let namespace = host.namespace().unwrap_or_default();
        target::target(host, |name| self.credential(&namespace, name))
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
