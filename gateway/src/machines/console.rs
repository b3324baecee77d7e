//! What a machine wrote to its serial console.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use uuid::Uuid;

use super::view::lookup;
use super::{Error, Result};
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
