//! Where a host is and how it is opened: plain data, made from a Host and its Secrets.

use std::fmt;
use std::sync::Arc;

use super::Credential;
use crate::api::host::Privilege;

/// One SSH server: where it is, who logs in, and the keys that it must show.
#[derive(Clone, Debug)]
pub struct Hop {
    /// IP address or DNS name, resolved by the hop before it.
    pub address: String,
    /// TCP port of sshd.
    pub port: u16,
    /// User to log in as.
    pub user: String,
    /// Public keys that the server may show: `ssh-ed25519 AAAA…`, a comment may follow.
    pub host_keys: Vec<String>,
    /// The key that opens it.
    pub credential: Arc<Credential>,
}

/// A host, how commands become root on it, and the hosts on the way to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// The host itself.
    pub hop: Hop,
    /// How commands become root.
    pub privilege: Privilege,
    /// Hosts to go through, nearest to the manager first. Their keys are always pinned.
    pub jump: Vec<Hop>,
    /// Take the key that the host shows, when none is pinned. It never loosens a pinned key.
    pub trust_on_first_use: bool,
}

/// Where a host is, whatever opens it: the hops on the way to it, and itself.
pub type Place = Vec<Stop>;

/// Address, port and user of one hop.
pub type Stop = (String, u16, String);

impl Hop {
    /// Where it is.
    pub(super) fn stop(&self) -> Stop {
        (self.address.clone(), self.port, self.user.clone())
    }
}

impl Target {
    /// Where it is.
    pub fn place(&self) -> Place {
        self.jump.iter().chain([&self.hop]).map(Hop::stop).collect()
    }
}

/// `user@address:port`, as people write it.
impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.address.contains(':') {
            write!(f, "{}@[{}]:{}", self.user, self.address, self.port)
        } else {
            write!(f, "{}@{}:{}", self.user, self.address, self.port)
        }
    }
}
