//! Leader election by a Lease. A lost Lease ends the process: nothing that an old leader had begun
//! may go on beside a new one.

use std::time::Duration;

use kube::Client;
use kube_lease_manager::{LeaseCreateMode, LeaseManagerBuilder};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::error::ManagerError;

/// How long the Lease is good for without renewal, in seconds.
const LEASE_SECONDS: u64 = 15;
/// How long before its end it is renewed, in seconds: a renewal every 10 s.
const GRACE_SECONDS: u64 = 5;
/// How long giving it back may take.
const FAREWELL: Duration = Duration::from_secs(3);

/// Whether this process leads, at any moment.
#[derive(Clone)]
pub struct Leadership(watch::Receiver<bool>);

impl Leadership {
    /// Joins the election. The returned value turns true when this process leads.
    pub async fn campaign(
        client: Client,
        namespace: &str,
    ) -> Result<(Self, Candidacy), ManagerError> {
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
        let (mut lease, renewal) = lease.watch().await;
        let (told, held) = watch::channel(false);
        let end = CancellationToken::new();
        let ended_by_us = end.clone();
        let relay = tokio::spawn(async move {
            loop {
                told.send_replace(*lease.borrow_and_update());
                let ended = tokio::select! {
                    changed = lease.changed() => changed.is_err(),
                    () = ended_by_us.cancelled() => true,
                };
                if ended {
                    break;
                }
            }
            // nobody goes on as the leader when the Lease is another's to take
            told.send_replace(false);
            drop(lease);
            renewal.await.ok();
        });
        Ok((Self(held), Candidacy { end, relay }))
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

/// This process' place in the election.
pub struct Candidacy {
    end: CancellationToken,
    relay: JoinHandle<()>,
}

impl Candidacy {
    /// Gives the Lease back, so that the next manager need not wait until it has run out. To be called
    /// when nothing is done any more.
    pub async fn give_back(self) {
        self.end.cancel();
        if tokio::time::timeout(FAREWELL, self.relay).await.is_err() {
            tracing::warn!("failed to give the Lease back in time; it runs out by itself");
        }
    }
}
