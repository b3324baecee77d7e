//! A session on a host: runs scripts as root, opens tunnels.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use russh::ChannelReadHalf;
use russh::client::Handle;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::command::{Outcome, Output, Transcript, envelope, shell};
use super::connect::SshConnection;
use super::running::{Counts, Running};
use super::verifier::Verifier;
use super::{Hop, RunError, TcpTunnel};
use tatara_core::api::host::Privilege;

/// Limit of concurrent commands on one connection: sshd's default of `MaxSessions`. Further ones
/// wait. The lower limit of a server is detected and respected. Tunnels do not count.
const COMMANDS: usize = 10;
/// Number of abandoned commands after which the connection is replaced: half of
/// the server's limit.
const ABANDONED: usize = COMMANDS / 2;
/// Time limit of sshd's answer to a check after a script exceeded its own.
const PONG: Duration = Duration::from_secs(5);

/// Connections that this process has opened.
static OPENED: AtomicI64 = AtomicI64::new(0);

/// A connection to a host, shared by all callers.
///
/// It closes after its last user; a tunnel is a user too.
pub struct Session {
    handle: Arc<Handle<Verifier>>,
    host: String,
    user: String,
    privilege: Privilege,
    first_contact: Vec<String>,
    slots: Arc<Semaphore>,
    opening: Arc<Mutex<()>>,
    counts: Arc<Counts>,
    number: i64,
    /// Whether it is unusable: the server opens no channel on it, or does not answer.
    refused: AtomicBool,
    /// The jump host before it, shared with other sessions.
    _via: Option<Arc<Session>>,
}

impl Session {
    pub(super) fn new(
        connected: SshConnection,
        hop: &Hop,
        privilege: Privilege,
        via: Option<Arc<Session>>,
    ) -> Self {
        Self {
            handle: Arc::new(connected.handle),
            host: hop.to_string(),
            user: hop.user.clone(),
            privilege,
            first_contact: connected.first_contact,
            slots: Arc::new(Semaphore::new(COMMANDS)),
            opening: Arc::new(Mutex::new(())),
            counts: Arc::default(),
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            refused: AtomicBool::new(false),
            _via: via,
        }
    }

    /// Its number among the connections of this process: a later one has a higher one.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Runs a bash script as root and waits for its end.
    ///
    /// The script is sent over stdin, so that it appears on no command line, and runs only if it
    /// arrived completely; its commands read from `/dev/null`. It returns after the script *and all
    /// processes with its stdout or stderr* have ended: a background process must redirect them.
    /// Dropping this future abandons the script and does not end it (sshd does not signal commands
    /// of root).
    ///
    /// # Errors
    /// The connection was lost, or bash cannot be started as root.
    pub async fn run(&self, script: &str) -> Result<Output, RunError> {
        self.follow(script, |_| {}).await
    }

    /// Like [`Session::run`], for a short script: after `limit` it is abandoned, and the error
    /// tells a script that hangs from a lost connection. The script may continue to run.
    ///
    /// # Errors
    /// As with [`Session::run`], and if the script does not end within `limit`.
    pub async fn run_within(&self, script: &str, limit: Duration) -> Result<Output, RunError> {
        let Ok(command) = timeout(limit, self.open_command()).await else {
            return Err(self.late(limit, self.slots.available_permits() == 0).await);
        };
        let run = self.attend(command?, script, |_| {});
        match timeout(limit, run).await {
            Ok(result) => result,
            Err(_) => Err(self.late(limit, false).await),
        }
    }

    /// Why `limit` was exceeded.
    async fn late(&self, limit: Duration, is_busy: bool) -> RunError {
        let pong = timeout(PONG, self.handle.send_ping()).await;
        if pong.is_err() || self.handle.is_closed() {
            self.refused.store(true, Ordering::Relaxed);
            return self.disconnected();
        }
        let (host, seconds) = (self.host.clone(), limit.as_secs());
        if is_busy {
            RunError::Busy { host, seconds }
        } else {
            RunError::Hangs { host, seconds }
        }
    }

    /// Like [`Session::run`], and passes every line of stdout to `on_line` at once, without its
    /// line end. A line longer than 64 KiB is passed in pieces; bytes that are not UTF-8 are
    /// replaced. `on_line` must not block: the connection waits for it.
    ///
    /// # Errors
    /// As with [`Session::run`].
    pub async fn follow(
        &self,
        script: &str,
        on_line: impl FnMut(&str) + Send,
    ) -> Result<Output, RunError> {
        let command = self.open_command().await?;
        self.attend(command, script, on_line).await
    }

