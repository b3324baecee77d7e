//! The end of a machine.

use std::path::PathBuf;

use uuid::Uuid;

use super::Result;
use super::console::{log_file, remove_logs};
use crate::app::App;
use crate::libvirt::{Link, domains, volumes};

/// Takes away a machine: domain, volumes, seed, console log. One that is gone is no error; a domain of that UUID
/// that is not ours stays as it is, with its volumes.
pub fn delete(app: &App, link: &Link, id: Uuid) -> Result<()> {
    let mut console = None;
    if let Some(domain) = domains::by_uuid(&link.connect, id)? {
        let seen = domains::see(&domain)?;
        if seen.view.ours.is_none() {
            tracing::warn!(%id, "the domain of this UUID is not ours: it stays");
            return Ok(());
        }
        domains::remove(link, &domain)?;
        console = seen.view.console;
        tracing::info!(%id, name = seen.view.name, "machine deleted");
    }
    let _no_refresh = app.locks.volumes();
    let volumes = volumes::delete_all(&link.connect, id)?;
    tracing::debug!(%id, volumes, "volumes deleted");
    remove_logs(&console.map_or_else(|| log_file(app, id), PathBuf::from));
    Ok(())
}
