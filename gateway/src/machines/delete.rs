//! Deletion of machines.

use std::path::PathBuf;

use uuid::Uuid;

use super::console::{log_file, remove_logs};
use super::{Error, Result};
use crate::app::App;
use crate::libvirt::{Link, domains, pools, volumes};

/// Deletes a machine: domain, volumes, seed, console log. Idempotent: a missing machine is not an
/// error. A domain with this UUID that the gateway does not manage is kept, with its volumes.
///
/// # Errors
/// [`Error::PoolInactive`] when a pool of the machine is not active, [`Error::Libvirt`] when
/// libvirt fails.
pub fn delete(app: &App, link: &Link, id: Uuid) -> Result<()> {
    let mut console = None;
    if let Some(domain) = domains::by_uuid(&link.connect, id)? {
        let seen = domains::see(&domain)?;
        let Some(ours) = seen.view.ours else {
            tracing::warn!(%id, "kept the domain of this UUID, which is not a machine of the gateway");
            return Ok(());
        };
        // check first: once the domain is deleted, nothing refers to volumes left in an inactive
        // pool
        if let Some(spec) = &ours.spec {
            let disks = spec.disks.iter().map(|disk| &disk.pool);
            active(link, id, std::iter::once(&spec.root_disk.pool).chain(disks))?;
        }
        domains::remove(link, &domain)?;
        console = seen.view.console;
        tracing::info!(%id, name = seen.view.name, "deleted a machine");
    }
    let _no_refresh = app.locks.volumes();
    let volumes = volumes::delete_all(&link.connect, id)?;
    tracing::debug!(%id, volumes, "deleted the volumes of a machine");
    // its path differs if --console-directory was changed since the creation
    for log in console
        .map(PathBuf::from)
        .into_iter()
        .chain([log_file(app, id)])
    {
        remove_logs(&log);
    }
    Ok(())
}

/// Requires that every defined pool of a machine is active. An undefined pool is ignored: its
/// volumes are lost.
///
/// # Errors
/// [`Error::PoolInactive`] for the first inactive pool, [`Error::Libvirt`] when libvirt fails.
pub(super) fn active<'a>(
    link: &Link,
    id: Uuid,
    pools: impl IntoIterator<Item = &'a String>,
) -> Result<()> {
    for pool in pools {
        if pools::is_inactive(&link.connect, pool)? {
            let pool = pool.clone();
            return Err(Error::PoolInactive { id, pool });
        }
    }
    Ok(())
}
