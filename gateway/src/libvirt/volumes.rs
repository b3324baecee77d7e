//! Volumes: disks and seeds of machines. Their names contain the machine's id, so that DELETE finds
//! all of them.

use std::collections::BTreeSet;

use uuid::Uuid;
use virt::connect::Connect;
use virt::storage_vol::StorageVol;
use virt::stream::Stream;

use super::domain_xml::{DiskFormat, Xml, document, empty, nested, text};
use super::error::found;
use super::pools::{self, Pool};
use super::{Doing, Error, Link, Result};

/// A volume to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVolume {
    /// Its name.
    pub name: String,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// Its format.
    pub format: DiskFormat,
    /// Its backing file: path and format of an image.
    pub backing: Option<(String, DiskFormat)>,
}

/// Prefix of the names of all volumes of a machine.
pub fn prefix(id: Uuid) -> String {
    format!("tatara-{id}-")
}

/// The name of a machine's disk.
pub fn disk_name(id: Uuid, disk: &str, format: DiskFormat) -> String {
    format!(
        "{}{disk}.{}",
        prefix(id),
        if format == DiskFormat::Raw {
            "img"
        } else {
            "qcow2"
        }
    )
}

/// The name of a machine's seed.
pub fn seed_name(id: Uuid) -> String {
    disk_name(id, "seed", DiskFormat::Raw)
}

/// The ids of machines that have a seed in an active pool, attached or not.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to list the pools or the connection is lost.
pub fn seeds(link: &Link) -> Result<BTreeSet<Uuid>> {
    let mut seeds = BTreeSet::new();
    for pool in pools::readable(link)? {
        let volumes = pool.handle.list_all_volumes(0).doing("list the volumes");
        let volumes = link.readable(&pool.name, volumes)?;
        for volume in volumes.unwrap_or_default() {
            seeds.extend(volume.name().ok().and_then(|name| seed_owner(&name)));
        }
    }
    Ok(seeds)
}

fn seed_owner(name: &str) -> Option<Uuid> {
    let id = name.strip_prefix("tatara-")?.strip_suffix("-seed.img")?;
    id.parse().ok().filter(|id| seed_name(*id) == name)
}

/// Creates a volume, and deletes one of the same name first: it is left over from an interrupted
/// creation.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to delete the old volume or to create the new one.
pub fn create(pool: &Pool, volume: &NewVolume) -> Result<StorageVol> {
    if let Some(old) = by_name(pool, &volume.name)? {
        delete(&old)?;
    }
    let flags = 0;
    StorageVol::create_xml(&pool.handle, &xml(volume, pool.has_folder()), flags)
        .doing("create a volume")
}

/// The volume of a pool with a name, if it exists.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to look it up.
pub fn by_name(pool: &Pool, name: &str) -> Result<Option<StorageVol>> {
    found(
        pool.handle
            .lookup_storage_vol_by_name(name)
            .doing("look up a volume"),
    )
}

/// Deletes a volume; a missing one is not an error.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to delete it.
pub fn delete(volume: &StorageVol) -> Result<()> {
    found(volume.delete(0).doing("delete a volume")).map(drop)
}

/// Overwrites a volume with zeros. On a copy-on-write file system the old blocks may remain.
///
/// # Errors
/// Those of [`upload`], and [`Error::Call`] when libvirt fails to read the volume's size.
pub fn wipe(connect: &Connect, volume: &StorageVol) -> Result<()> {
    let size = volume.info().doing("read a volume's size")?.capacity;
    upload(
        connect,
        volume,
        &vec![0; usize::try_from(size).unwrap_or(0)],
    )
}

