//! Running and failed downloads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::fetch::{Progress, fetch};
use super::file::sweep_folder;
use super::found::{as_image, name, pool, unseen, volume};
use super::{Error, Result};
use crate::api::types::{Image, ImageCode, ImageError, ImageFormat, ImageRequest, ImageState};
use crate::app::App;
use crate::field;
use crate::libvirt::{self, Driver, Link, pools};

/// Limit of concurrent downloads; the rest wait.
const AT_ONCE: usize = 4;

/// Running and failed downloads, by pool and checksum.
pub struct Images {
    fetches: Mutex<BTreeMap<(String, String), Fetch>>,
    turns: Arc<Semaphore>,
}

struct Fetch {
    format: ImageFormat,
    progress: Arc<Progress>,
    state: State,
}

enum State {
    Running(AbortHandle),
    Failed(ImageError),
}

impl Default for Images {
    fn default() -> Self {
        Self {
            fetches: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Images {
    /// All running and failed downloads.
    pub(super) fn known(&self) -> Vec<Image> {
        self.slot()
            .iter()
            .map(|((pool, sha256), fetch)| fetch.image(pool, sha256))
            .collect()
    }

    /// One running or failed download.
    pub(super) fn get(&self, pool: &str, sha256: &str) -> Option<Image> {
        let key = (pool.to_owned(), sha256.to_owned());
        self.slot().get(&key).map(|fetch| fetch.image(pool, sha256))
    }

    /// Cancels and forgets one download. No file remains, unless the download is already complete.
    pub(super) fn forget(&self, pool: &str, sha256: &str) {
        let fetch = self.slot().remove(&(pool.to_owned(), sha256.to_owned()));
        if let Some(fetch) = fetch {
            fetch.end();
        }
    }

    /// Cancels all downloads.
    pub fn stop(&self) {
        for fetch in std::mem::take(&mut *self.slot()).into_values() {
            fetch.end();
        }
    }

    fn slot(&self) -> MutexGuard<'_, BTreeMap<(String, String), Fetch>> {
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetch {
    fn end(self) {
        if let State::Running(task) = self.state {
            task.abort();
            // aborting the task does not stop the blocking writer of its file
            self.progress.give_up();
        }
    }

    fn image(&self, pool: &str, sha256: &str) -> Image {
        let (received_bytes, total_bytes) = self.progress.read();
        let (state, error) = match &self.state {
            State::Running(_) => (ImageState::Fetching, None),
            State::Failed(error) => (ImageState::Failed, Some(error.clone())),
        };
        let (sha256, pool) = (sha256.to_owned(), pool.to_owned());
        Image {
            sha256,
            pool,
            state,
            received_bytes,
            total_bytes,
            error,
        }
    }
}

/// Returns an image, or starts its download. Idempotent: a running download is reused, a failed one
/// is retried.
///
/// # Errors
/// [`Error::BadField`] for an invalid checksum, url or pool, [`Error::Differs`] when the image
/// exists in another format, [`Error::NotSupported`] with the test driver, [`Error::Libvirt`] when
/// libvirt fails.
pub async fn request(app: &Arc<App>, sha256: String, request: ImageRequest) -> Result<Image> {
    field::sha256("sha256", &sha256)?;
    let url = url(&request.url)?;
    let (worker, format, pool) = (app.clone(), request.format, request.pool.clone());
    let key = (request.pool, sha256);
    let wanted = key.1.clone();
    let look = move |link: &Link| look(&worker, link, &pool, &wanted, format);
    let place = match app.libvirt.run(look).await? {
        CacheEntry::Ready(image) => return Ok(image),
        CacheEntry::Missing(place) => place,
    };
    let mut fetches = app.images.slot();
    if let Some(fetch) = fetches.get(&key)
        && matches!(fetch.state, State::Running(_))
    {
        same(&key, fetch.format, format)?;
        return Ok(fetch.image(&key.0, &key.1));
    }
    let progress = Arc::<Progress>::default();
    let task = run(
        app.clone(),
        key.clone(),
        url,
        place,
        format,
        progress.clone(),
    );
    let state = State::Running(tokio::spawn(task).abort_handle());
    let fetch = Fetch {
        format,
        progress,
        state,
    };
    let image = fetch.image(&key.0, &key.1);
    fetches.insert(key, fetch);
    Ok(image)
}

enum CacheEntry {
    Ready(Image),
    /// Its final path.
    Missing(PathBuf),
}

fn look(
    app: &App,
    link: &Link,
    pool_name: &str,
    sha256: &str,
    format: ImageFormat,
) -> Result<CacheEntry> {
    let pool = pool(link, pool_name)?;
    let place = pool.target.join(name(sha256, format));
    if unseen(&pool, sha256)? {
        // the gateway was killed between the rename and the refresh of the pool
        let _nobody_makes_volumes = app.locks.pools();
        pool.refresh()?;
    }
    match volume(&pool, sha256)? {
        Some((image, existing)) => {
            same(&(pool.name.clone(), sha256.to_owned()), existing, format)?;
            Ok(CacheEntry::Ready(as_image(&pool.name, sha256, &image)?))
        }
        None => Ok(CacheEntry::Missing(place)),
    }
}

/// Requires that the existing format is the requested one.
fn same(key: &(String, String), existing: ImageFormat, wanted: ImageFormat) -> Result<()> {
    if existing == wanted {
        return Ok(());
    }
    let (pool, sha256) = key.clone();
    Err(Error::Differs {
        sha256,
        pool,
        existing,
    })
}

async fn run(
    app: Arc<App>,
    key: (String, String),
    url: Url,
    place: PathBuf,
    format: ImageFormat,
    progress: Arc<Progress>,
) {
    let turn = app.images.turns.clone().acquire_owned().await;
    let host = url.host_str().unwrap_or_default().to_owned();
    tracing::info!(sha256 = key.1, pool = key.0, host, "downloading an image");
    let mut outcome = fetch(url, &place, &key.1, format, (app.bounds, progress)).await;
    if outcome.is_ok() {
        outcome = show(&app, &key).await;
    }
    drop(turn);
    let mut fetches = app.images.slot();
    match outcome {
        Ok(()) => {
            tracing::info!(sha256 = key.1, pool = key.0, "downloaded an image");
            fetches.remove(&key);
        }
        Err(error) => {
            let (code, detail) = (&error.code, &error.detail);
            tracing::warn!(
                sha256 = key.1,
                pool = key.0,
                code,
                detail,
                "failed to download an image"
            );
            if let Some(fetch) = fetches.get_mut(&key) {
                fetch.state = State::Failed(error);
            }
        }
    }
    drop(fetches);
    app.hub.nudge();
}

/// Refreshes the pool so that libvirt lists the new file.
async fn show(app: &Arc<App>, key: &(String, String)) -> std::result::Result<(), ImageError> {
    let (worker, (name, sha256)) = (app.clone(), key.clone());
    let shown = app.libvirt.run(move |link: &Link| -> Result<bool> {
        let pool = pool(link, &name)?;
        let _nobody_makes_volumes = worker.locks.pools();
        pool.refresh()?;
        Ok(volume(&pool, &sha256)?.is_some())
    });
    match shown.await {
        Ok(true) => Ok(()),
        Ok(false) => Err(ImageError::new(
            ImageCode::PoolFailed,
            "libvirt does not list the image in the pool",
        )),
        Err(Error::Libvirt(error)) => Err(ImageError::new(
            ImageCode::PoolFailed,
            format!("{}; PUT again", error.words()),
        )),
        Err(error) => Err(ImageError::new(
            ImageCode::PoolFailed,
            format!("{error}; PUT again"),
        )),
    }
}

/// Parses the URL of an image.
fn url(text: &str) -> Result<Url> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(field::bad(
            "url",
            "is not a URL; it must begin with https:// or http://",
        )
        .into()),
    }
}

/// Removes partial images of a killed gateway from all pools.
///
/// # Errors
/// `libvirt::Error` when libvirt fails to list or describe the pools.
pub fn sweep(link: &Link) -> libvirt::Result<()> {
    if link.facts.driver != Driver::Test {
        pools::all(&link.connect)?
            .iter()
            .filter(|pool| pool.has_folder())
            .for_each(|pool| sweep_folder(&pool.target));
    }
    Ok(())
}
