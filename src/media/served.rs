//! Images that are served now, and the reports of installers.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::library::Library;
use tatara_core::installer::{Base, Report};

/// Number of random bytes in a token.
const RANDOM: usize = 32;

/// Grants access to one image, for one host and one installation.
#[derive(Clone)]
pub struct Token(SecretString);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A new token of 256 random bits. None if the operating system provides no random numbers.
    pub fn random() -> Option<Self> {
        let mut bytes = Zeroizing::new([0; RANDOM]);
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(bytes.as_mut()).ok()?;
        Some(Self(hex(bytes.as_ref()).into()))
    }

    /// A token from its text.
    pub fn from_text(text: &str) -> Option<Self> {
        let is_whole = text.len() == 2 * RANDOM && text.chars().all(|c| c.is_ascii_hexdigit());
        is_whole.then(|| Self(text.to_owned().into()))
    }

    /// The text of the token, as in the URL.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    fn key(&self) -> Key {
        key(self.expose())
    }
}

/// Tokens are looked up by their digest, so that timing reveals nothing about them.
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

/// An image that is served.
pub struct ImageShare {
    /// `namespace/name` of the Host, for logs.
    pub host: String,
    pub(super) base: Base,
    /// Content of its embed area.
    pub(super) filled: Zeroizing<Vec<u8>>,
    revoked: AtomicBool,
    report: Mutex<Option<Report>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl ImageShare {
    /// The last report of its installer.
    pub fn report(&self) -> Option<Report> {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hear(&self, report: Report) {
        let mut last = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        // a final report is kept, whatever comes later
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
    by_token: HashMap<Key, Arc<ImageShare>>,
    /// Token by the UID of the Host.
    by_host: HashMap<String, Key>,
}

/// The images that the manager serves to BMCs.
pub struct Media {
    /// Downloaded images.
    pub library: Library,
    /// URL of the listener for BMCs, without a trailing slash.
    url: String,
    open: Mutex<Open>,
}

impl Media {
    /// Serves no image yet. `url`: URL of the listener for BMCs.
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

    /// URL for the reports of its installer.
    pub fn report_url(&self, token: &Token) -> SecretString {
        format!("{}/media/{}/report", self.url, token.expose()).into()
    }

    /// The image that is served to a Host.
    pub fn of(&self, uid: &str) -> Option<Arc<ImageShare>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let key = open.by_host.get(uid)?;
        open.by_token.get(key).cloned()
    }

    /// Serves an image to a Host, `(uid, namespace/name)`, and revokes the former one. `wake` is
    /// called when its installer reports.
    pub fn open(
        &self,
        (uid, host): (&str, String),
        token: &Token,
        (base, filled): (Base, Zeroizing<Vec<u8>>),
        wake: Box<dyn Fn() + Send + Sync>,
    ) {
        self.revoke(uid);
        let served = Arc::new(ImageShare {
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

    /// Revokes the image that is served to a Host, at once.
    pub fn revoke(&self, uid: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(key) = open.by_host.remove(uid) else {
            return;
        };
        if let Some(served) = open.by_token.remove(&key) {
            served.revoked.store(true, Ordering::Relaxed);
            tracing::info!(host = %served.host, "stopped serving media");
        }
    }

    pub(super) fn by_token(&self, token: &str) -> Option<Arc<ImageShare>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_token.get(&key(token)).cloned()
    }
}
