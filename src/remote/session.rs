//! A connection to a host that is logged in: runs scripts as root, opens tunnels.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::future::{Either, select};
use russh::Channel;
use russh::client::{Handle, Msg};
use tokio::sync::Semaphore;

use super::command::{Outcome, Output, Transcript, envelope, shell};
use super::connect::{Connected, Verifier};
use super::running::Running;
use super::{Hop, RunError, TcpTunnel};
use crate::api::host::Privilege;

/// Commands at a time on one connection: sshd's default of `MaxSessions`. Further ones wait. A
/// server that allows fewer is found out and respected. Tunnels do not count.
const COMMANDS: usize = 10;

/// A connection to a host, shared by all who work on it.
///
/// It closes when its last user is gone; a tunnel is a user too.
pub struct Session {
    handle: Handle<Verifier>,
    host: String,
    user: String,
    privilege: Privilege,
    first_contact: Vec<String>,
    slots: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
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
            handle: connected.handle,
            host: hop.to_string(),
            user: hop.user.clone(),
            privilege,
            first_contact: connected.first_contact,
            slots: Arc::new(Semaphore::new(COMMANDS)),
            running: Arc::new(AtomicUsize::new(0)),
            refused: AtomicBool::new(false),
            _via: via,
        }
    }

    /// Runs a bash script as root and waits for its end.
    ///
    /// The script goes in over stdin, so that it shows on no command line, and runs only if it
    /// arrived whole; its own commands read from `/dev/null`. The end is that of the script *and of
    /// all that hold its stdout or stderr*: a background process needs them redirected. When this
    /// future is dropped, the server is asked to send `TERM` to the script, which it may refuse.
    pub async fn run(&self, script: &str) -> Result<Output, RunError> {
        self.follow(script, |_| {}).await
    }

    /// As [`Session::run`], and hands every line of stdout to `on_line` when it comes, without its
    /// line end. A line longer than 64 KiB comes in pieces; bytes that are not UTF-8 are replaced.
    /// `on_line` must not block: the connection waits for it.
    pub async fn follow(
        &self,
        script: &str,
        on_line: impl FnMut(&str) + Send,
    ) -> Result<Output, RunError> {
        let (channel, mut running) = self.open_command().await?;
        let (mut read, write) = channel.split();
        let write = running.own(write);
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

    /// Whether the connection is of no more use: lost, or the server opens no command on it.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed() || self.refused.load(Ordering::Relaxed)
    }

    /// Opens a channel for a command, waiting while the server has as many as it allows.
    async fn open_command(&self) -> Result<(Channel<Msg>, Running), RunError> {
        loop {
            let slots = Arc::clone(&self.slots);
            let slot = slots
                .acquire_owned()
                .await
                .map_err(|_| self.disconnected())?;
            match self.handle.channel_open_session().await {
                Ok(channel) => {
                    return Ok((channel, Running::new(slot, Arc::clone(&self.running))));
                }
                // Others of ours run, so the server allows fewer than we thought: one slot less.
                // Those others give theirs back, so that at least one is left.
                Err(russh::Error::ChannelOpenFailure(_))
                    if self.running.load(Ordering::Acquire) > 0 =>
                {
                    slot.forget();
                }
                Err(source @ russh::Error::ChannelOpenFailure(_)) => {
                    self.refused.store(true, Ordering::Relaxed);
                    return Err(RunError::CommandRefused {
                        host: self.host.clone(),
                        source: Arc::new(source),
                    });
                }
                Err(_) => return Err(self.disconnected()),
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
