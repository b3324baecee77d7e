//! Leader election with a Lease (coordination.k8s.io/v1). A process that cannot renew it in time is
//! no longer leader, even if it cannot read that. Losing the Lease ends the process, so that no
//! operation of a former leader continues beside the new one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::error::ManagerError;
use super::lease::{LEASE_SECONDS, LeaseView, first};
use crate::clock;

/// Name of the Lease.
pub const LEASE_NAME: &str = "tatara";
/// How often the Lease is renewed.
const RENEW: Duration = Duration::from_secs(10);
/// How long a renewal is valid, from its start. Until another process can lead, ten seconds remain
/// for running operations and for clock drift.
const GOOD_FOR: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs() as u64 - 10);
/// Retry interval after a failed request, and time limit of a request.
const RETRY: Duration = Duration::from_secs(2);
const REQUEST: Duration = Duration::from_secs(8);
/// Time limit of releasing the Lease.
const FAREWELL: Duration = Duration::from_secs(3);

/// Whether this process is the leader: the deadline from its last renewal.
#[derive(Clone)]
pub struct Leadership {
    until: watch::Receiver<Option<Instant>>,
    epoch: Arc<OnceLock<i64>>,
}

impl Leadership {
    /// Joins the election as `identity`, which must be unique among running processes.
    ///
    /// # Errors
    /// `ManagerError::Api` when the Lease cannot be read or written.
    pub async fn campaign(
        client: Client,
        namespace: &str,
        identity: String,
    ) -> Result<(Self, Candidacy), ManagerError> {
        let (told, held) = watch::channel(None);
        let epoch = Arc::new(OnceLock::new());
        let election = Election {
            leases: Api::namespaced(client, namespace),
            identity,
            told,
            epoch: epoch.clone(),
        };
        let start = Instant::now();
        let seen = election.attempt(None, start).await;
        let seen = seen.map_err(|source| ManagerError::Api {
            what: format!("take part in leader election with Lease {namespace}/{LEASE_NAME}"),
            source,
        })?;
        let end = CancellationToken::new();
        let task = tokio::spawn(election.run(seen, start, end.clone()));
        let leadership = Self { until: held, epoch };
        Ok((leadership, Candidacy { end, task }))
    }

    /// That of a process without others.
    #[cfg(test)]
    pub(super) fn unchallenged() -> Self {
        let until = Instant::now() + Duration::from_hours(1);
        Self {
            until: watch::channel(Some(until)).1,
            epoch: Arc::default(),
        }
    }

    /// Whether this process leads now. Checked just before any operation that two managers must not
    /// both perform.
    pub fn is_held(&self) -> bool {
        self.until
            .borrow()
            .is_some_and(|until| Instant::now() < until)
    }

    /// When this process began to lead, in microseconds since 1970: later than any leader before
    /// it, whose clock may be ahead. 0 before it leads.
    pub fn epoch(&self) -> i64 {
        self.epoch.get().copied().unwrap_or_default()
    }

    /// Waits until this process is the leader.
    ///
    /// # Errors
    /// `ManagerError::LeadershipLost` when the election task has ended.
    pub async fn won(&mut self) -> Result<(), ManagerError> {
        let won = self.until.wait_for(Option::is_some).await;
        won.map(drop).map_err(|_| ManagerError::LeadershipLost)
    }

