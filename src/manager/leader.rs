//! Leader election by a Lease. A lost Lease ends the process: nothing that an old leader had begun
//! may go on beside a new one.

use kube::Client;
use kube_lease_manager::{LeaseCreateMode, LeaseManagerBuilder};
use tokio::sync::watch;

use super::error::ManagerError;

/// How long the Lease is good for without renewal, in seconds.
const LEASE_SECONDS: u64 = 15;
/// How long before its end it is renewed, in seconds: a renewal every 10 s.
const GRACE_SECONDS: u64 = 5;

/// Whether this process leads, at any moment.
#[derive(Clone)]
pub struct Leadership(watch::Receiver<bool>);

impl Leadership {
    /// Joins the election. The returned value turns true when this process leads.
    pub async fn campaign(client: Client, namespace: &str) -> Result<Self, ManagerError> {
        let problem = |error: kube_lease_manager::LeaseManagerError| ManagerError::Lease {
            namespace: namespace.to_owned(),
            problem: error.to_string(),
        };
        let lease = LeaseManagerBuilder::new(client, "tatara")
            .with_namespace(namespace)
            .with_create_mode(LeaseCreateMode::AutoCreate)
            .with_duration(LEASE_SECONDS)
            .with_grace(GRACE_SECONDS)
            .with_field_manager(crate::api::names::FIELD_MANAGER)
            .build()
            .await
            .map_err(problem)?;
        let (receiver, _renewal) = lease.watch().await;
        Ok(Self(receiver))
    }

    /// Leadership that is always held, for tests with one manager.
    #[cfg(test)]
    pub fn held() -> Self {
        Self(watch::channel(true).1)
    }

    /// Whether this process leads now. Asked just before anything that must not happen twice.
    pub fn is_held(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until this process leads.
    pub async fn won(&mut self) -> Result<(), ManagerError> {
        self.0
            .wait_for(|held| *held)
            .await
            .map(drop)
            .map_err(|_| ManagerError::LeadershipLost)
    }

    /// Waits until this process leads no more.
    pub async fn lost(mut self) {
        self.0.wait_for(|held| !*held).await.ok();
    }
}
