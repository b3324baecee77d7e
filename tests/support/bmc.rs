//! A simulated BMC with one system (or more), over HTTPS, that does what BMCs do: sessions or none, versions, tasks,
//! power that comes late, errors that pass, certificates that change. It counts what it is asked.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

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
            has_links: true,
            has_etags: true,
            has_tasks: false,
            task: (2, "Completed"),
            running: None,
            meddler: 0,
            busy: 0,
            drops: 0,
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

struct Identity {
    acceptor: TlsAcceptor,
    certificate: (String, String),
    authority: String,
}

/// An authority, and a certificate of it for loopback.
fn identity() -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&key).expect("an authority");
    let issuer = Issuer::new(parameters, key);
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(["127.0.0.1".into()]).expect("a name");
    let made = parameters.signed_by(&key, &issuer).expect("a certificate");
    let der = made.der().clone();
    let mut fingerprint = String::from("sha256:");
    for byte in Sha256::digest(&der) {
        write!(fingerprint, "{byte:02x}").expect("room in a String");
    }
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![der], key)
        .expect("a configuration");
    Identity {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        certificate: (made.pem(), fingerprint),
        authority: authority.pem(),
    }
}

struct Listener {
    tcp: TcpListener,
    tls: Arc<Mutex<TlsAcceptor>>,
    state: Arc<Mutex<State>>,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, from)) = self.tcp.accept().await else {
                continue;
            };
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.drops > 0 {
                    state.drops -= 1;
                    continue;
                }
            }
            let acceptor = self
                .tls
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            if let Ok(stream) = acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

fn answer(
    state: &Mutex<State>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let path = uri.path().trim_end_matches('/');
    state.requests.push(format!("{method} {path}"));
    if state.busy > 0 {
        state.busy -= 1;
        return error(503, "try again later");
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if path == "/redfish/v1" {
        return ok(&root(&state));
    }
    if *method == Method::POST && path.ends_with("/SessionService/Sessions") {
        return session(&mut state, &body);
    }
    if let Some(refusal) = refusal(&mut state, headers) {
        return refusal;
    }
    let parts: Vec<&str> = path.trim_start_matches("/redfish/v1/").split('/').collect();
    match (method.as_str(), parts.as_slice()) {
        ("DELETE", ["SessionService", "Sessions", id]) => {
            let known = state.sessions.remove(*id);
            if known {
                empty()
            } else {
                error(404, "no such session")
            }
        }
        ("GET", ["Systems"]) => ok(&members("Systems", &state.systems)),
        ("GET", ["Systems", id]) if state.systems.contains(id) => system(&mut state, id),
        ("PATCH", ["Systems", _]) => change(&mut state, headers, &body),
        ("GET", ["Systems", _, "ResetActionInfo"]) => ok(&json!({"Parameters": [
            {"Name": "ResetType", "AllowableValues": state.reset_types}]})),
        ("POST", ["Systems", _, "Actions", "ComputerSystem.Reset"]) => reset(&mut state, &body),
        ("GET", ["TaskService", "Monitor"]) => task(&mut state),
        ("GET", ["Managers"]) => ok(&members("Managers", &["bmc"])),
        ("GET", ["Managers", "bmc"]) => {
            ok(&json!({"VirtualMedia": link("Managers/bmc/VirtualMedia")}))
        }
        (method, [under, _, "VirtualMedia", rest @ ..]) if *under == state.media_under => {
            media(&mut state, method, rest, &body)
        }
        _ => error(404, "nothing here"),
    }
}

fn root(state: &State) -> Value {
    let mut root = json!({"@odata.id": "/redfish/v1/", "Systems": link("Systems"), "Managers": link("Managers")});
    if state.has_sessions {
        root["SessionService"] = link("SessionService");
        if state.has_links {
            root["Links"] = json!({"Sessions": link("SessionService/Sessions")});
        }
    }
    root
}

fn session(state: &mut State, body: &Value) -> Response {
    if !state.has_sessions {
        return error(404, "no SessionService");
    }
    if body["UserName"] != USER || body["Password"] != state.password.as_str() {
        state.refused_logins += 1;
        return error(401, &format!("wrong password {}", body["Password"]));
    }
    if state.sessions.len() >= state.session_room {
        return error(503, "SessionLimitExceeded");
    }
    state.logins += 1;
    let token = format!("t{}", state.logins);
    state.sessions.insert(token.clone());
    let location = format!("/redfish/v1/SessionService/Sessions/{token}");
    let headers = [("X-Auth-Token", token), ("Location", location)];
    (StatusCode::CREATED, headers, "{}").into_response()
}

/// Why a request is not let in.
fn refusal(state: &mut State, headers: &HeaderMap) -> Option<Response> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(token) = header("X-Auth-Token") {
        let known = state.sessions.contains(token);
        return (!known).then(|| error(401, "no such session"));
    }
    let wanted = format!("{USER}:{}", state.password);
    let wanted = base64::engine::general_purpose::STANDARD.encode(wanted);
    if header("Authorization") == Some(&format!("Basic {wanted}")) {
        state.logins += 1;
        return None;
    }
    state.refused_logins += 1;
    Some(error(401, "wrong password"))
}

