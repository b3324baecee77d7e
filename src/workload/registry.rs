//! Which member clusters we are connected to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Client;

use super::member::{Member, MemberKey, Wake};

/// The member clusters, each with one watch of its Nodes.
pub struct Registry {
    members: Mutex<HashMap<MemberKey, Arc<Member>>>,
    wake: Wake,
}

impl Registry {
    /// An empty registry; `wake` is called for whatever happens in a member.
    pub fn new(wake: Wake) -> Self {
        Self {
            members: Mutex::default(),
            wake,
        }
    }

    /// Connects to a member, in place of an earlier connection to it. Make the client from
    /// [`client_config`](super::client_config). Must be called within a tokio runtime.
    pub fn connect(&self, key: MemberKey, client: Client) -> Arc<Member> {
        let member = Arc::new(Member::connect(key.clone(), client, self.wake.clone()));
        let earlier = self.members().insert(key, Arc::clone(&member));
        if let Some(earlier) = earlier {
            earlier.stop();
        }
        member
    }

    /// The member, if we are connected to it.
    pub fn get(&self, key: &MemberKey) -> Option<Arc<Member>> {
        self.members().get(key).cloned()
    }

    /// Ends the watch of a member and forgets it.
    pub fn disconnect(&self, key: &MemberKey) {
        let member = self.members().remove(key);
        if let Some(member) = member {
            member.stop();
        }
    }

    fn members(&self) -> MutexGuard<'_, HashMap<MemberKey, Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
