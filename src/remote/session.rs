//! A connection to a host that is logged in: runs scripts as root, opens tunnels.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use russh::ChannelReadHalf;
use russh::client::Handle;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::command::{Outcome, Output, Transcript, envelope, shell};
use super::connect::Connected;
use super::running::{Counts, Running};
use super::verifier::Verifier;
use super::{Hop, RunError, TcpTunnel};
use crate::api::host::Privilege;

/// Commands at a time on one connection: sshd's default of `MaxSessions`. Further ones wait. A
/// server that allows fewer is found out and respected. Tunnels do not count.
const COMMANDS: usize = 10;
/// Commands whose callers went away, after which the connection is replaced: they may hold half of
/// what the server allows.
const ABANDONED: usize = COMMANDS / 2;
/// How long sshd may take to say that it is there, when a script has not ended in time.
const PONG: Duration = Duration::from_secs(5);

/// A connection to a host, shared by all who work on it.
///
/// It closes when its last user is gone; a tunnel is a user too.
pub struct Session {
    handle: Arc<Handle<Verifier>>,
    host: String,
    user: String,
    privilege: Privilege,
    first_contact: Vec<String>,
    slots: Arc<Semaphore>,
    opening: Arc<Mutex<()>>,
    counts: Arc<Counts>,
    /// It is of no more use: the server opens no command on it, or is silent.
    refused: AtomicBool,
    /// The hop before; others who go the same way share it while somebody holds it.
    _via: Option<Arc<Session>>,
}

impl Session {
    pub(super) fn new(
        connected: Connected,
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
            refused: AtomicBool::new(false),
            _via: via,
        }
    }

    /// Runs a bash script as root and waits for its end.
    ///
    /// The script goes in over stdin, so that it shows on no command line, and runs only if it
    /// arrived whole; its own commands read from `/dev/null`. The end is that of the script *and of
    /// all that hold its stdout or stderr*: a background process needs them redirected. Dropping this
    /// future lets go of the script but does not end it (sshd signals no command of root's).
    pub async fn run(&self, script: &str) -> Result<Output, RunError> {
        self.follow(script, |_| {}).await
    }

    /// As [`Session::run`], for a script that takes moments: after `limit` it is let go of, and the error says
    /// whether the host hangs or the connection was lost. The script itself may go on.
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

    /// Why something did not happen within `limit`.
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

    /// As [`Session::run`], and hands every line of stdout to `on_line` when it comes, without its
    /// line end. A line longer than 64 KiB comes in pieces; bytes that are not UTF-8 are replaced.
    /// `on_line` must not block: the connection waits for it.
    pub async fn follow(
        &self,
        script: &str,
        on_line: impl FnMut(&str) + Send,
    ) -> Result<Output, RunError> {
        let command = self.open_command().await?;
        self.attend(command, script, on_line).await
    }

    /// Feeds a script to an open command, and reads what comes back.
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

    /// Lets the host open a TCP connection to `host:port`, as it sees that address.
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

    /// The key that was taken on trust, as `ssh-ed25519 AAAA…`, to be pinned; empty where the
    /// target pins keys.
    pub fn first_contact_keys(&self) -> &[String] {
        &self.first_contact
    }

    /// Whether the connection is to be replaced: it was lost, the server opens no command on it, or
    /// abandoned ones hold too much of what it allows. In the last case it still works.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
            || self.refused.load(Ordering::Relaxed)
            || self.counts.abandoned.load(Ordering::Relaxed) >= ABANDONED
    }

    /// Opens a channel for a command, waiting while the server has as many as it allows.
    async fn open_command(&self) -> Result<(ChannelReadHalf, Running), RunError> {
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await;
            let slot = slot.map_err(|_| self.disconnected())?;
            // One after the other: what runs is known when the next is asked for.
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
                // The server allows fewer than we thought: one slot less. Those that ran give
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
