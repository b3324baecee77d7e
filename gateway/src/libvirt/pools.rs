//! Storage pools.

use std::path::PathBuf;

use roxmltree::Document;
use virt::connect::Connect;
use virt::storage_pool::StoragePool;
use virt::sys;

use super::error::found;
use super::{Doing, Error, Link, Result};
use crate::api::types::PoolCapacity;

/// An active storage pool.
pub struct Pool {
    /// libvirt's handle.
    pub handle: StoragePool,
    /// Its name.
    pub name: String,
    /// Its type, such as `dir` or `logical`.
    pub kind: String,
    /// Its directory, or the directory of its devices.
    pub target: PathBuf,
}

impl Pool {
    /// Whether its volumes are files in a directory: only such a pool can hold images and disks
    /// based on them.
    pub fn has_folder(&self) -> bool {
        matches!(self.kind.as_str(), "dir" | "fs" | "netfs")
    }

    /// Free bytes. libvirt's number for a directory may be as old as the last refresh, so
    /// statvfs(3) takes precedence.
    pub fn available(&self) -> Option<u64> {
        if self.has_folder()
            && let Ok(system) = rustix::fs::statvfs(&self.target)
        {
            return Some(system.f_bavail.saturating_mul(system.f_frsize));
        }
        self.handle.info().ok().map(|info| info.available)
    }

    /// Makes libvirt rescan the pool.
    ///
    /// # Errors
    /// [`Error::Call`] when libvirt fails to refresh the pool.
    pub fn refresh(&self) -> Result<()> {
        self.handle.refresh(0).doing("refresh a storage pool")
    }

    fn read(handle: StoragePool) -> Result<Self> {
        let name = handle.name().doing("read a storage pool's name")?;
        let xml = handle
            .xml_desc(0)
            .doing("read a storage pool's description")?;
        let wrong = |problem: String| Error::Description {
            what: "a storage pool",
            problem,
        };
        let document = Document::parse(&xml).map_err(|error| wrong(error.to_string()))?;
        let root = document.root_element();
        let target = root.children().find(|node| node.has_tag_name("target"));
        let path = target.and_then(|node| node.children().find(|n| n.has_tag_name("path")));
        Ok(Self {
            kind: root.attribute("type").unwrap_or_default().to_owned(),
            target: path.and_then(|node| node.text()).unwrap_or_default().into(),
            handle,
            name,
        })
    }
}

/// The active pool with a name, if it exists.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to look it up, [`Error::Description`] when its XML cannot be
/// parsed.
pub fn by_name(connect: &Connect, name: &str) -> Result<Option<Pool>> {
    let pool = connect
        .lookup_storage_pool_by_name(name)
        .doing("look up a storage pool");
    match found(pool)? {
        Some(pool) if pool.is_active().doing("read a storage pool's state")? => {
            Pool::read(pool).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether a pool with this name exists and is not active: then its volumes can be neither listed
/// nor deleted.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to look up the pool or its state.
pub fn is_inactive(connect: &Connect, name: &str) -> Result<bool> {
    let pool = connect
        .lookup_storage_pool_by_name(name)
        .doing("look up a storage pool");
    match found(pool)? {
        Some(pool) => Ok(!pool.is_active().doing("read a storage pool's state")?),
        None => Ok(false),
    }
}

/// All active pools that can be read; for listing.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to list the pools or the connection is lost.
pub fn readable(link: &Link) -> Result<Vec<Pool>> {
    let mut pools = Vec::new();
    for pool in active(&link.connect)? {
        let name = pool.name().unwrap_or_default();
        pools.extend(link.readable(&name, Pool::read(pool))?);
    }
    Ok(pools)
}

/// All active pools; for deletion: an unreadable pool is an error, so that none of its volumes is
/// left behind.
///
/// # Errors
/// [`Error::Call`] when libvirt fails to list or read the pools, [`Error::Description`] when XML
/// cannot be parsed.
pub fn all(connect: &Connect) -> Result<Vec<Pool>> {
    let read = |pool| found(Pool::read(pool)).transpose();
    active(connect)?.into_iter().filter_map(read).collect()
}

fn active(connect: &Connect) -> Result<Vec<StoragePool>> {
    connect
        .list_all_storage_pools(sys::VIR_CONNECT_LIST_STORAGE_POOLS_ACTIVE)
        .doing("list the storage pools")
}

/// Sizes of all active pools, ordered by name.
///
/// # Errors
/// Those of [`readable`].
pub fn capacities(link: &Link) -> Result<Vec<PoolCapacity>> {
    let mut sizes = Vec::new();
    for pool in readable(link)? {
        let info = pool.handle.info().doing("read a storage pool's size");
        let Some(info) = link.readable(&pool.name, info)? else {
            continue;
        };
        sizes.push(PoolCapacity {
            name: pool.name,
            capacity_bytes: info.capacity,
            available_bytes: info.available,
        });
    }
    sizes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sizes)
}
