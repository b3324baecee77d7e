//! Reading of images.

use std::fs;

use virt::storage_vol::StorageVol;

use super::{Error, Result};
use crate::api::types::{Image, ImageFormat, ImageState};
use crate::app::App;
use crate::field;
use crate::libvirt::pools::{self, Pool};
use crate::libvirt::{self, Doing, Driver, Link, volumes};

const PREFIX: &str = "tatara-image-";

/// Name of an image's volume.
pub(super) fn name(sha256: &str, format: ImageFormat) -> String {
    format!("{PREFIX}{sha256}.{}", format.name())
}

/// The volume of a ready image, and its format.
///
/// # Errors
/// `libvirt::Error::Call` when libvirt fails to look up a volume.
pub fn volume(pool: &Pool, sha256: &str) -> libvirt::Result<Option<(StorageVol, ImageFormat)>> {
    for format in [ImageFormat::Qcow2, ImageFormat::Raw] {
        if let Some(volume) = volumes::by_name(pool, &name(sha256, format))? {
            return Ok(Some((volume, format)));
        }
    }
    Ok(None)
}

/// Whether the file of an image exists that libvirt does not list yet: the pool must be refreshed.
///
/// # Errors
/// Those of [`volume`].
pub(super) fn unseen(pool: &Pool, sha256: &str) -> libvirt::Result<bool> {
    let formats = [ImageFormat::Qcow2, ImageFormat::Raw];
    let is_there = |format| pool.target.join(name(sha256, format)).exists();
    Ok(volume(pool, sha256)?.is_none() && formats.into_iter().any(is_there))
}

/// The pool of a request.
///
/// # Errors
/// [`Error::BadField`] when the pool is not active or has no directory, [`Error::NotSupported`]
/// with the test driver, [`Error::Libvirt`] when libvirt fails.
pub(super) fn pool(link: &Link, name: &str) -> Result<Pool> {
    if link.facts.driver == Driver::Test {
        return Err(Error::NotSupported {
            what: "pools with a folder, which images need",
        });
    }
    field::reference("pool", name)?;
    let Some(pool) = pools::by_name(&link.connect, name)? else {
        let problem =
            format!("{name:?} is not an active storage pool; `virsh pool-list` lists them");
        return Err(field::bad("pool", problem).into());
    };
    if pool.has_folder() {
        return Ok(pool);
    }
    let problem = format!(
        "{name:?} is of type {}: images need a pool with a folder (dir, fs, netfs)",
        pool.kind
    );
    Err(field::bad("pool", problem).into())
}

/// All images: ready, downloading and failed ones.
///
/// # Errors
/// [`Error::Libvirt`] when libvirt fails to list the pools; a pool that cannot be read is skipped.
pub fn list(app: &App, link: &Link) -> Result<Vec<Image>> {
    let mut images = app.images.known();
    if link.facts.driver != Driver::Test {
        for pool in pools::readable(link)?
            .iter()
            .filter(|pool| pool.has_folder())
        {
            let ready = link.readable(&pool.name, ready(pool))?;
            images.extend(ready.unwrap_or_default());
        }
    }
    // a ready volume overrides the entry of its download, which may be stale
    images.sort_by(|a, b| (&a.pool, &a.sha256).cmp(&(&b.pool, &b.sha256)));
    images.dedup_by(|later, first| {
        let same = (&later.pool, &later.sha256) == (&first.pool, &first.sha256);
        if same && later.state == ImageState::Ready {
            std::mem::swap(later, first);
        }
        same
    });
    Ok(images)
}

/// One image.
///
/// # Errors
/// [`Error::BadField`] for an invalid checksum or pool, [`Error::Unknown`] when the image does not
/// exist, [`Error::NotSupported`] with the test driver, [`Error::Libvirt`] when libvirt fails.
pub fn one(app: &App, link: &Link, pool_name: &str, sha256: &str) -> Result<Image> {
    field::sha256("sha256", sha256)?;
    let pool = pool(link, pool_name)?;
    if let Some((volume, _)) = volume(&pool, sha256)? {
        return Ok(as_image(&pool.name, sha256, &volume)?);
    }
    app.images
        .get(pool_name, sha256)
        .ok_or_else(|| Error::Unknown {
            sha256: sha256.to_owned(),
            pool: pool_name.to_owned(),
        })
}

fn ready(pool: &Pool) -> libvirt::Result<Vec<Image>> {
    let mut images = Vec::new();
    for volume in pool.handle.list_all_volumes(0).doing("list the volumes")? {
        let name = volume.name().doing("read a volume's name")?;
        let Some((sha256, end)) = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('.'))
        else {
            continue;
        };
        if matches!(end, "qcow2" | "raw") && field::sha256("", sha256).is_ok() {
            images.extend(libvirt::found(as_image(&pool.name, sha256, &volume))?);
        }
    }
    Ok(images)
}

/// The ready image of a volume.
///
/// # Errors
/// `libvirt::Error::Call` when libvirt fails to read the path or the size of the volume.
pub(super) fn as_image(pool: &str, sha256: &str, volume: &StorageVol) -> libvirt::Result<Image> {
    let path = volume.path().doing("read a volume's path")?;
    let size = match fs::metadata(path) {
        Ok(file) => file.len(),
        Err(_) => volume.info().doing("read an image's size")?.capacity,
    };
    Ok(Image {
        sha256: sha256.to_owned(),
        pool: pool.to_owned(),
        state: ImageState::Ready,
        received_bytes: size,
        total_bytes: Some(size),
        error: None,
    })
}
