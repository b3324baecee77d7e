//! Hosts over SSH: their sessions and observations.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tatara_core::api::conditions::Reason;
use tatara_core::host::{Contact, ContactError};

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::host_memory::Memory;
use super::{Credentials, Sightings, target};
use crate::engine::Chain;
use crate::remote::{
    Contact as UnderWay, Contacts, Credential, Place, Pool, Route, Session, Target,
};
use crate::store::Stores;
use tatara_core::api::Host;
use tatara_core::node::{self, Observation};

/// Time limit of one observation. It takes a second, or a few on a loaded host.
pub(super) const LOOK: Duration = Duration::from_secs(30);
/// Time limit of any other command on a host outside of jobs.
const ACT: Duration = Duration::from_mins(2);

/// A server that is reached over SSH: a Host, or a virtual machine of ours.
pub trait Server: Send + Sync {
    /// Namespace of its Secrets.
    fn namespace(&self) -> String;
    /// Its address, for messages.
    fn address(&self) -> &str;
    /// Its place, including jump hosts.
    fn place(&self) -> Place;
    /// Names of the Secrets with the keys for it and its jump hosts.
    fn credentials(&self) -> Vec<&str>;
    /// Name of its Host, if it is one.
    fn host(&self) -> Option<String> {
        None
    }
    /// Its SSH target, with the keys of its Secrets.
    ///
    /// # Errors
    /// A credential cannot be read, or the address, user or a jump host of the Host cannot be used.
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

    fn place(&self) -> Place {
        target::place(self)
    }

    fn credentials(&self) -> Vec<&str> {
        self.spec.credentials().collect()
    }

    fn host(&self) -> Option<String> {
        Some(self.name_any())
    }

    fn target(
        &self,
        credential_of: &dyn Fn(&str) -> Result<Arc<Credential>, ContactError>,
    ) -> Result<Target, ContactError> {
        target::target(self, credential_of)
    }
}

/// This process, as it leads.
#[derive(Clone, Debug, Default)]
pub struct Leader {
    /// UID of the management cluster.
    pub management: String,
    /// When it began to lead, in microseconds since 1970; later than any process before it, and
    /// than what that one counted up from its own.
    pub epoch: i64,
}

/// All servers that the manager connects to.
pub struct Hosts {
    pool: Pool,
    credentials: Credentials,
    stores: Arc<Stores>,
    memory: Memory,
    contacts: Contacts,
    leader: Leader,
    /// Observed control planes on them.
    pub sightings: Sightings,
}

impl Hosts {
    /// Starts without connections; they are opened on demand and kept.
    pub fn new(stores: Arc<Stores>, leader: Leader) -> Self {
        Self {
            leader,
            pool: Pool::new(),
            credentials: Credentials::default(),
            stores,
            memory: Memory::default(),
            contacts: Contacts::default(),
            sightings: Sightings::default(),
        }
    }

    /// The shared session with a host.
    ///
    /// # Errors
    /// The keys of the host cannot be used, or it cannot be reached or logged in to.
    pub async fn session(&self, host: &dyn Server) -> Result<Arc<Session>, ContactError> {
        let place = host.place();
        let under_way = self.contacts.begin(&place);
        let target = self.target(host).await?;
        if let Some(error) = self.memory.refusal(&place, &target) {
            return Err(error);
        }
        let session = self.pool.session(&target).await;
        let session = session.map_err(|error| {
            let error = ContactError {
                reason: error.reason(),
                message: Chain(&error).to_string(),
                transient: error.is_transient(),
            };
            self.memory.refused(place, &target, error.clone());
            error
        });
        self.settle(&under_way, host);
        session
    }

    /// Forgets what came of a contact with a server that was forgotten while it was under way: a
    /// Host that was deleted, or has another address.
    fn settle(&self, under_way: &UnderWay, host: &dyn Server) {
        if under_way.is_forgotten() {
            let place = host.place();
            self.pool.forget(&place);
            self.memory.forget(&place);
            if let Some(name) = host.host() {
                self.sightings.forget(&host.namespace(), &name);
            }
        }
    }

    /// When a Host last answered, unless a later contact failed.
    pub fn heard_at(&self, host: &Host) -> Option<Timestamp> {
        self.memory.heard_at(&target::place(host))
    }

    /// Invalidates the last observation of a Host, so that the next pass contacts it.
    pub fn doubt(&self, host: &Host) {
        self.memory.heard(target::place(host), None);
    }

    /// The public key of the manager's logins to a Host, as in `authorized_keys`.
    ///
    /// # Errors
    /// The keys of the host cannot be used.
    pub async fn authorized(&self, host: &Host) -> Result<String, ContactError> {
        let namespace = Server::namespace(host);
        let name = &host.spec.ssh.credentials_ref.name;
        let credential = self.credential(&namespace, name).await?;
        credential.public().map_err(unreadable)
    }

    /// Closes the connection to a Host that is deleted or has another address.
    pub fn forget(&self, host: &Host) {
        self.forget_guest(&target::place(host));
        self.sightings
            .forget(&Server::namespace(host), &host.name_any());
    }

    /// Lets the next pass contact a Host despite a recent failure.
    pub fn retry(&self, host: &Host) {
        self.memory.forget(&target::place(host));
    }

    /// Closes the connection to a virtual machine that was deleted.
    pub fn forget_guest(&self, place: &Place) {
        self.contacts.forget(place);
        self.pool.forget(place);
        self.memory.forget(place);
    }