    /// Waits until this process is no longer the leader.
    pub async fn lost(mut self) {
        loop {
            let until = *self.until.borrow_and_update();
            let Some(until) = until.filter(|until| Instant::now() < *until) else {
                return;
            };
            tokio::select! {
                () = sleep_until(until) => {}
                changed = self.until.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// This process's participation in the election.
pub struct Candidacy {
    end: CancellationToken,
    task: JoinHandle<()>,
}

impl Candidacy {
    /// Releases the Lease, so that the next manager need not wait for its expiry. Must be called
    /// after all operations have ended.
    pub async fn give_back(self) {
        self.end.cancel();
        self.task.await.ok();
    }
}

struct Election {
    leases: Api<Lease>,
    identity: String,
    told: watch::Sender<Option<Instant>>,
    epoch: Arc<OnceLock<i64>>,
}

impl Election {
    async fn run(self, seen: LeaseView, start: Instant, end: CancellationToken) {
        tokio::select! {
            () = self.take_part(seen, start) => {}
            () = end.cancelled() => {}
        }
        self.told.send_replace(None);
        let given_back = timeout(FAREWELL, self.give_back()).await;
        if !matches!(given_back, Ok(Ok(()))) {
            tracing::warn!("failed to give the Lease back; it runs out by itself");
        }
    }

    /// Acquires the Lease as soon as it is free, and renews it; returns when another process holds
    /// the Lease that was ours. `seen` is its state at `start`.
    async fn take_part(&self, seen: LeaseView, mut start: Instant) {
        let mut seen = Some(seen);
        loop {
            seen = match seen {
                Some(seen) if seen.holder() == Some(&self.identity) => {
                    self.epoch.get_or_init(|| seen.renewed());
                    self.told.send_replace(Some(start + GOOD_FOR));
                    sleep_until(start + RENEW).await;
                    Some(seen)
                }
                Some(_) if self.told.borrow().is_some() => return,
                Some(seen) => self.until_free(seen).await,
                None => {
                    sleep_until(start + RETRY).await;
                    None
                }
            };
            start = Instant::now();
            seen = match timeout(REQUEST, self.attempt(seen, start)).await {
                Ok(Ok(seen)) => Some(seen),
                Ok(Err(error)) => failed(&error),
                Err(late) => failed(&late),
            };
        }
    }

    /// Acquires or renews the Lease if permitted, and returns its state.
    async fn attempt(
        &self,
        seen: Option<LeaseView>,
        now: Instant,
    ) -> Result<LeaseView, kube::Error> {
        let seen = match seen {
            Some(seen) => seen,
            None => match self.leases.get_opt(LEASE_NAME).await? {
                Some(lease) => LeaseView::new(lease, None, now),
                None => return self.create(now).await,
            },
        };
        if now < seen.free_at(&self.identity) {
            return Ok(seen);
        }
        let wanted = seen.held_by(&self.identity, clock::now());
        self.write(&wanted, Some(&seen), now).await
    }

    async fn create(&self, now: Instant) -> Result<LeaseView, kube::Error> {
        let lease = first(LEASE_NAME, &self.identity, clock::now());
        match self.leases.create(&PostParams::default(), &lease).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                self.look(None, now).await
            }
            made => Ok(LeaseView::new(made?, None, now)),
        }
    }

    /// Replaces the Lease that was seen. After a conflict, returns the current state instead.
    async fn write(
        &self,
        lease: &Lease,
        seen: Option<&LeaseView>,
        now: Instant,
    ) -> Result<LeaseView, kube::Error> {
        match self
            .leases
            .replace(LEASE_NAME, &PostParams::default(), lease)
            .await
        {
            Err(kube::Error::Api(status)) if status.is_conflict() => self.look(seen, now).await,
            written => Ok(LeaseView::new(written?, seen, now)),
        }
    }

    async fn look(&self, seen: Option<&LeaseView>, now: Instant) -> Result<LeaseView, kube::Error> {
        Ok(LeaseView::new(
            self.leases.get(LEASE_NAME).await?,
            seen,
            now,
        ))
    }

    /// Waits until another process's Lease expires or is released; `None` if it was deleted.
    async fn until_free(&self, mut seen: LeaseView) -> Option<LeaseView> {
        let changes = watch_object(self.leases.clone(), LEASE_NAME).default_backoff();
        let mut changes = std::pin::pin!(changes);
        loop {
            let free = seen.free_at(&self.identity);
            tokio::select! {
                () = sleep_until(free) => return Some(seen),
                Some(change) = changes.next() => match change {
                    Ok(Some(lease)) => seen = LeaseView::new(lease, Some(&seen), Instant::now()),
                    Ok(None) => return None,
                    Err(error) => tracing::warn!(%error, "failed to watch the Lease; trying again"),
                },
            }
        }
    }

    async fn give_back(&self) -> Result<(), kube::Error> {
        let seen = self.look(None, Instant::now()).await?;
        if seen.holder() == Some(&self.identity) {
            let given_back = seen.given_back();
            self.leases
                .replace(LEASE_NAME, &PostParams::default(), &given_back)
                .await?;
        }
        Ok(())
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Option<LeaseView> {
    tracing::warn!(
        error,
        "failed to take part in leader election; trying again"
    );
    None
}
