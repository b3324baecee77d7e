//! Removal of the seed after the first boot, because it contains secrets.

use uuid::Uuid;
use virt::domain::Domain;
use virt::sys;

use super::delete::active;
use super::view::{self, lookup};
use super::{Error, Result};
use crate::app::App;
use crate::libvirt::domain_xml::{self, Disk, DiskFormat, DomainView};
use crate::libvirt::{self, Doing, Link, domains, pools, volumes};

/// Detaches a machine's seed and deletes it. Idempotent: a missing seed is not an error.
///
/// # Errors
/// [`Error::Unknown`] when the machine does not exist, [`Error::PoolInactive`] when the root disk's
/// pool is not active, [`Error::SeedBusy`] when the guest has not released the seed,
/// [`Error::Libvirt`] when libvirt fails.
pub fn remove_seed(app: &App, link: &Link, id: Uuid) -> Result<()> {
    let (domain, seen) = lookup(link, id)?;
    let spec = seen.view.ours.as_ref().and_then(|ours| ours.spec.as_ref());
    active(link, id, spec.map(|spec| &spec.root_disk.pool))?;
    if let Some((path, target)) = view::seed_of(&seen.view) {
        detach(&domain, path, target)?;
        // hot-unplug needs the guest's cooperation: until it acknowledges, the seed is in use
        if view::seed_of(&domains::see(&domain)?.view).is_some() {
            return Err(Error::SeedBusy { id });
        }
    }
    let _no_refresh = app.locks.volumes();
    let name = volumes::seed_name(id);
    for pool in pools::all(&link.connect)? {
        if let Some(volume) = volumes::by_name(&pool, &name)? {
            volumes::wipe(&link.connect, &volume)?;
            volumes::delete(&volume)?;
            tracing::info!(%id, "deleted a seed");
        }
    }
    Ok(())
}

/// Detaches the seed from the persistent definition and from the running domain, where present.
fn detach(domain: &Domain, path: &str, target: &str) -> libvirt::Result<()> {
    let xml = domain_xml::disk(&Disk {
        path: path.to_owned(),
        block: false,
        format: DiskFormat::Raw,
        target: target.to_owned(),
        serial: "seed".to_owned(),
        readonly: true,
        boot: false,
    });
    if has_seed(domain, sys::VIR_DOMAIN_XML_INACTIVE)? {
        let config = sys::VIR_DOMAIN_AFFECT_CONFIG;
        domain
            .detach_device_flags(&xml, config)
            .doing("detach a seed from a domain's definition")?;
    }
    if domain.is_active().doing("read a domain's state")? && has_seed(domain, 0)? {
        let live = sys::VIR_DOMAIN_AFFECT_LIVE;
        match domain
            .detach_device_flags(&xml, live)
            .doing("detach a seed from a running domain")
        {
            // an earlier unplug request is pending in the guest
            Err(error) if error.is(virt::error::ErrorNumber::OperationFailed) => {
                tracing::info!(
                    error = error.words(),
                    "failed to detach the seed, which the guest has not released"
                );
            }
            other => other?,
        }
    }
    Ok(())
}

fn has_seed(domain: &Domain, flags: sys::virDomainXMLFlags) -> libvirt::Result<bool> {
    let xml = domain
        .xml_desc(flags)
        .doing("read a domain's description")?;
    let view: DomainView = domain_xml::read(&xml)?;
    Ok(view::seed_of(&view).is_some())
}
