//! What a machine wrote to its serial console.

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

/// The most that is given at once.
pub const MOST_BYTES: u64 = 1 << 20;

/// The last `bytes` of a machine's console log; nothing when it has written nothing yet.
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

/// Where a new machine's console is written to.
pub(super) fn log_file(app: &App, id: Uuid) -> PathBuf {
    app.console_directory.join(console_name(id))
}

/// The same, ready to be written to. libvirt makes the file, not the folder.
pub(super) fn new_log(app: &App, id: Uuid) -> Result<ConsoleLog> {
    let folder = &app.console_directory;
    if !folder.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o711).create(folder);
        made.map_err(|source| Error::Console { id, source })?;
    }
    Ok(ConsoleLog(log_file(app, id).display().to_string()))
}

/// Removes a console log, and the older ones that virtlogd keeps beside it.
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
