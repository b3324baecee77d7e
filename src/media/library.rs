//! Images, downloaded once and verified meanwhile. A file in the folder is always complete.
//!
//! A verified image is shared by its SHA-256, whoever named it first. A download and its failure
//! belong to the URL as well: a namespace that names another one's image with a URL of its own
//! delays nobody, and its error is told nobody else.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::download;
use super::scan::{ImageScan, Look};
use super::served::hex;
use crate::clock;
use crate::engine::Chain;
use crate::remote::Reach;
use tatara_core::api::installation::IsoImage;
use tatara_core::installer::{Base, BaseState, Failure};

/// Time limit of connecting to the server.
const CONNECT: Duration = Duration::from_secs(10);
/// Time limit between two pieces of a download.
const SILENCE: Duration = Duration::from_mins(1);
/// Time limit of a download.
const WHOLE: Duration = Duration::from_hours(2);
/// Limit of an image in bytes: a Debian DVD has a quarter of it. The folder may be on the disk of a
/// node.
const LARGEST: u64 = 16 << 30;
/// A failed download is retried after this time.
const TRY_AGAIN: SignedDuration = SignedDuration::from_secs(10);
/// How long an unused image is kept.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// Images by their SHA-256, and downloads by URL and SHA-256.
pub struct Library {
    folder: PathBuf,
    reach: Reach,
    tasks: TaskTracker,
    stop: CancellationToken,
    states: Arc<Mutex<States>>,
    /// Held while a stored image is read and, if damaged, removed: so never one that was downloaded
    /// meanwhile.
    stored: Arc<tokio::sync::Mutex<()>>,
}

type States = HashMap<IsoImage, (Timestamp, BaseState)>;

/// The image of this SHA-256, if this manager has verified it.
fn verified(states: &States, sha256: &str) -> Option<BaseState> {
    let mut states = states.iter().filter(|(iso, _)| iso.sha256 == sha256);
    states.find_map(|(_, (_, state))| matches!(state, BaseState::Ready(_)).then(|| state.clone()))
}

impl Library {
    /// A library that keeps images in `folder`, which it creates when needed, from where `reach`
    /// allows.
    pub fn new(folder: PathBuf, reach: Reach, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            folder,
            reach,
            tasks,
            stop,
            states: Arc::default(),
            stored: Arc::default(),
        }
    }

    /// Forgets a failed download, so that the next request retries it.
    pub fn forget_failure(&self, iso: &IsoImage) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(states.get(iso), Some((_, BaseState::Failed(_)))) {
            states.remove(iso);
        }
    }

    /// The state of an image. Starts the download of a missing one, and calls `wake` at its end.
    pub fn image(&self, iso: &IsoImage, wake: impl FnOnce() + Send + 'static) -> BaseState {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = verified(&states, &iso.sha256) {
            return ready;
        }
        match states.get(iso) {
            Some((at, BaseState::Failed(_))) if clock::now().duration_since(*at) >= TRY_AGAIN => {}
            Some((_, state)) => return state.clone(),
            None => {}
        }
        states.insert(iso.clone(), (clock::now(), BaseState::Fetching));
        drop(states);
        let (iso, states, stored) = (iso.clone(), self.states.clone(), self.stored.clone());
        let (folder, reach, stop) = (self.folder.clone(), self.reach.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let bringing = async {
                forget_old(&folder, &states).await;
                match keep(&folder, &iso, &stored).await {
                    Some(kept) => kept,
                    None => bring(&folder, &iso, reach).await,
                }
            };
            let Some(result) = stop.run_until_cancelled(bringing).await else {
                return;
            };
            let state = match result {
                Ok(base) => {
                    tracing::info!(
                        sha256 = iso.sha256,
                        bytes = base.size,
                        "downloaded and verified an image"
                    );
                    BaseState::Ready(base)
                }
                Err(failure) => BaseState::Failed(failure),
            };
            let mut states = states.lock().unwrap_or_else(PoisonError::into_inner);
            states.insert(iso, (clock::now(), state));
            drop(states);
            wake();
        });
        BaseState::Fetching
    }
}

