//! Download of an image over HTTP.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Response, Url};
use tokio::sync::mpsc;

use super::bounds::Bounds;
use super::file::Part;
use crate::api::types::{ImageCode, ImageError, ImageFormat};

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// Timeout of each read.
const SILENCE: Duration = Duration::from_mins(1);
/// Capacity of the channel between network and disk.
const WAITING: usize = 16;

/// Progress of a download, and whether it is cancelled.
#[derive(Debug, Default)]
pub(super) struct Progress {
    received: AtomicU64,
    /// Zero if unknown.
    total: AtomicU64,
    given_up: Mutex<bool>,
}

impl Progress {
    /// Bytes received so far, and the size of the file if known.
    pub fn read(&self) -> (u64, Option<u64>) {
        let total = self.total.load(Ordering::Relaxed);
        (
            self.received.load(Ordering::Relaxed),
            (total > 0).then_some(total),
        )
    }

    /// Cancels the download. Afterwards the file is either already renamed to its final path, or
    /// never will be.
    pub fn give_up(&self) {
        *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Calls `rename` to move the file to its final path, unless the download is cancelled.
    ///
    /// # Errors
    /// That of `rename`, or one of kind `Other` when the download is cancelled.
    pub fn place(&self, rename: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if *given_up {
            return Err(io::Error::other("the download was cancelled"));
        }
        rename()
    }
}

/// Downloads a file to `place` and verifies it. A cancelled download leaves no file.
///
/// # Errors
/// `FetchFailed` when the request fails, `ImageTooLarge`, `DiskFull`, `ChecksumMismatch` or
/// `ImageRefused` when a check fails, `PoolFailed` when the file cannot be written or another
/// gateway writes it.
pub(super) async fn fetch(
    url: Url,
    place: &Path,
    sha256: &str,
    format: ImageFormat,
    (bounds, progress): (Bounds, Arc<Progress>),
) -> Result<(), ImageError> {
    let mut response = get(url).await?;
    let total = response.content_length().unwrap_or(0);
    bounds.admit(total)?;
    progress.total.store(total, Ordering::Relaxed);
    let (pieces, written) = mpsc::channel(WAITING);
    let writer = {
        let (place, sha256) = (place.to_owned(), sha256.to_owned());
        let progress = progress.clone();
        let write = move || {
            let part = Part::create(&place, bounds, total)?;
            write(written, part, &sha256, format, &progress)
        };
        tokio::task::spawn_blocking(write)
    };
    let received = receive(&mut response, &pieces, &progress).await;
    if received.is_ok() {
        let _ = pieces.send(Piece::End).await;
    }
    drop(pieces);
    // a disk error stops the download and is the root cause, so it takes precedence
    match writer.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(None)) => received,
        Ok(Err(Some(error))) => Err(error),
        Err(error) => Err(ImageError::new(ImageCode::PoolFailed, error.to_string())),
    }
}

enum Piece {
    Bytes(Bytes),
    End,
}

/// `Err(None)`: the sender stopped, and has the cause.
fn write(
    mut pieces: mpsc::Receiver<Piece>,
    mut part: Part,
    sha256: &str,
    format: ImageFormat,
    progress: &Progress,
) -> Result<(), Option<ImageError>> {
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::Bytes(bytes) => part.write(&bytes)?,
            Piece::End => return Ok(part.keep(sha256, format, progress)?),
        }
    }
    Err(None)
}

async fn get(url: Url) -> Result<Response, ImageError> {
    let client = Client::builder()
        .user_agent(concat!("tatara-gateway/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .build()
        .map_err(failed)?;
    let response = client.get(url).send().await.map_err(failed)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    Err(ImageError::new(
        ImageCode::FetchFailed,
        format!("the image's server answered {status}"),
    ))
}

async fn receive(
    response: &mut Response,
    pieces: &mpsc::Sender<Piece>,
    progress: &Progress,
) -> Result<(), ImageError> {
    while let Some(bytes) = response.chunk().await.map_err(failed)? {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if pieces.send(Piece::Bytes(bytes)).await.is_err() {
            return Err(ImageError::new(ImageCode::PoolFailed, "the pool is full"));
        }
        progress.received.fetch_add(length, Ordering::Relaxed);
    }
    Ok(())
}

/// The URL may contain a signature, so it is removed from the message.
fn failed(error: reqwest::Error) -> ImageError {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    ImageError::new(ImageCode::FetchFailed, words)
}
