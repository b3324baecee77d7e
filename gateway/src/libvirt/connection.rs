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

/// Limit of concurrent operations in libvirt; the rest wait.
const WORKERS: usize = 8;
/// Timeout of the queue while no operation ends: then libvirt is treated as unavailable.
const PATIENCE: Duration = Duration::from_secs(30);
/// Timeout of a running operation. The first creates on a slow hypervisor take minutes, because
/// libvirtd probes the capabilities of QEMU.
const ANSWER: Duration = Duration::from_mins(5);

/// libvirt, connected on demand.
pub struct Libvirt {
    uri: String,
    workers: Arc<Semaphore>,
    /// Number of finished operations.
    ended: AtomicU64,
    link: Mutex<Option<Arc<Link>>>,
}

/// A live connection.
pub struct Link {
    /// The connection.
    pub connect: Connect,
    /// Properties of the hypervisor, read when the connection was opened.
    pub facts: Facts,
    odd: Odd,
}

impl Libvirt {
    /// libvirt at `uri`. It does not connect yet.
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

    /// Runs `work` on a blocking worker with a live connection. Work that has started runs to
    /// completion, even when its caller disconnects or times out, so that no operation is
    /// interrupted halfway.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Busy`] when no worker becomes free in time, [`Error::Slow`] when
    /// `work` exceeds 5 min, [`Error::Worker`] when it panics, [`Error::Connect`], [`Error::Call`]
    /// or [`Error::Description`] when connecting fails.
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

    /// Acquires a worker. It waits while the queue advances; a queue that does not advance means
    /// that libvirt hangs.
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

    /// Waits until all started operations are finished. No other can start afterwards.
    pub async fn finish(&self) {
        // the semaphore is fair: all permits are free only after every earlier operation has ended
        let all = u32::try_from(WORKERS).unwrap_or(u32::MAX);
        if let Ok(permits) = self.workers.acquire_many(all).await {
            permits.forget();
        }
    }

    /// The connection, reopened if the last one does not answer.
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

    /// The result of reading one object of a list: `None` if the object was deleted, or cannot be
    /// read, which is logged once. So one unreadable object does not hide the others.
    ///
    /// # Errors
    /// The error of `read`, when [`Error::is_unavailable`] is true for it.
    pub fn readable<T>(&self, name: &str, read: Result<T>) -> Result<Option<T>> {
        self.odd.readable(name, read)
    }
}