/// Removes images and partial downloads that were not requested since this manager started, nor
/// used for `KEPT` before. They are downloaded again when requested.
async fn forget_old(folder: &Path, states: &Mutex<States>) {
    let Ok(mut entries) = fs::read_dir(folder).await else {
        return;
    };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let file = entry.path();
        let name = match (file.extension().and_then(OsStr::to_str), file.file_stem()) {
            (Some("iso" | "part"), Some(stem)) => stem.to_string_lossy(),
            _ => continue,
        };
        let is_ours = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let used = entry.metadata().await.and_then(|meta| meta.modified());
        let is_old = used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > KEPT));
        // under the lock, so that it is not requested meanwhile
        let states = states.lock().unwrap_or_else(PoisonError::into_inner);
        let is_named = |iso: &IsoImage| file == image(folder, iso) || file == part(folder, iso);
        if !is_ours || !is_old || states.keys().any(is_named) {
            continue;
        }
        match std::fs::remove_file(&file) {
            Ok(()) => tracing::info!(file = %file.display(), "removed an unused image"),
            Err(error) => {
                tracing::warn!(file = %file.display(), error = %error, "failed to remove an unused image");
            }
        }
    }
}

/// The file of an image.
fn image(folder: &Path, iso: &IsoImage) -> PathBuf {
    folder.join(format!("{}.iso", iso.sha256))
}

/// The file of a download, one for each URL.
fn part(folder: &Path, iso: &IsoImage) -> PathBuf {
    let name = Sha256::digest(format!("{} {}", iso.sha256, iso.url));
    folder.join(format!("{}.part", hex(&name)))
}

fn problem(error: &std::io::Error, place: &Path) -> Failure {
    Failure::Fetch(format!(
        "failed to store the image in {}: {error}",
        place.display()
    ))
}

/// The image from the folder, if it is there.
async fn keep(
    folder: &Path,
    iso: &IsoImage,
    stored: &tokio::sync::Mutex<()>,
) -> Option<Result<Base, Failure>> {
    let file = image(folder, iso);
    let _alone = stored.lock().await;
    let kept = File::open(&file).await.ok()?;
    match ImageScan::again(kept).await {
        Ok(taken) if hex(&taken.digest) == iso.sha256 => {
            was_used(&file).await;
            Some(taken.base(file))
        }
        // damaged or unreadable
        _ => match fs::remove_file(&file).await {
            Ok(()) => None,
            Err(error) => Some(Err(problem(&error, &file))),
        },
    }
}

/// The image from its URL.
async fn bring(folder: &Path, iso: &IsoImage, reach: Reach) -> Result<Base, Failure> {
    fs::create_dir_all(folder)
        .await
        .map_err(|error| problem(&error, folder))?;
    let (file, part) = (image(folder, iso), part(folder, iso));
    let result = match fetch(&part, iso, reach).await {
        Ok(taken) if hex(&taken.digest) == iso.sha256 => match fs::rename(&part, &file).await {
            Ok(()) => return taken.base(file),
            Err(error) => Err(problem(&error, &file)),
        },
        Ok(taken) => Err(Failure::Checksum(format!(
            "installation.iso.sha256 is {}, but the {} bytes at {} have {}; correct one of them",
            iso.sha256,
            taken.size,
            iso.url,
            hex(&taken.digest)
        ))),
        Err(failure) => Err(failure),
    };
    fs::remove_file(&part).await.ok();
    result
}

/// Records that a stored image is in use, by its modification time. If that fails, it may be
/// downloaded again later.
async fn was_used(file: &Path) {
    if let Ok(file) = File::options().append(true).open(file).await {
        let file = file.into_std().await;
        file.set_modified(clock::now().into()).ok();
    }
}

async fn fetch(part: &Path, iso: &IsoImage, reach: Reach) -> Result<ImageScan, Failure> {
    let far = |error: &reqwest::Error| {
        Failure::Fetch(format!("failed to fetch {}: {}", iso.url, Chain(error)))
    };
    let near = |error: &std::io::Error| {
        Failure::Fetch(format!("failed to write {}: {error}", part.display()))
    };
    let client = download::client(&iso.url, reach)
        .map_err(|refused| Failure::Fetch(format!("installation.iso.url: {refused}")))?
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .timeout(WHOLE)
        .build()
        .map_err(|error| far(&error))?;
    let asked = client.get(&iso.url).send().await;
    let answer = asked.and_then(reqwest::Response::error_for_status);
    let mut answer = answer.map_err(|error| far(&error))?;
    let too_large = || {
        Failure::Fetch(format!(
            "{} is larger than {} GiB, the limit of an image; correct installation.iso.url",
            iso.url,
            LARGEST >> 30
        ))
    };
    if answer.content_length().is_some_and(|size| size > LARGEST) {
        return Err(too_large());
    }
    let mut file = File::create(part).await.map_err(|error| near(&error))?;
    let mut look = Look::default();
    while let Some(piece) = answer.chunk().await.map_err(|error| far(&error))? {
        look.at(&piece);
        if look.size > LARGEST {
            return Err(too_large());
        }
        file.write_all(&piece).await.map_err(|error| near(&error))?;
    }
    file.sync_all().await.map_err(|error| near(&error))?;
    Ok(look.end())
}
