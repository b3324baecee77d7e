//! Creation of a machine: volumes, then the domain, then its first start. An interrupted creation
//! leaves either volumes without a domain, which the next create recreates, or a domain marked as
//! `creating`: its volumes are complete and may contain data of a guest that has run, so they are
//! kept.

use uuid::Uuid;
use virt::storage_vol::StorageVol;

use super::resolve::{self, PlannedDisk};
use super::{Error, Result, console, identity, validate, view};
use crate::api::types::{Machine, MachineRequest, MachineSpec, Seed};
use crate::app::App;
use crate::libvirt::domain_xml::{self, Disk, DiskFormat, Domain, Metadata};
use crate::libvirt::volumes::{self, NewVolume};
use crate::libvirt::{self, Doing, Driver, Link, capacity, domains};
use crate::seed;

/// A machine, and whether this request created it.
pub struct Creation {
    /// The machine.
    pub machine: Machine,
    /// This request created it; otherwise it existed.
    pub now: bool,
}

/// Creates a machine, or returns the existing one. Idempotent; call it within [`App::change`].
///
/// # Errors
/// [`Error::BadSpec`] for an invalid spec, [`Error::NameTaken`], [`Error::SpecDiffers`],
/// [`Error::ImageNotReady`], [`Error::InsufficientCapacity`] or [`Error::PoolFull`] for a conflict
/// with existing objects, [`Error::Libvirt`] when libvirt fails, [`Error::Seed`] or
/// [`Error::Console`] when a file cannot be created, [`Error::NotSupported`] for a seed with the
/// test driver.
pub fn create(app: &App, link: &Link, id: Uuid, request: &MachineRequest) -> Result<Creation> {
    validate(&request.spec)?;
    if id.is_nil() {
        return Err(Error::bad("id", "is the nil UUID; use another one"));
    }
    let hash = identity::spec_hash(&request.spec);
    let now = !exists(link, id, &hash, &request.spec.name)?;
    if now {
        make(app, link, id, &hash, request)?;
    }
    Ok(Creation {
        machine: view::one(app, link, id)?,
        now,
    })
}

/// Whether the machine exists. An interrupted creation whose domain is defined is completed.
fn exists(link: &Link, id: Uuid, hash: &str, name: &str) -> Result<bool> {
    if let Some(domain) = domains::by_uuid(&link.connect, id)? {
        let seen = domains::see(&domain)?;
        let Some(ours) = seen.view.ours else {
            return Err(Error::NameTaken {
                field: "id",
                value: id.to_string(),
            });
        };
        if ours.hash != hash {
            return Err(Error::SpecDiffers {
                id,
                existing: ours.hash,
            });
        }
        if ours.creating {
            finish(&domain, &ours)?;
        }
        return Ok(true);
    }
    free_name(link, name)?;
    Ok(false)
}

/// The last steps of a create, all idempotent: sets autostart, starts the domain, removes the mark
/// `creating`.
///
/// # Errors
/// [`libvirt::Error::Call`] when one of these steps fails.
pub(super) fn finish(domain: &virt::domain::Domain, metadata: &Metadata) -> libvirt::Result<()> {
    domain
        .set_autostart(true)
        .doing("let a domain start with its hypervisor")?;
    if !domain.is_active().doing("read a domain's state")? {
        domain.create().doing("start a domain")?;
    }
    domains::created(domain, metadata)
}

fn free_name(link: &Link, name: &str) -> Result<()> {
    match domains::by_name(&link.connect, name)? {
        None => Ok(()),
        Some(_) => Err(Error::NameTaken {
            field: "spec.name",
            value: name.to_owned(),
        }),
    }
}

fn make(app: &App, link: &Link, id: Uuid, hash: &str, request: &MachineRequest) -> Result<()> {
    let spec = &request.spec;
    if request.seed.is_some() && link.facts.driver == Driver::Test {
        return Err(Error::NotSupported {
            what: "uploads, which a seed needs",
        });
    }
    fits(app, link, spec)?;
    let made = build(app, link, id, hash, request);
    if let Err(error) = &made
        && !matches!(error, Error::Libvirt(error) if error.is_unavailable())
    {
        clean(app, link, id);
    }
    made
}

/// Removes everything that a failed create has left. If that fails too, the next PUT or DELETE
/// removes it.
fn clean(app: &App, link: &Link, id: Uuid) {
    let cleaned = || -> libvirt::Result<()> {
        if let Some(domain) = domains::by_uuid(&link.connect, id)? {
            domains::remove(link, &domain)?;
        }
        console::remove_logs(&console::log_file(app, id));
        volumes::delete_all(&link.connect, id).map(drop)
    };
    if let Err(error) = cleaned() {
        tracing::warn!(%id, error = error.words(), "failed to clean up after a failed creation");
    }
}

