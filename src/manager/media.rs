//! The listener from which BMCs read installers.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::args::MediaArgs;
use super::error::ManagerError;
use super::http::listen;
use crate::media::{Library, Media, Tls, serve};
use crate::remote::Reach;

/// Serves installers until `stop` is cancelled, if configured. Only the leader does so: the open
/// installers are in its memory.
///
/// # Errors
/// `ManagerError::MediaTls` when the certificate or its key cannot be read; `Listen` when the
/// address cannot be bound.
pub async fn start(
    args: &MediaArgs,
    reach: &Reach,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Option<Arc<Media>>, ManagerError> {
    let (Some(address), Some(url)) = (args.address, &args.url) else {
        return Ok(None);
    };
    let tls = match (&args.certificate, &args.key) {
        (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
        _ => None,
    };
    let listener = listen(address, "--media-address").await?;
    let library = Library::new(
        args.folder.clone(),
        reach.clone(),
        tasks.clone(),
        stop.clone(),
    );
    let media = Arc::new(Media::new(url, library));
    let (served, stop) = (media.clone(), stop.clone());
    tasks.spawn(async move {
        serve(listener, tls, served, stop).await;
    });
    Ok(Some(media))
}
