//! Address, host keys and credentials of a host: plain data from a Host and its Secrets.

use std::fmt;
use std::sync::Arc;

use super::Credential;
use tatara_core::api::host::Privilege;

/// One SSH server: its address, the user, and its host keys.
#[derive(Clone, Debug)]
pub struct Hop {
    /// IP address or DNS name, resolved by the hop before it.
    pub address: String,
    /// TCP port of sshd.
    pub port: u16,
    /// User of the login.
    pub user: String,
    /// Accepted host keys: `ssh-ed25519 AAAA…`, with an optional comment.
    pub host_keys: Vec<String>,
    /// Private key of the login.
    pub credential: Arc<Credential>,
}

/// A host, how its commands become root, and the jump hosts to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Namespace of the object that describes it. Connections and what is remembered of them stay
    /// in it.
    pub namespace: String,
    /// The host itself.
    pub hop: Hop,
    /// How commands become root.
    pub privilege: Privilege,
    /// Jump hosts, the nearest to the manager first. Their keys are always pinned.
    pub jump: Vec<Hop>,
    /// Accept the key that the host presents if none is pinned. Pinned keys are always verified.
    pub trust_on_first_use: bool,
}

/// The location of a host without credentials, for one namespace. Two namespaces that name one
/// server share nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Namespace of the object that describes the host.
    pub namespace: String,
    /// The jump hosts, the nearest to the manager first, and the host itself.
    pub way: Vec<Stop>,
}

/// Address, port and user of one hop.
pub type Stop = (String, u16, String);

impl Hop {
    /// The location.
    pub(super) fn stop(&self) -> Stop {
        (self.address.clone(), self.port, self.user.clone())
    }
}

impl Target {
    /// The location.
    pub fn place(&self) -> Place {
        Place {
            namespace: self.namespace.clone(),
            way: self.jump.iter().chain([&self.hop]).map(Hop::stop).collect(),
        }
    }
}

/// `user@address:port`, for messages.
impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.address.contains(':') {
            write!(f, "{}@[{}]:{}", self.user, self.address, self.port)
        } else {
            write!(f, "{}@{}:{}", self.user, self.address, self.port)
        }
    }
}
