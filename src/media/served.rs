//! What may be fetched now, and what installers said.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::library::Library;
use crate::core::installer::{Base, Report};

/// Random bytes of a token.
const RANDOM: usize = 32;

/// Opens one image, to one host, for one installation.
#[derive(Clone)]
pub struct Token(SecretString);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A new one, of 256 random bits. Nothing when the operating system has none.
    pub fn random() -> Option<Self> {
        let mut bytes = Zeroizing::new([0; RANDOM]);
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(bytes.as_mut()).ok()?;
        Some(Self(hex(bytes.as_ref()).into()))
    }

    /// One that was made before.
    pub fn from_text(text: &str) -> Option<Self> {
        let is_whole = text.len() == 2 * RANDOM && text.chars().all(|c| c.is_ascii_hexdigit());
        is_whole.then(|| Self(text.to_owned().into()))
    }

    /// As it stands in the URL.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    fn key(&self) -> Key {
        key(self.expose())
    }
}

/// Tokens are looked up by their digest, so that the time it takes tells nothing of them.
type Key = [u8; 32];

fn key(token: &str) -> Key {
    Sha256::digest(token).into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // writing into a String cannot fail
        write!(text, "{byte:02x}").ok();
    }
    text
}

/// One image that may be fetched.
pub struct Served {
    /// For whom, in the log: `namespace/name` of the Host.
    pub host: String,
    pub(super) base: Base,
    /// What its embed area holds.
    pub(super) filled: Zeroizing<Vec<u8>>,
    revoked: AtomicBool,
    report: Mutex<Option<Report>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Served {
    /// What its installer said last.
    pub fn report(&self) -> Option<Report> {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hear(&self, report: Report) {
        let mut last = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        // what ends it stands, whatever comes late
        if matches!(*last, None | Some(Report::Started)) {
            *last = Some(report);
        }
        drop(last);
        (self.wake)();
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Relaxed)
    }

    pub(super) fn size(&self) -> u64 {
        self.base.size
    }
}

#[derive(Default)]
struct Open {
    by_token: HashMap<Key, Arc<Served>>,
    /// UID of the Host to its token.
    by_host: HashMap<String, Key>,
}

/// Everything that the manager serves to BMCs.
pub struct Media {
    /// Images that are fetched.
    pub library: Library,
    /// Where BMCs reach the listener, without a slash at the end.
    url: String,
    open: Mutex<Open>,
}

impl Media {
    /// Nothing may be fetched yet. `url`: where BMCs reach the listener.
    pub fn new(url: &str, library: Library) -> Self {
        Self {
            library,
            url: url.trim_end_matches('/').to_owned(),
            open: Mutex::default(),
        }
    }

    /// URL of the image for a token.
    pub fn image_url(&self, token: &Token) -> SecretString {
        format!("{}/media/{}/installer.iso", self.url, token.expose()).into()
    }

    /// URL at which its installer reports.
    pub fn report_url(&self, token: &Token) -> SecretString {
        format!("{}/media/{}/report", self.url, token.expose()).into()
    }

    /// What is open for a Host.
    pub fn of(&self, uid: &str) -> Option<Arc<Served>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let key = open.by_host.get(uid)?;
        open.by_token.get(key).cloned()
    }

    /// Opens an image to a Host, `(uid, namespace/name)`. What was open to it before is revoked. `wake` is called when
    /// its installer reports.
    pub fn open(
        &self,
        (uid, host): (&str, String),
        token: &Token,
        (base, filled): (Base, Zeroizing<Vec<u8>>),
        wake: Box<dyn Fn() + Send + Sync>,
    ) {
        self.revoke(uid);
        let served = Arc::new(Served {
            host,
            base,
            filled,
            revoked: AtomicBool::new(false),
            report: Mutex::default(),
            wake,
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_token.insert(token.key(), served);
        open.by_host.insert(uid.to_owned(), token.key());
    }

    /// Closes what is open to a Host, at once.
    pub fn revoke(&self, uid: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(key) = open.by_host.remove(uid) else {
            return;
        };
        if let Some(served) = open.by_token.remove(&key) {
            served.revoked.store(true, Ordering::Relaxed);
            tracing::info!(host = %served.host, "media closed");
        }
    }

    pub(super) fn by_token(&self, token: &str) -> Option<Arc<Served>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_token.get(&key(token)).cloned()
    }
}
