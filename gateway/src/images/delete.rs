//! Deletion of images.

use super::found::{pool, unseen, volume};
use super::{Error, Result};
use crate::app::App;
use crate::field;
use crate::libvirt::{self, Doing, Link, pools, volumes};

/// Deletes an image, and cancels its download. Idempotent: a missing image is not an error.
///
/// # Errors
/// [`Error::BadField`] for an invalid checksum or pool, [`Error::InUse`] while a volume or domain
/// uses the image, [`Error::NotSupported`] with the test driver, [`Error::Libvirt`] when libvirt
/// fails.
pub fn delete(app: &App, link: &Link, pool_name: &str, sha256: &str) -> Result<()> {
    field::sha256("sha256", sha256)?;
    let pool = pool(link, pool_name)?;
    app.images.forget(pool_name, sha256);
    let _nobody_makes_disks = app.locks.pools();
    if unseen(&pool, sha256)? {
        // downloaded, but the pool is not refreshed yet
        pool.refresh()?;
    }
    let Some((image, _)) = volume(&pool, sha256)? else {
        return Ok(());
    };
    let path = image.path().doing("read an image's path")?;
    if let Some(user) = user(link, &path)? {
        return Err(Error::InUse {
            sha256: sha256.to_owned(),
            user,
        });
    }
    Ok(volumes::delete(&image)?)
}

/// A volume or domain that uses a file, including those that the gateway does not manage.
fn user(link: &Link, path: &str) -> libvirt::Result<Option<String>> {
    for pool in pools::all(&link.connect)? {
        for volume in pool.handle.list_all_volumes(0).doing("list the volumes")? {
            let xml = libvirt::found(volume.xml_desc(0).doing("read a volume's description"))?;
            if xml.is_some_and(|xml| backing(&xml).as_deref() == Some(path)) {
                let name = volume.name().doing("read a volume's name")?;
                return Ok(Some(format!("volume {name:?} of pool {:?}", pool.name)));
            }
        }
    }
    for domain in link.connect.list_all_domains(0).doing("list the domains")? {
        let xml = libvirt::found(domain.xml_desc(0).doing("read a domain's description"))?;
        if xml.is_some_and(|xml| xml.contains(path)) {
            let name = domain.name().doing("read a domain's name")?;
            return Ok(Some(format!("domain {name:?}")));
        }
    }
    Ok(None)
}

/// Path of a volume's backing file.
fn backing(xml: &str) -> Option<String> {
    let document = roxmltree::Document::parse(xml).ok()?;
    let store = document
        .descendants()
        .find(|node| node.has_tag_name("backingStore"))?;
    let path = store.children().find(|node| node.has_tag_name("path"))?;
    path.text().map(str::to_owned)
}
