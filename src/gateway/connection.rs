//! The connection to one gateway.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::task::AbortHandle;

use super::{Client, follow};
use crate::core::hypervisor::View;

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

/// Whom to wake when a gateway tells something. All must return at once.
#[derive(Clone)]
pub struct Wake {
    /// The Machine of this UID; the Hypervisor where there is none: it says which virtual machines have no Machine.
    pub machine: WakeMachine,
    /// Machines that wait for an image, or for room.
    pub waiting: WakeHypervisor,
    /// The Hypervisor itself.
    pub hypervisor: WakeHypervisor,
    /// The Hypervisor and every Machine that it may concern.
    pub all: WakeHypervisor,
}

/// A gateway that we are connected to. Dropping the last reference ends it.
pub struct Connection {
    client: Arc<Client>,
    view: Arc<RwLock<View>>,
    follow: AbortHandle,
}

impl Connection {
    /// Begins to follow the gateway's events. Must be called within a tokio runtime.
    pub(super) fn open(key: ConnectionKey, client: Client, wake: Wake) -> Self {
        let (client, view) = (Arc::new(client), Arc::new(RwLock::new(View::default())));
        let follow = tokio::spawn(follow::follow(key, client.clone(), view.clone(), wake));
        Self {
            client,
            view,
            follow: follow.abort_handle(),
        }
    }

    /// Sends requests.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What it has told.
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
