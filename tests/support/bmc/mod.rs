//! A simulated BMC with one system (or more), over HTTPS, that does what BMCs do: sessions or none, versions, tasks,
//! power that comes late, errors that pass, certificates that change. It counts what it is asked.

mod answer;
pub mod tls;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use answer::answer;
use tls::{Identity, Listener, identity};

pub const USER: &str = "admin";
pub const PASSWORD: &str = "canary-bmc-password-77";
pub const UUID: &str = "5a6b7c8d-0000-4000-8000-000000000001";

/// Called with the power state that the system gets.
pub type OnPower = Box<dyn Fn(&str) + Send>;

/// Called with the URL of the image that the system boots from, instead.
pub type OnImage = Box<dyn Fn(&str) + Send>;

/// What the BMC is like, and what befell it.
pub struct State {
    pub password: String,
    pub power: String,
    /// Reads of the system until a power action takes effect.
    pub delay: u32,
    pub pending: Option<(u32, String)>,
    pub reset_types: Vec<&'static str>,
    /// Where the allowed values stand: beside the action, or in a resource of their own.
    pub action_info: bool,
    /// It answers 204 to power actions and does nothing.
    pub lies: bool,
    /// Power actions are answered with this.
    pub refuses_power: Option<(u16, &'static str)>,
    pub has_sessions: bool,
    pub session_room: usize,
    /// It begins no session, whatever the password, and answers with this.
    pub refuses_sessions: Option<u16>,
    pub has_links: bool,
    pub has_etags: bool,
    pub has_tasks: bool,
    /// Looks at a task until it ends, and how.
    pub task: (u32, &'static str),
    pub running: Option<u32>,
    /// Somebody else changes the system between the next read and the next change of it.
    pub meddler: u32,
    /// So many requests are answered 503.
    pub busy: u32,
    /// So many connections are dropped.
    pub drops: u32,
    /// Every answer is a redirect to there.
    pub redirects: Option<String>,
    /// Every answer is one byte larger than the client reads.
    pub floods: bool,
    /// What was to hold once holds for ever.
    pub keeps_once: bool,
    pub boot: (String, String),
    /// `Systems` or `Managers`: where the drives are.
    pub media_under: &'static str,
    pub image: Option<String>,
    pub systems: Vec<&'static str>,
    pub version: u32,
    pub sessions: BTreeSet<String>,
    pub logins: usize,
    pub refused_logins: usize,
    /// Method and path of each request that arrived.
    pub requests: Vec<String>,
    pub on_power: Option<OnPower>,
    pub on_image: Option<OnImage>,
    /// It cannot fetch images, and says so with their URL.
    pub refuses_media: bool,
    /// Every image that was inserted.
    pub images: Vec<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            password: PASSWORD.into(),
            power: "Off".into(),
            delay: 0,
            pending: None,
            reset_types: vec!["On", "ForceOff", "GracefulShutdown", "ForceRestart"],
            action_info: false,
            lies: false,
            refuses_power: None,
            has_sessions: true,
            session_room: 4,
            refuses_sessions: None,
            has_links: true,
            has_etags: true,
            has_tasks: false,
            task: (2, "Completed"),
            running: None,
            meddler: 0,
            busy: 0,
            drops: 0,
            redirects: None,
            floods: false,
            keeps_once: false,
            boot: ("Disabled".into(), "None".into()),
            media_under: "Systems",
            image: None,
            systems: vec!["1"],
            version: 1,
            sessions: BTreeSet::new(),
            logins: 0,
            refused_logins: 0,
            requests: Vec::new(),
            on_power: None,
            on_image: None,
            refuses_media: false,
            images: Vec::new(),
        }
    }
}

impl State {
    pub fn open_sessions(&self) -> usize {
        self.sessions.len()
    }

    #[allow(dead_code)] // not every test program asks
    pub fn forget_sessions(&mut self) {
        self.sessions.clear();
    }

    #[allow(dead_code)]
    pub fn count(&self, what: &str) -> usize {
        self.requests.iter().filter(|r| r.contains(what)).count()
    }
}

/// A simulated BMC that listens on loopback until it is dropped.
pub struct SimulatedBmc {
    pub port: u16,
    pub state: Arc<Mutex<State>>,
    #[allow(dead_code)]
    tls: Arc<Mutex<TlsAcceptor>>,
    /// PEM and `sha256:…` of the certificate that it shows.
    pub certificate: (String, String),
    /// PEM of the authority that signed it.
    #[allow(dead_code)]
    pub authority: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for SimulatedBmc {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// TLS on a socket of loopback, with a certificate whose authority is returned as well, in PEM.
pub fn loopback_tls(tcp: TcpListener) -> (impl axum::serve::Listener<Addr = SocketAddr>, String) {
    let identity = identity();
    let listener = Listener {
        tcp,
        tls: Arc::new(Mutex::new(identity.acceptor)),
        state: Arc::default(),
    };
    (listener, identity.authority)
}

impl SimulatedBmc {
    pub async fn start(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let Identity {
            acceptor,
            certificate,
            authority,
        } = identity();
        let (state, tls) = (Arc::new(Mutex::new(state)), Arc::new(Mutex::new(acceptor)));
        let listener = Listener {
            tcp: listener,
            tls: tls.clone(),
            state: state.clone(),
        };
        let shared = state.clone();
        let app = Router::new().fallback(move |method, uri, headers, body| {
            std::future::ready(answer(&shared, &method, &uri, &headers, &body))
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, app).await.ok();
        });
        Self {
            port,
            state,
            tls,
            certificate,
            authority,
            task,
        }
    }

    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Power, what is in the CD drive, and how many images there were.
    #[allow(dead_code)]
    pub fn looks(&self) -> (String, Option<String>, usize) {
        let state = self.state();
        (state.power.clone(), state.image.clone(), state.images.len())
    }

    /// From now on it shows another certificate.
    #[allow(dead_code)]
    pub fn change_certificate(&mut self) {
        let new = identity();
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = new.acceptor;
        self.certificate = new.certificate;
        self.authority = new.authority;
    }
}
