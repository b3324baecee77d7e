//! The end of a machine.

use std::path::PathBuf;

use uuid::Uuid;

use super::console::{log_file, remove_logs};
use super::{Error, Result};
use crate::app::App;
use crate::libvirt::{Link, domains, pools, volumes};

/// Takes away a machine: domain, volumes, seed, console log. One that is gone is no error; a domain of that UUID
/// that is not ours stays as it is, with its volumes.
pub fn delete(app: &App, link: &Link, id: Uuid) -> Result<()> {
    let mut console = None;
    if let Some(domain) = domains::by_uuid(&link.connect, id)? {
        let seen = domains::see(&domain)?;
        let Some(ours) = seen.view.ours else {
            tracing::warn!(%id, "kept the domain of this UUID, which is not a machine of the gateway");
            return Ok(());
        };
        // without the domain nobody would know of the volumes that stay
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
    // it is elsewhere when the gateway had another --console-directory once
    for log in console
        .map(PathBuf::from)
        .into_iter()
        .chain([log_file(app, id)])
    {
        remove_logs(&log);
    }
    Ok(())
}

/// Refuses when a pool of a machine is there, and not active. One that is not even defined is gone for good.
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
