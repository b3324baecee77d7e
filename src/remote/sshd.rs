//! A server of SSH for tests, in this process.

use std::sync::Arc;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{self, Auth, Handle, VerifiedPublicKey};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Mutex, Semaphore};

use super::{Credential, Hop, Target};
use tatara_core::api::host::Privilege;

/// A server that lets in who has its own key, once it is open.
pub struct Sshd {
    hop: Hop,
    gate: Arc<Gate>,
    handles: Mutex<UnboundedReceiver<Handle>>,
    task: tokio::task::AbortHandle,
}

struct Gate {
    asked: Semaphore,
    is_open: Semaphore,
}

struct Handler(Arc<Gate>);

impl server::Handler for Handler {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        _: &str,
        _: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        self.0.asked.add_permits(1);
        Ok(match self.0.is_open.acquire().await {
            Ok(_) => Auth::Accept,
            Err(_) => Auth::reject(),
        })
    }
}

impl Sshd {
    /// One that answers no login before [`Sshd::open`].
    ///
    /// # Panics
    /// Where a test cannot go on.
    pub async fn closed() -> Self {
        let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[7; 32]));
        let key = PrivateKey::new(pair, "").unwrap();
        let config = Arc::new(server::Config {
            keys: vec![key.clone()],
            ..server::Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pem = key.to_openssh(LineEnding::LF).unwrap();
        let hop = Hop {
            address: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
            user: "root".into(),
            host_keys: vec![key.public_key().to_openssh().unwrap()],
            credential: Credential::parse(pem.as_bytes(), None).unwrap().into(),
        };
        let gate = Arc::new(Gate {
            asked: Semaphore::new(0),
            is_open: Semaphore::new(0),
        });
        let (sender, handles) = unbounded_channel();
        let held = Arc::clone(&gate);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let login = Handler(Arc::clone(&held));
                let running = server::run_stream(Arc::clone(&config), stream, login).await;
                if let Ok(running) = running {
                    sender.send(running.handle()).ok();
                    tokio::spawn(running);
                }
            }
        });
        Self {
            hop,
            gate,
            handles: Mutex::new(handles),
            task: task.abort_handle(),
        }
    }

    /// Answers logins from now on.
    pub fn open(&self) {
        self.gate.is_open.add_permits(1);
    }

    /// Refuses logins from now on.
    pub fn refuse(&self) {
        self.gate.is_open.close();
    }

    /// Waits for a login.
    ///
    /// # Panics
    /// Where a test cannot go on.
    pub async fn asked(&self) {
        self.gate.asked.acquire().await.unwrap().forget();
    }

    /// The server's side of the next connection.
    ///
    /// # Panics
    /// Where a test cannot go on.
    pub async fn handle(&self) -> Handle {
        self.handles.lock().await.recv().await.unwrap()
    }

    /// How to reach it, with its host key.
    pub fn hop(&self) -> Hop {
        self.hop.clone()
    }

    /// The same, as a host of namespace `default`.
    pub fn target(&self) -> Target {
        Target {
            namespace: "default".into(),
            hop: self.hop(),
            privilege: Privilege::Root,
            jump: Vec::new(),
            trust_on_first_use: false,
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.task.abort();
    }
}
