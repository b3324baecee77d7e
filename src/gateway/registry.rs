//! Which gateways we are connected to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;

use super::connection::{Connection, ConnectionKey, Wake};
use super::{Client, Credentials, GatewayError};

/// What a connection was made with, its URL and the data of its Secret; another is made when it differs. The version
/// of the Secret says nothing: a finalizer changes it as well.
type MadeWith = (String, Option<BTreeMap<String, ByteString>>);

/// The gateways of all Hypervisors, each with one connection.
pub struct Registry {
    connections: Mutex<HashMap<ConnectionKey, (MadeWith, Arc<Connection>)>>,
    /// Since when somebody wants a connection that there is not.
    missed: Mutex<HashMap<ConnectionKey, Timestamp>>,
    wake: Wake,
}

impl Registry {
    /// No connections yet; `wake` is called for whatever a gateway tells.
    pub fn new(wake: Wake) -> Self {
        Self {
            connections: Mutex::default(),
            missed: Mutex::default(),
            wake,
        }
    }

    /// Connects to a gateway, unless we are connected with these very credentials. Must be called within a
    /// tokio runtime.
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

    /// Since when a connection is asked for in vain: the first time that it was, since there was one.
    pub fn missed_since(&self, namespace: &str, name: &str) -> Timestamp {
        let key = ConnectionKey::new(namespace, name);
        *self.missed().entry(key).or_insert_with(crate::clock::now)
    }

    /// Ends a connection and forgets it.
    pub fn disconnect(&self, key: &ConnectionKey) {
        if let Some((_, connection)) = self.connections().remove(key) {
            connection.close();
        }
    }

    fn missed(&self) -> MutexGuard<'_, HashMap<ConnectionKey, Timestamp>> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<ConnectionKey, (MadeWith, Arc<Connection>)>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