fn build(app: &App, link: &Link, id: Uuid, hash: &str, request: &MachineRequest) -> Result<()> {
    let spec = &request.spec;
    let guest = resolve::guest(link, spec)?;
    let interfaces = resolve::interfaces(link, id, &spec.interfaces)?;
    let disks = volumes_of(app, link, id, request)?;
    let console = (link.facts.driver == Driver::Qemu)
        .then(|| console::new_log(app, id))
        .transpose()?;
    let xml = domain_xml::write(&Domain {
        id,
        spec,
        hash,
        domain_type: guest.domain_type(),
        architecture: &guest.architecture,
        disks: &disks,
        interfaces: &interfaces,
        console,
    });
    let domain = {
        let _checked_and_defined_at_once = app.locks.capacity();
        free_name(link, &spec.name)?;
        fits(app, link, spec)?;
        link.connect
            .define_domain_xml(&xml)
            .doing("define a domain")?
    };
    let metadata = Metadata {
        hash: hash.to_owned(),
        spec: Some(spec.clone()),
        creating: true,
    };
    Ok(finish(&domain, &metadata)?)
}

/// Requires free capacity next to all defined domains, including those that are off.
fn fits(app: &App, link: &Link, spec: &MachineSpec) -> Result<()> {
    let allocated = domains::allocated(link)?;
    if allocated.unread > 0 {
        let problem = format!(
            "{} cannot be read, so the free capacity is unknown",
            allocated.unread
        );
        let what = "the sizes of the domains";
        return Err(libvirt::Error::Description { what, problem }.into());
    }
    let (cpus, memory) = capacity::amounts(link, app.limits, allocated)?;
    let wanted = [
        (
            "spec.memoryBytes",
            spec.memory_bytes,
            memory.free() >> 20 << 20,
        ),
        ("spec.cpus", spec.cpus.into(), cpus.free()),
    ];
    match wanted.into_iter().find(|(_, wanted, free)| wanted > free) {
        Some((field, wanted, free)) => Err(Error::InsufficientCapacity {
            field,
            wanted,
            free,
        }),
        None => Ok(()),
    }
}

/// Creates the machine's volumes, including the seed. The lock prevents the deletion of images
/// meanwhile.
fn volumes_of(app: &App, link: &Link, id: Uuid, request: &MachineRequest) -> Result<Vec<Disk>> {
    let _no_refresh = app.locks.volumes();
    let planned = resolve::disks(link, id, &request.spec)?;
    let mut disks = Vec::new();
    for (index, plan) in planned.iter().enumerate() {
        let (pool, volume) = (&plan.pool, &plan.volume);
        // a file is sparse and starts small
        let needed = if pool.has_folder() {
            1 << 20
        } else {
            volume.size_bytes
        };
        let full = |error| Error::of_pool(error, pool, needed);
        let volume = volumes::create(pool, volume).map_err(full)?;
        disks.push(attached(plan, &volume, index)?);
    }
    if let (Some(seed), Some(root)) = (&request.seed, planned.first()) {
        disks.push(seed_disk(link, id, seed, root, disks.len())?);
    }
    Ok(disks)
}

fn seed_disk(link: &Link, id: Uuid, seed: &Seed, root: &PlannedDisk, index: usize) -> Result<Disk> {
    let content = seed::volume(seed)?;
    let volume = NewVolume {
        name: volumes::seed_name(id),
        size_bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
        format: DiskFormat::Raw,
        backing: None,
    };
    let full = |error| Error::of_pool(error, &root.pool, volume.size_bytes);
    let made = volumes::create(&root.pool, &volume).map_err(full)?;
    volumes::upload(&link.connect, &made, &content).map_err(full)?;
    if !volumes::begins_with(&link.connect, &made, &content)? {
        return Err(full(libvirt::Error::Description {
            what: "a seed",
            problem: "it does not read back as it was written".to_owned(),
        }));
    }
    let path = made.path().doing("read a volume's path")?;
    Ok(Disk {
        path,
        block: !root.pool.has_folder(),
        format: DiskFormat::Raw,
        target: target(index),
        serial: "seed".to_owned(),
        readonly: true,
        boot: false,
    })
}

fn attached(plan: &PlannedDisk, volume: &StorageVol, index: usize) -> Result<Disk> {
    Ok(Disk {
        path: volume.path().doing("read a volume's path")?,
        block: !plan.pool.has_folder(),
        format: plan.volume.format,
        target: target(index),
        serial: plan.serial.clone(),
        readonly: false,
        boot: index == 0,
    })
}

/// `vda`, `vdb`, …; at most 18 disks: root, 16 data disks, seed.
fn target(index: usize) -> String {
    let letter = u8::try_from(index).unwrap_or(0).saturating_add(b'a');
    format!("vd{}", char::from(letter))
}
