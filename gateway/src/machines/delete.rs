//! The end of a machine.

use std::fs;

use uuid::Uuid;

use super::Result;
use crate::app::App;
use crate::libvirt::{Link, domains, volumes};

/// Takes away a machine: domain, volumes, seed, console log. One that is gone is no error; a domain of that UUID
/// that is not ours stays as it is, with its volumes.
pub fn delete(app: &App, link: &Link, id: Uuid) -> Result<()> {
    let _one_at_a_time = app.locks.machine(id);
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
    let console = console.map_or_else(
        || app.console_directory.join(format!("tatara-{id}.log")),
        std::path::PathBuf::from,
    );
    // virtlogd keeps three older ones beside it
    for end in ["", ".0", ".1", ".2"] {
        let mut log = console.clone().into_os_string();
        log.push(end);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%id, %error, log = %log.display(), "console log stays");
            }
            _ => {}
        }
    }
    Ok(())
}
