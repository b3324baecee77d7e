//! One connection to libvirt, shared by a bounded number of blocking workers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use virt::connect::Connect;

use super::facts::Facts;
use super::{Error, Result};

/// Calls of libvirt that run at once. The rest wait.
const WORKERS: usize = 8;
/// How long a call waits for a worker before the caller is told that libvirt does not answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// libvirt, connected when needed.
pub struct Libvirt {
    uri: String,
    workers: Arc<Semaphore>,
    link: Mutex<Option<Arc<Link>>>,
}

/// A live connection.
pub struct Link {
    /// The connection.
    pub connect: Connect,
    /// What was learnt when it was made.
    pub facts: Facts,
}

impl Libvirt {
    /// libvirt at `uri`. Nothing is connected yet.
    pub fn new(uri: String) -> Self {
        virt::error::clear_error_callback();
        let workers = Arc::new(Semaphore::new(WORKERS));
        Self {
            uri,
            workers,
            link: Mutex::new(None),
        }
    }

    /// Runs `work` on a blocking worker with a live connection. Once it has begun it runs to its end,
    /// whether or not somebody still waits for it: a caller who goes away cuts nothing in the middle.
    pub async fn run<T, E, F>(self: &Arc<Self>, work: F) -> std::result::Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnOnce(&Link) -> std::result::Result<T, E> + Send + 'static,
    {
        let waiting = tokio::time::timeout(PATIENCE, self.workers.clone().acquire_owned());
        let Ok(Ok(permit)) = waiting.await else {
            return Err(Error::Busy.into());
        };
        let libvirt = self.clone();
        let worker = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let link = libvirt.link()?;
            work(&link)
        });
        worker.await.map_err(Error::Worker)?
    }

    /// Waits until every call that has begun is at its end.
    pub async fn finish(&self) {
        // what was asked before is done when all workers are free at once
        let all = u32::try_from(WORKERS).unwrap_or(u32::MAX);
        if let Ok(permits) = self.workers.acquire_many(all).await {
            permits.forget();
        }
    }

    /// The connection, made anew where the last one does not answer.
    fn link(&self) -> Result<Arc<Link>> {
        let current = self.slot().clone();
        if let Some(link) = &current
            && link.connect.lib_version().is_ok()
        {
            return Ok(link.clone());
        }
        let mut slot = self.slot();
        if let Some(other) = &*slot
            && current.as_ref().is_none_or(|old| !Arc::ptr_eq(old, other))
        {
            return Ok(other.clone());
        }
        *slot = None;
        let link = Arc::new(Link::open(&self.uri)?);
        tracing::info!(uri = self.uri, driver = ?link.facts.driver, "connected to libvirt");
        *slot = Some(link.clone());
        Ok(link)
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Link>>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    fn open(uri: &str) -> Result<Self> {
        let connect = Connect::open(Some(uri)).map_err(|source| Error::Connect {
            uri: uri.to_owned(),
            source,
        })?;
        let facts = Facts::read(&connect)?;
        Ok(Self { connect, facts })
    }
}