    /// Forgets the key of a deleted Secret.
    pub fn forget_credential(&self, namespace: &str, name: &str) {
        self.credentials.forget(namespace, name);
    }

    /// These hosts, to lead connections through. Those whose keys cannot be used are left out.
    pub async fn targets(&self, hosts: &[Arc<Host>]) -> Vec<Target> {
        let mut targets = Vec::new();
        for host in hosts {
            targets.extend(self.target(host.as_ref()).await.ok());
        }
        targets
    }

    /// The connections to servers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A route to this port of a host itself, over its SSH connection.
    ///
    /// # Errors
    /// The keys of the host cannot be used.
    pub async fn tunnel(&self, host: &dyn Server, port: u16) -> Result<Route, ContactError> {
        Ok(Route::Tunnel {
            pool: self.pool.clone(),
            target: self.target(host).await?,
            host: "127.0.0.1".into(),
            port,
        })
    }

    /// The number of this connection: one that is opened later has a higher one, also that of a
    /// later leader. A host starts nothing that was sent over a connection before the one over
    /// which it was last looked at: packets of one that was given up may still arrive.
    pub fn epoch(&self, session: &Session) -> i64 {
        self.leader.epoch.saturating_add(session.number())
    }

    async fn look(&self, host: &dyn Server) -> Result<Vec<u8>, ContactError> {
        let session = self.session(host).await?;
        let script = node::observe(Some(node::Leader {
            management: &self.leader.management,
            namespace: &host.namespace(),
            epoch: self.epoch(&session),
        }));
        output_of(&session, LOOK, host, script).await
    }

    /// Observes everything on a host that plans need, in one round trip.
    ///
    /// # Errors
    /// The host cannot be reached, or its answer is malformed.
    pub async fn observe(&self, host: &dyn Server) -> Result<Observation, ContactError> {
        let under_way = self.contacts.begin(&host.place());
        let stdout = self.look(host).await;
        let heard = stdout.is_ok().then(crate::clock::now);
        self.memory.heard(host.place(), heard);
        let seen = stdout.and_then(|stdout| node::parse_observation(&stdout).map_err(unreadable));
        if let Some(name) = host.host() {
            match &seen {
                Ok(seen) => self.sightings.note(&host.namespace(), &name, seen),
                Err(_) => self.sightings.note_silence(&host.namespace(), &name),
            }
        }
        self.settle(&under_way, host);
        seen
    }

    /// Observes a Host. Also returns its host keys, if none are pinned.
    pub async fn ask(&self, host: &Host) -> (Contact, Vec<String>) {
        let keys = match self.session(host).await {
            Ok(session) if host.spec.ssh.host_keys.is_empty() => {
                session.first_contact_keys().to_vec()
            }
            _ => Vec::new(),
        };
        match self.observe(host).await {
            Ok(seen) => (Contact::Seen(Box::new(seen)), keys),
            Err(error) => (Contact::Failed(error), keys),
        }
    }

    /// Runs a short script and returns its standard output.
    ///
    /// # Errors
    /// The host cannot be reached, or the script fails or exceeds its time limit.
    pub async fn run(
        &self,
        host: &dyn Server,
        script: Result<node::Script, node::RenderError>,
    ) -> Result<Vec<u8>, ContactError> {
        let session = self.session(host).await?;
        output_of(&session, ACT, host, script).await
    }

    async fn target(&self, host: &dyn Server) -> Result<Target, ContactError> {
        let namespace = host.namespace();
        let mut decoded = HashMap::new();
        for name in host.credentials() {
            decoded.insert(name, self.credential(&namespace, name).await);
        }
        host.target(&|name| match decoded.get(name) {
            Some(credential) => credential.clone(),
            None => Err(unnamed(name)),
        })
    }

    async fn credential(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<Credential>, ContactError> {
        let secret = self.stores.credentials.get(namespace, name);
        self.credentials
            .of(namespace, name, secret.as_deref())
            .await
    }
}

/// The error of a failed command, for a condition.
pub fn run_failed(error: &crate::remote::RunError) -> ContactError {
    use crate::remote::RunError::{Busy, Disconnected, Hangs};
    let transient = matches!(error, Disconnected { .. } | Hangs { .. } | Busy { .. });
    ContactError {
        reason: error.reason(),
        message: Chain(error).to_string(),
        transient,
    }
}

/// The error of a server that uses a Secret which its list of Secrets lacks.
/// The standard output of a short script, which succeeds within its time limit.
async fn output_of(
    session: &Session,
    limit: Duration,
    host: &dyn Server,
    script: Result<node::Script, node::RenderError>,
) -> Result<Vec<u8>, ContactError> {
    let script = script.map_err(unreadable)?;
    let output = session
        .run_within(script.as_str(), limit)
        .await
        .map_err(|error| run_failed(&error))?;
    if output.code == Some(0) {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(ContactError {
        reason: Reason::ScriptFailed,
        message: format!(
            "a script of Tatara failed with {} on {}: {}",
            output.end(),
            host.address(),
            stderr.trim()
        ),
        transient: true,
    })
}

fn unnamed(name: &str) -> ContactError {
    ContactError {
        reason: Reason::CredentialMissing,
        message: format!("Secret {name} was not looked up; report this"),
        transient: true,
    }
}

fn unreadable(error: impl std::error::Error) -> ContactError {
    ContactError {
        reason: Reason::UnreadableAnswer,
        message: Chain(&error).to_string(),
        transient: true,
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