fn system(state: &mut State, id: &str) -> Response {
    if let Some((looks, power)) = state.pending.take() {
        if looks == 0 {
            become_so(state, &power);
        } else {
            state.pending = Some((looks - 1, power));
        }
    }
    let target = format!("/redfish/v1/Systems/{id}/Actions/ComputerSystem.Reset");
    let mut action = json!({ "target": target });
    if state.action_info {
        action["@Redfish.ActionInfo"] = format!("/redfish/v1/Systems/{id}/ResetActionInfo").into();
    } else {
        action["ResetType@Redfish.AllowableValues"] = json!(state.reset_types);
    }
    let mut system = json!({
        "@odata.id": format!("/redfish/v1/Systems/{id}"), "Id": id, "UUID": UUID, "SerialNumber": format!("S{id}"),
        "PowerState": state.power, "MemorySummary": null, "ProcessorSummary": {"Count": "2"},
        "Boot": {"BootSourceOverrideEnabled": state.boot.0, "BootSourceOverrideTarget": state.boot.1,
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Cd", "Hdd"]},
        "Actions": {"#ComputerSystem.Reset": action},
    });
    if state.has_links && state.media_under == "Managers" {
        system["Links"] = json!({"ManagedBy": [link("Managers/bmc")]});
    }
    if state.media_under == "Systems" {
        system["VirtualMedia"] = link(&format!("Systems/{id}/VirtualMedia"));
    }
    let etag = state.version.to_string();
    if state.has_etags {
        (StatusCode::OK, [("ETag", etag)], system.to_string()).into_response()
    } else {
        ok(&system)
    }
}

fn change(state: &mut State, headers: &HeaderMap, body: &Value) -> Response {
    if state.meddler > 0 {
        state.meddler -= 1;
        state.version += 1;
    }
    let matched = headers
        .get("If-Match")
        .and_then(|value| value.to_str().ok());
    match (matched, state.has_etags) {
        (None, true) => return error(428, "If-Match is missing"),
        (Some(_), false) => return error(400, "If-Match without an ETag"),
        (Some(version), true) if version != state.version.to_string() => {
            return error(412, "changed by somebody else");
        }
        _ => {}
    }
    state.version += 1;
    let said = |name: &str| body["Boot"][name].as_str().map(str::to_owned);
    if let (Some(enabled), Some(target)) = (
        said("BootSourceOverrideEnabled"),
        said("BootSourceOverrideTarget"),
    ) {
        let kept = if state.keeps_once && enabled == "Once" {
            "Continuous".into()
        } else {
            enabled
        };
        state.boot = (kept, target);
    }
    accepted(state)
}

fn reset(state: &mut State, body: &Value) -> Response {
    if let Some((status, text)) = state.refuses_power {
        return error(status, text);
    }
    let power = match body["ResetType"].as_str() {
        Some("On" | "ForceOn" | "ForceRestart" | "PowerCycle") => "On",
        Some("ForceOff" | "GracefulShutdown") => "Off",
        _ => return empty(),
    };
    if !state.lies {
        if state.delay == 0 {
            become_so(state, power);
        } else {
            state.pending = Some((state.delay, power.into()));
        }
    }
    accepted(state)
}

fn become_so(state: &mut State, power: &str) {
    let image = state.image.clone().filter(|_| state.boot.1 == "Cd");
    if power == "On" && state.boot.0 == "Once" {
        state.boot = ("Disabled".into(), "None".into());
    }
    let was_off = state.power == "Off";
    state.power = power.into();
    if let (Some(on_image), Some(image), "On", true) = (&state.on_image, image, power, was_off) {
        on_image(&image);
    } else if let Some(on_power) = &state.on_power {
        on_power(power);
    }
}

/// 204, or 202 with a task.
fn accepted(state: &mut State) -> Response {
    if !state.has_tasks {
        return empty();
    }
    state.running = Some(state.task.0);
    let headers = [
        ("Location", "/redfish/v1/TaskService/Monitor"),
        ("Retry-After", "0"),
    ];
    (StatusCode::ACCEPTED, headers, "{}").into_response()
}

fn task(state: &mut State) -> Response {
    match state.running {
        None => error(404, "no task"),
        Some(0) => {
            state.running = None;
            ok(&json!({"TaskState": state.task.1, "Messages": [{"Message": "as it was told"}]}))
        }
        Some(left) => {
            state.running = Some(left - 1);
            (StatusCode::ACCEPTED, "").into_response()
        }
    }
}

fn media(state: &mut State, method: &str, rest: &[&str], body: &Value) -> Response {
    let at = |end: &str| match state.media_under {
        "Systems" => format!("Systems/1/VirtualMedia{end}"),
        _ => format!("Managers/bmc/VirtualMedia{end}"),
    };
    match (method, rest) {
        ("GET", []) => ok(&json!({"Members": [link(&at("/Floppy")), link(&at("/Cd"))]})),
        ("GET", ["Floppy"]) => ok(&json!({"Id": "Floppy", "MediaTypes": ["Floppy"]})),
        ("GET", ["Cd"]) => ok(&json!({"Id": "Cd", "MediaTypes": ["CD", "DVD"],
        "Inserted": state.image.is_some(), "Image": state.image,
        "Actions": {
            "#VirtualMedia.InsertMedia": {"target": format!("/redfish/v1/{}", at("/Cd/Actions/Insert"))},
            "#VirtualMedia.EjectMedia": {"target": format!("/redfish/v1/{}", at("/Cd/Actions/Eject"))},
        }})),
        ("POST", ["Cd", "Actions", "Insert"]) if state.image.is_some() => {
            error(409, "something is inserted")
        }
        ("POST", ["Cd", "Actions", "Insert"]) if state.refuses_media => {
            error(400, &format!("cannot fetch {}", body["Image"]))
        }
        ("POST", ["Cd", "Actions", "Insert"]) => match body["Image"].as_str() {
            Some(image) if image.starts_with("http") => {
                state.image = Some(image.into());
                state.images.push(image.into());
                accepted(state)
            }
            _ => error(400, "the image cannot be fetched"),
        },
        ("POST", ["Cd", "Actions", "Eject"]) => {
            state.image = None;
            accepted(state)
        }
        _ => error(404, "nothing here"),
    }
}

fn link(path: &str) -> Value {
    json!({ "@odata.id": format!("/redfish/v1/{path}") })
}

fn members(of: &str, ids: &[&str]) -> Value {
    let links: Vec<Value> = ids.iter().map(|id| link(&format!("{of}/{id}"))).collect();
    json!({ "Members": links })
}

fn ok(body: &Value) -> Response {
    (StatusCode::OK, body.to_string()).into_response()
}

fn empty() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Errors are plain text with some BMCs.
fn error(status: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, text.to_owned()).into_response()
}
