//! Resolves a spec on this hypervisor: pools, images, networks.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::identity::mac;
use super::{Error, Result};
use crate::api::types::{ImageFormat, InterfaceSpec, MachineInterface, MachineSpec};
use crate::images;
use crate::libvirt::domain_xml::DiskFormat;
use crate::libvirt::pools::{self, Pool};
use crate::libvirt::volumes::{self, NewVolume};
use crate::libvirt::{Doing, Guest, Link, capacity};

/// A disk to create.
pub(super) struct PlannedDisk {
    /// Its pool.
    pub pool: Pool,
    /// Its volume.
    pub volume: NewVolume,
    /// The serial number that the guest sees.
    pub serial: String,
}

/// The guest capabilities for the spec's architecture.
///
/// # Errors
/// [`Error::BadSpec`] when the hypervisor does not support the architecture.
pub(super) fn guest<'a>(link: &'a Link, spec: &MachineSpec) -> Result<&'a Guest> {
    link.facts
        .guest(spec.architecture.as_deref())
        .ok_or_else(|| {
            let known = link
                .facts
                .guests
                .iter()
                .map(|guest| guest.architecture.as_str());
            let known: Vec<_> = known.collect();
            let wanted = spec.architecture.as_deref().unwrap_or_default();
            Error::bad(
                "spec.architecture",
                format!(
                    "{wanted:?} is not supported by this hypervisor; use one of {}",
                    known.join(", ")
                ),
            )
        })
}

/// The root disk and the data disks.
///
/// # Errors
/// [`Error::BadSpec`] when a pool is not active, cannot hold the image, or the root disk is smaller
/// than the image, [`Error::ImageNotReady`] when the image is missing, [`Error::Libvirt`] when
/// libvirt fails.
pub(super) fn disks(link: &Link, id: Uuid, spec: &MachineSpec) -> Result<Vec<PlannedDisk>> {
    let mut disks = vec![root(link, id, spec)?];
    for (i, disk) in spec.disks.iter().enumerate() {
        let pool = pool(link, &format!("spec.disks[{i}].pool"), &disk.pool)?;
        let backing = None;
        disks.push(planned(id, pool, &disk.name, disk.size_bytes, backing));
    }
    Ok(disks)
}

/// The pool named in a field.
///
/// # Errors
/// [`Error::BadSpec`] when the pool is not active, [`Error::Libvirt`] when libvirt fails.
pub(super) fn pool(link: &Link, field: &str, name: &str) -> Result<Pool> {
    pools::by_name(&link.connect, name)?.ok_or_else(|| {
        Error::bad(
            field,
            format!("{name:?} is not an active storage pool; `virsh pool-list` lists them"),
        )
    })
}

fn root(link: &Link, id: Uuid, spec: &MachineSpec) -> Result<PlannedDisk> {
    let disk = &spec.root_disk;
    let pool = pool(link, "spec.rootDisk.pool", &disk.pool)?;
    let Some(sha256) = &disk.image else {
        return Ok(planned(id, pool, "root", disk.size_bytes, None));
    };
    if !pool.has_folder() {
        let problem = format!(
            "{:?} is of type {}: images need a pool with a folder (dir, fs, netfs)",
            disk.pool, pool.kind
        );
        return Err(Error::bad("spec.rootDisk.pool", problem));
    }
    let image = images::volume(&pool, sha256)?;
    let Some((image, format)) = image else {
        return Err(Error::ImageNotReady {
            image: sha256.clone(),
            pool: disk.pool.clone(),
        });
    };
    let size = image.info().doing("read an image's size")?.capacity;
    if disk.size_bytes < size {
        let problem = format!(
            "{} is less than the image's size; it must be at least {size}",
            disk.size_bytes
        );
        return Err(Error::bad("spec.rootDisk.sizeBytes", problem));
    }
    let format = match format {
        ImageFormat::Qcow2 => DiskFormat::Qcow2,
        ImageFormat::Raw => DiskFormat::Raw,
    };
    let path = image.path().doing("read an image's path")?;
    Ok(planned(
        id,
        pool,
        "root",
        disk.size_bytes,
        Some((path, format)),
    ))
}

fn planned(
    id: Uuid,
    pool: Pool,
    name: &str,
    size_bytes: u64,
    backing: Option<(String, DiskFormat)>,
) -> PlannedDisk {
    let format = if pool.has_folder() {
        DiskFormat::Qcow2
    } else {
        DiskFormat::Raw
    };
    let file = volumes::disk_name(id, name, format);
    PlannedDisk {
        pool,
        volume: NewVolume {
            name: file,
            size_bytes,
            format,
            backing,
        },
        serial: name.to_owned(),
    }
}

/// The network interfaces, with their MAC addresses.
///
/// # Errors
/// [`Error::BadSpec`] when a network or bridge does not exist or is not active, [`Error::Libvirt`]
/// when libvirt fails to list the networks.
pub(super) fn interfaces(
    link: &Link,
    id: Uuid,
    cards: &[InterfaceSpec],
) -> Result<Vec<MachineInterface>> {
    let networks = if cards.iter().any(|card| card.network.is_some()) {
        capacity::networks(link)?.0
    } else {
        Vec::new()
    };
    let bridges = if cards.iter().any(|card| card.bridge.is_some()) {
        capacity::bridges(link, &BTreeSet::new())
    } else {
        Vec::new()
    };
    for (i, card) in cards.iter().enumerate() {
        known(
            &format!("spec.interfaces[{i}].network"),
            card.network.as_ref(),
            &networks,
        )?;
        known(
            &format!("spec.interfaces[{i}].bridge"),
            card.bridge.as_ref(),
            &bridges,
        )?;
    }
    let with_mac = |(i, card): (usize, &InterfaceSpec)| MachineInterface {
        mac: mac(id, i),
        network: card.network.clone(),
        bridge: card.bridge.clone(),
    };
    Ok(cards.iter().enumerate().map(with_mac).collect())
}

fn known(field: &str, name: Option<&String>, names: &[String]) -> Result<()> {
    match name {
        Some(name) if !names.contains(name) => Err(Error::bad(
            field,
            format!(
                "{name:?} does not exist or is not active; available are [{}]",
                names.join(", ")
            ),
        )),
        _ => Ok(()),
    }
}
