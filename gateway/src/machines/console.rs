//! Serial console logs of machines.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::view::lookup;
use super::{Error, Result};
use crate::app::App;
use crate::libvirt::domain_xml::{ConsoleLog, console_name};
use crate::libvirt::{Driver, Link};

/// Limit of bytes per request.
pub const MOST_BYTES: u64 = 1 << 20;

/// The last `bytes` of a machine's console log; empty if the log does not exist yet.
///
/// # Errors
/// [`Error::Unknown`] when the machine does not exist, [`Error::NotSupported`] with the test
/// driver, [`Error::Console`] when the log cannot be read, [`Error::Libvirt`] when libvirt fails.
pub fn console(link: &Link, id: Uuid, bytes: u64) -> Result<Vec<u8>> {
    let (_, seen) = lookup(link, id)?;
    if link.facts.driver == Driver::Test {
        return Err(Error::NotSupported {
            what: "console log",
        });
    }
    let Some(path) = seen.view.console else {
        return Ok(Vec::new());
    };
    match tail(&path, bytes.min(MOST_BYTES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|source| Error::Console { id, source }),
    }
}

fn tail(path: &str, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(bytes);
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content)?;
    Ok(content)
}

/// Path of a new machine's console log.
pub(super) fn log_file(app: &App, id: Uuid) -> PathBuf {
    app.console_directory.join(console_name(id))
}

/// The same, with its directory created: libvirt creates the file, but not the directory.
///
/// # Errors
/// [`Error::Console`] when the directory cannot be created.
pub(super) fn new_log(app: &App, id: Uuid) -> Result<ConsoleLog> {
    let folder = &app.console_directory;
    if !folder.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o711).create(folder);
        made.map_err(|source| Error::Console { id, source })?;
    }
    Ok(ConsoleLog(log_file(app, id).display().to_string()))
}

/// Removes a console log, and the rotated ones that virtlogd keeps next to it.
pub(super) fn remove_logs(log: &Path) {
    for end in ["", ".0", ".1", ".2"] {
        let mut file = log.as_os_str().to_owned();
        file.push(end);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, log = %file.display(), "failed to remove a console log");
            }
            _ => {}
        }
    }
}
