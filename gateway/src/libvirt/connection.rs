//! One connection to libvirt, shared by a bounded number of blocking workers.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use virt::connect::Connect;

use super::facts::Facts;
use super::odd::Odd;
use super::{Error, Result};

/// Calls of libvirt that run at once. The rest wait.
const WORKERS: usize = 8;
/// How long callers wait while no worker comes to an end, before they are told that libvirt does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long callers wait for what has begun, before they are told the same. The first creates of a slow hypervisor take
/// minutes: libvirtd asks QEMU for all that it can do.
const ANSWER: Duration = Duration::from_mins(5);

/// libvirt, connected when needed.
pub struct Libvirt {
    uri: String,
    workers: Arc<Semaphore>,
    /// Calls that have come to their end.
    ended: AtomicU64,
    link: Mutex<Option<Arc<Link>>>,
}

/// A live connection.
pub struct Link {
    /// The connection.
    pub connect: Connect,
    /// What was learnt when it was made.
    pub facts: Facts,
    odd: Odd,
}

impl Libvirt {
    /// libvirt at `uri`. Nothing is connected yet.
    pub fn new(uri: String) -> Self {
        virt::error::clear_error_callback();
        let workers = Arc::new(Semaphore::new(WORKERS));
        Self {
            uri,
            workers,
            ended: AtomicU64::new(0),
            link: Mutex::new(None),
        }
    }

    /// Runs `work` on a blocking worker with a live connection. Once it has begun it runs to its end,
    /// whether or not somebody still waits for it: a caller who goes away cuts nothing in the middle, nor does one
    /// who is told that libvirt does not answer.
    pub async fn run<T, E, F>(self: &Arc<Self>, work: F) -> std::result::Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnOnce(&Link) -> std::result::Result<T, E> + Send + 'static,
    {
        let permit = self.worker().await?;
        let libvirt = self.clone();
        let worker = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let done = libvirt.link().map_err(E::from).and_then(|link| work(&link));
            libvirt.ended.fetch_add(1, Ordering::Relaxed);
            done
        });
        match tokio::time::timeout(ANSWER, worker).await {
            Ok(done) => done.map_err(Error::Worker)?,
            Err(_) => Err(Error::Slow.into()),
        }
    }

    /// A place among the workers. A queue that moves is waited in; one that stands still means that libvirt hangs.
    async fn worker(&self) -> Result<OwnedSemaphorePermit> {
        let mut turn = pin!(self.workers.clone().acquire_owned());
        loop {
            let ended = self.ended.load(Ordering::Relaxed);
            match tokio::time::timeout(PATIENCE, turn.as_mut()).await {
                Ok(Ok(permit)) => return Ok(permit),
                Err(_) if self.ended.load(Ordering::Relaxed) != ended => {}
                _ => return Err(Error::Busy),
            }
        }
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
        Ok(Self {
            connect,
            facts,
            odd: Odd::default(),
        })
    }

    /// One of many things, where it can be read: `None` for one that is gone, or that cannot be read, which is logged
    /// once. One odd thing never keeps the others from being seen. Where the connection is at fault it is an error.
    pub fn readable<T>(&self, name: &str, read: Result<T>) -> Result<Option<T>> {
        self.odd.readable(name, read)
    }
}