/// Deletes all volumes of a machine in all pools, and returns their number. A seed is overwritten
/// first; disks are not, because that would write their full size.
///
/// # Errors
/// Those of [`pools::all`] and [`delete`]. A seed that cannot be overwritten is only logged.
pub fn delete_all(connect: &Connect, id: Uuid) -> Result<usize> {
    let prefix = prefix(id);
    let mut deleted = 0;
    for pool in pools::all(connect)? {
        for volume in pool.handle.list_all_volumes(0).doing("list the volumes")? {
            let Some(name) = volume.name().ok().filter(|name| name.starts_with(&prefix)) else {
                continue;
            };
            if name == seed_name(id)
                && let Err(error) = wipe(connect, &volume)
            {
                tracing::warn!(%id, error = error.words(), "failed to overwrite a seed");
            }
            delete(&volume)?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Writes `content` to the beginning of a volume.
///
/// # Errors
/// [`Error::Call`] when libvirt fails the upload, [`Error::Description`] when the stream ends
/// early.
pub fn upload(connect: &Connect, volume: &StorageVol, content: &[u8]) -> Result<()> {
    let action = "upload a volume";
    let stream = Stream::new(connect, 0).doing(action)?;
    let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
    volume.upload(&stream, 0, length, 0).doing(action)?;
    let mut rest = content;
    while !rest.is_empty() {
        let sent = stream
            .send(rest.get(..rest.len().min(1 << 16)).unwrap_or(rest))
            .doing(action)?;
        let sent = usize::try_from(sent).unwrap_or(0);
        if sent == 0 {
            return Err(Error::Description {
                what: "an upload",
                problem: "it ended early".to_owned(),
            });
        }
        rest = rest.get(sent..).unwrap_or_default();
    }
    stream.finish().doing(action)
}

/// Whether a volume begins with `content`: libvirt may not report the error of an upload into a
/// full pool.
///
/// # Errors
/// [`Error::Call`] when libvirt fails the download.
pub fn begins_with(connect: &Connect, volume: &StorageVol, content: &[u8]) -> Result<bool> {
    let action = "read a volume back";
    let stream = Stream::new(connect, 0).doing(action)?;
    let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
    volume.download(&stream, 0, length, 0).doing(action)?;
    let (mut read, mut piece) = (Vec::with_capacity(content.len()), vec![0; 1 << 16]);
    loop {
        let received = stream.recv(&mut piece).doing(action)?;
        match piece.get(..usize::try_from(received).unwrap_or(0)) {
            Some([]) | None => break,
            Some(bytes) => read.extend_from_slice(bytes),
        }
    }
    stream.finish().doing(action)?;
    Ok(read == content)
}

/// XML of a volume. Files are sparse and have mode 0600; block volumes are allocated completely.
fn xml(volume: &NewVolume, file: bool) -> String {
    let write = |xml: &mut Xml| {
        text(xml, "name", &volume.name)?;
        text(xml, "capacity", &volume.size_bytes.to_string())?;
        if file {
            text(xml, "allocation", "0")?;
        }
        nested(xml, "target", &[], |xml| {
            if file {
                empty(xml, "format", &[("type", volume.format.name())])?;
            }
            nested(xml, "permissions", &[], |xml| text(xml, "mode", "0600"))?;
            if volume.format == DiskFormat::Qcow2 {
                text(xml, "compat", "1.1")
            } else {
                Ok(())
            }
        })?;
        let Some((path, format)) = &volume.backing else {
            return Ok(());
        };
        nested(xml, "backingStore", &[], |xml| {
            text(xml, "path", path)?;
            empty(xml, "format", &[("type", format.name())])
        })
    };
    document(|xml| nested(xml, "volume", &[], write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_its_machine() {
        let id = Uuid::from_u128(7);
        assert_eq!(seed_owner(&seed_name(id)), Some(id));
        for other in [
            disk_name(id, "root", DiskFormat::Raw),
            format!("{}.part", seed_name(id)),
            format!("tatara-{}-seed.img", id.simple()),
            "seed.img".to_owned(),
        ] {
            assert_eq!(seed_owner(&other), None, "{other}");
        }
    }
}
