//! The connections to gateways.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;

use super::connection::{Connection, ConnectionKey, Wake};
use super::{Client, Credentials, GatewayError};

/// The parameters of a connection: its URL and the data of its Secret; if they differ, it is
/// replaced. The version of the Secret is not compared: a finalizer changes it as well.
type ConnectionInput = (String, Option<BTreeMap<String, ByteString>>);

/// The gateways of all Hypervisors, each with one connection.
pub struct Registry {
    connections: Mutex<HashMap<ConnectionKey, (ConnectionInput, Arc<Connection>)>>,
    /// Since when a missing connection is needed.
    missed: Mutex<HashMap<ConnectionKey, Timestamp>>,
    wake: Wake,
}

impl Registry {
    /// A registry without connections; `wake` is called for events of gateways.
    pub fn new(wake: Wake) -> Self {
        Self {
            connections: Mutex::default(),
            missed: Mutex::default(),
            wake,
        }
    }

    /// Connects to a gateway, unless there is a connection with the same credentials. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// The credentials or the URL cannot be used.
    pub fn connect(
        &self,
        key: &ConnectionKey,
        url: &str,
        secret: Option<&Secret>,
        credentials: impl FnOnce() -> Result<Credentials, GatewayError>,
    ) -> Result<Arc<Connection>, GatewayError> {
        let made_with = (
            url.to_owned(),
            secret.and_then(|secret| secret.data.clone()),
        );
        let mut connections = self.connections();
        if let Some((with, connection)) = connections.get(key)
            && *with == made_with
        {
            return Ok(connection.clone());
        }
        if let Some((_, earlier)) = connections.remove(key) {
            earlier.close();
        }
        let client = Client::new(url, credentials()?)?;
        let connection = Arc::new(Connection::open(key.clone(), client, self.wake.clone()));
        connections.insert(key.clone(), (made_with, connection.clone()));
        self.missed().remove(key);
        Ok(connection)
    }

    /// The connection to a Hypervisor's gateway, if there is one.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<Connection>> {
        self.connections()
            .get(&ConnectionKey::new(namespace, name))
            .map(|(_, connection)| connection.clone())
    }

    /// Since when a missing connection is needed: the first request after the last connection.
    pub fn missed_since(&self, namespace: &str, name: &str) -> Timestamp {
        let key = ConnectionKey::new(namespace, name);
        *self.missed().entry(key).or_insert_with(crate::clock::now)
    }

    /// Closes a connection and removes it.
    pub fn disconnect(&self, key: &ConnectionKey) {
        if let Some((_, connection)) = self.connections().remove(key) {
            connection.close();
        }
    }

    fn missed(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Timestamp>> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(
        &self,
    ) -> MutexGuard<'_, HashMap<ConnectionKey, (ConnectionInput, Arc<Connection>)>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
