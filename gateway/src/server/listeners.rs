//! Listening sockets.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};

use super::Error;

/// Listens on a TCP address.
///
/// # Errors
/// [`Error::Listen`] when the address cannot be bound.
pub(super) async fn tcp(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Error::Listen {
            address: address.to_string(),
            source,
        })
}

/// A Unix socket that only its owner can open. Dropping it removes the socket file.
pub(super) struct Socket {
    /// The listener.
    pub listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Creates the socket with mode 0600, and replaces a stale one.
    ///
    /// # Errors
    /// [`Error::Listen`] when the stale socket cannot be removed, or the new one cannot be bound.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: path.display().to_string(),
            source,
        };
        // a stale socket of a killed gateway; any other kind of file is kept, and bind fails
        if fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
            fs::remove_file(path).map_err(failed)?;
        }
        // the umask applies at bind, so there is no moment at which others can open the socket
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