    /// Sends a script to an open channel, and reads its output.
    async fn attend(
        &self,
        (mut read, mut running): (ChannelReadHalf, Running),
        script: &str,
        on_line: impl FnMut(&str) + Send,
    ) -> Result<Output, RunError> {
        let write = running.channel();
        let mut transcript = Transcript::new(on_line);
        let feed = async {
            let _ = write.exec(true, shell(self.privilege)).await;
            let _ = write.data_bytes(envelope(script)).await;
            let _ = write.eof().await;
            pending::<Infallible>().await
        };
        let listen = async {
            while let Some(message) = read.wait().await {
                if !transcript.take(message) {
                    break;
                }
            }
        };
        match select(pin!(listen), pin!(feed)).await {
            Either::Left(((), _)) => running.ended(),
            Either::Right((never, _)) => match never {},
        }
        match transcript.finish() {
            Outcome::Done(output) => Ok(output),
            Outcome::NoShell(said) => Err(self.no_shell(said)),
            Outcome::NotRoot(uid) => Err(RunError::NotRoot {
                host: self.host.clone(),
                uid,
            }),
            Outcome::Lost => Err(self.disconnected()),
        }
    }

    /// Opens a TCP connection from the host to `host:port`, which the host resolves.
    ///
    /// # Errors
    /// The connection was lost, or the server refuses to open the tunnel.
    pub async fn open_tcp(&self, host: &str, port: u16) -> Result<TcpTunnel, RunError> {
        match self
            .handle
            .channel_open_direct_tcpip(host, port.into(), "127.0.0.1", 0)
            .await
        {
            Ok(channel) => Ok(TcpTunnel::new(channel)),
            Err(source @ russh::Error::ChannelOpenFailure(_)) => Err(RunError::TunnelRefused {
                host: self.host.clone(),
                to: format!("{host}:{port}"),
                source: Arc::new(source),
            }),
            Err(_) => Err(self.disconnected()),
        }
    }

    /// The host key that was trusted on first use, as `ssh-ed25519 AAAA…`, to be pinned; empty if
    /// the target has host keys.
    pub fn first_contact_keys(&self) -> &[String] {
        &self.first_contact
    }

    /// Whether the connection must be replaced: it was lost, the server opens no channel on it, or
    /// abandoned commands use too much of the server's limit. In the last case it still works.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
            || self.refused.load(Ordering::Relaxed)
            || self.counts.abandoned.load(Ordering::Relaxed) >= ABANDONED
    }

    /// Opens a channel for a command, and waits while the server's limit is reached.
    async fn open_command(&self) -> Result<(ChannelReadHalf, Running), RunError> {
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await;
            let slot = slot.map_err(|_| self.disconnected())?;
            // One at a time, so that the running ones are known when the next is requested.
            let turn = Arc::clone(&self.opening).lock_owned().await;
            let others_run = self.counts.running.load(Ordering::Acquire) > 0;
            let (handle, counts) = (Arc::clone(&self.handle), Arc::clone(&self.counts));
            // In a task of its own: see `open_tcp`.
            let opening = tokio::spawn(async move {
                let _turn = turn;
                match handle.channel_open_session().await {
                    Ok(channel) => {
                        let (read, write) = channel.split();
                        Ok((read, Running::new(slot, counts, write)))
                    }
                    Err(error) => Err((error, slot)),
                }
            });
            match opening.await {
                Ok(Ok(opened)) => return Ok(opened),
                // The server's limit is lower than assumed: one slot less. Those that ran give
                // theirs back, so that at least one is left.
                Ok(Err((russh::Error::ChannelOpenFailure(_), slot))) if others_run => slot.forget(),
                Ok(Err((source @ russh::Error::ChannelOpenFailure(_), _))) => {
                    self.refused.store(true, Ordering::Relaxed);
                    return Err(RunError::CommandRefused {
                        host: self.host.clone(),
                        source: Arc::new(source),
                    });
                }
                Ok(Err(_)) | Err(_) => return Err(self.disconnected()),
            }
        }
    }

    fn disconnected(&self) -> RunError {
        RunError::Disconnected {
            host: self.host.clone(),
        }
    }

    fn no_shell(&self, said: String) -> RunError {
        let (host, user) = (self.host.clone(), self.user.clone());
        match self.privilege {
            Privilege::Root => RunError::ShellUnavailable { host, user, said },
            Privilege::Sudo => RunError::SudoRefused { host, user, said },
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("host", &self.host)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
