//! Where requests come in.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};

use super::Error;

/// A TCP address.
pub(super) async fn tcp(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Error::Listen {
            address: address.to_string(),
            source,
        })
}

/// A Unix socket that only its owner can open. It is gone when this is.
pub(super) struct Socket {
    /// What listens.
    pub listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: path.display().to_string(),
            source,
        };
        // one that a killed gateway has left; anything else at this path is not ours to remove
        if fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
            fs::remove_file(path).map_err(failed)?;
        }
        // with its mode from birth: nobody else can open it in between
        let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = StdUnixListener::bind(path);
        rustix::process::umask(mask);
        let listener = bound.map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "failed to remove the socket");
        }
    }
}
