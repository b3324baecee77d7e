//! The connection to one gateway.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::task::AbortHandle;

use super::{Client, follow};
use tatara_core::hypervisor::View;

/// Which Hypervisor a connection belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionKey {
    /// Namespace of the Hypervisor.
    pub namespace: String,
    /// Name of the Hypervisor.
    pub name: String,
}

impl ConnectionKey {
    /// The key of a Hypervisor.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Called for a Hypervisor.
pub type WakeHypervisor = Arc<dyn Fn(&ConnectionKey) + Send + Sync>;

/// Wakes by Hypervisor and by the id of a virtual machine.
pub type WakeMachine = Arc<dyn Fn(&ConnectionKey, &str) + Send + Sync>;

/// The functions to call on events of a gateway. All must return at once.
#[derive(Clone)]
pub struct Wake {
    /// Wakes the Machine of this UID, or the Hypervisor if there is none: it reports virtual
    /// machines without a Machine.
    pub machine: WakeMachine,
    /// Wakes Machines that wait for an image or for capacity.
    pub waiting: WakeHypervisor,
    /// Wakes the Hypervisor.
    pub hypervisor: WakeHypervisor,
    /// Wakes the Hypervisor and every Machine that may depend on it.
    pub all: WakeHypervisor,
}

/// A connection to a gateway. Dropping the last reference closes it.
pub struct Connection {
    client: Arc<Client>,
    view: Arc<RwLock<View>>,
    follow: AbortHandle,
}

impl Connection {
    /// Starts to read the gateway's events. Must be called within a tokio runtime.
    pub(super) fn open(key: ConnectionKey, client: Client, wake: Wake) -> Self {
        let (client, view) = (Arc::new(client), Arc::new(RwLock::new(View::default())));
        let follow = tokio::spawn(follow::follow(key, client.clone(), view.clone(), wake));
        Self {
            client,
            view,
            follow: follow.abort_handle(),
        }
    }

    /// The client for requests.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The state from its events.
    pub fn view(&self) -> View {
        self.view
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn close(&self) {
        self.follow.abort();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
