//! Secrets that must not leak, in every form in which they could, and the search for them.
//!
//! [`Canaries`] holds what is searched for, [`CommandLines`] gathers what `ps` could have shown.

// what fails here fails the test
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Between two looks at all processes.
const LOOK_AGAIN: Duration = Duration::from_millis(15);
/// What is shorter would be found by chance.
const SHORTEST: usize = 10;

/// What is searched for: the forms of a secret, and the name that a finding gives it.
#[derive(Default)]
pub struct Canaries {
    needles: BTreeMap<String, String>,
}

impl Canaries {
    pub fn new() -> Self {
        Self::default()
    }

    /// A word: a passphrase, a token's secret part, a comment.
    pub fn word(&mut self, name: &str, word: &str) {
        assert!(word.len() >= SHORTEST, "{name} is too short to be searched");
        self.add(name, word.to_owned());
        for once in base64_of(word.as_bytes()) {
            for twice in base64_of(once.as_bytes()) {
                self.add(name, twice);
            }
            self.add(name, once);
        }
    }

    /// A private key in PEM: lines of it that nobody else's key has and that hold no part of the public
    /// one, as they stand and in base64, as Secrets and kubeconfigs hold them.
    pub fn key(&mut self, name: &str, pem: &str) {
        assert!(pem.contains("PRIVATE KEY-----"), "{name} is no private key");
        let lines = pem
            .lines()
            .skip_while(|line| !line.starts_with("-----BEGIN"));
        let body: Vec<&str> = lines.skip(1).collect();
        if body.len() > 10 {
            // RSA: the modulus comes first and what is made of the primes last
            return self.word(name, body[body.len() / 2]);
        }
        if pem.contains("OPENSSH PRIVATE KEY") {
            return self.word(name, body[3]);
        }
        // the first line begins like every key of its kind; an ECDSA key's third is its public half
        self.word(name, &body[0][body[0].len() - 16..]);
        self.word(name, body[1]);
    }

    /// Every private key that a text holds in base64, as a kubeconfig holds them.
    pub fn keys_in_base64(&mut self, name: &str, text: &str) {
        let decoder = base64::engine::general_purpose::STANDARD;
        for value in text.lines().filter_map(|line| line.split(": ").nth(1)) {
            let Some(pem) = decoder.decode(value.trim()).ok() else {
                continue;
            };
            if let Ok(pem) = String::from_utf8(pem)
                && pem.contains("PRIVATE KEY-----")
            {
                self.key(name, &pem);
            }
        }
    }

    /// Those of another as well.
    pub fn extend(&mut self, other: Self) {
        self.needles.extend(other.needles);
    }

    fn add(&mut self, name: &str, needle: String) {
        if needle.len() >= SHORTEST {
            self.needles.insert(needle, name.to_owned());
        }
    }

    /// One per line, for `grep -F -f`.
    pub fn patterns(&self) -> String {
        let needles = self.needles.keys();
        needles.flat_map(|needle| [needle.as_str(), "\n"]).collect()
    }

    /// Names of the secrets that a text holds.
    pub fn found_in(&self, text: &[u8]) -> BTreeSet<&str> {
        let text = String::from_utf8_lossy(text);
        let found = self
            .needles
            .iter()
            .filter(|(needle, _)| text.contains(needle.as_str()));
        found.map(|(_, name)| name.as_str()).collect()
    }

    /// Files below a folder that hold a secret, with its names.
    pub fn found_below(&self, folder: &Path) -> Vec<(PathBuf, Vec<&str>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file()
                    && let Ok(text) = std::fs::read(&path)
                {
                    let names: Vec<&str> = self.found_in(&text).into_iter().collect();
                    if !names.is_empty() {
                        found.push((path, names));
                    }
                }
            }
        }
        found
    }
}

/// What of the base64 of a text does not depend on its neighbours, at each of the three alignments.
fn base64_of(bytes: &[u8]) -> Vec<String> {
    (0..3)
        .map(|shift| {
            let padded = [&vec![0; shift], bytes].concat();
            let whole = &padded[..padded.len() / 3 * 3];
            // the characters that the padding has a part in
            STANDARD_NO_PAD.encode(whole)[[0, 2, 3][shift]..].to_owned()
        })
        .collect()
}

/// The command lines of all processes of this machine, those on hosts made of namespaces as well.
pub struct CommandLines {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<Vec<u8>>>,
}

impl CommandLines {
    /// Looks at all processes again and again, until [`CommandLines::end`].
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut seen, mut looks) = (BTreeSet::new(), BTreeMap::new());
            while !stopped.load(Ordering::Acquire) {
                looks = look(&looks, &mut seen);
                std::thread::park_timeout(LOOK_AGAIN);
            }
            look(&BTreeMap::new(), &mut seen);
            seen
        });
        Self { stop, thread }
    }

    /// What was seen.
    pub fn end(self) -> BTreeSet<Vec<u8>> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap()
    }
}

/// How often each process was looked at. One that is old is read now and then only: what it is called
/// changes when it becomes another program, which most do at their beginning.
type Looks = BTreeMap<OsString, usize>;

fn look(before: &Looks, seen: &mut BTreeSet<Vec<u8>>) -> Looks {
    let mut looks = Looks::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes()[0].is_ascii_digit() {
            continue;
        }
        let count = before.get(&name).map_or(0, |count| count + 1);
        looks.insert(name, count);
        // a process may be gone by now
        if (count < 10 || count.is_multiple_of(20))
            && let Ok(line) = std::fs::read(entry.path().join("cmdline"))
        {
            seen.insert(line);
        }
    }
    looks
}

#[test]
fn a_secret_is_found_in_every_form_and_its_public_half_is_none() {
    let key = "-----BEGIN PRIVATE KEY-----\n\
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVcB/UNPxalR9zDYA\n\
        jQIfjojUDiQuGnSJrFEEzZPT/92hRANCAASc7UJtgnF/abqWM60T3XNJEzBv5ez9\n\
        TdwKH0M6xpM2q+53wmsN/eYLdgtjgBd3DBmHtPilCkiFICXyaA8z9LkJ\n\
        -----END PRIVATE KEY-----\n";
    let mut canaries = Canaries::new();
    canaries.key("key", key);
    canaries.word("word", "a-canary-that-sings");
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    for before in ["", "x", "xy"] {
        for text in [key, "a-canary-that-sings"] {
            let text = format!("{before}{text}");
            let once = base64(&text);
            let twice = base64(&format!("{before}{once}"));
            for form in [text, once, twice] {
                assert_eq!(canaries.found_in(form.as_bytes()).len(), 1, "{form}");
            }
        }
    }
    let public = key.lines().nth(3).unwrap();
    assert!(canaries.found_in(public.as_bytes()).is_empty());
    assert!(canaries.found_in(b"a-canary-that-is-silent").is_empty());
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep/file"), base64(key)).unwrap();
    std::fs::write(folder.path().join("other"), public).unwrap();
    assert_eq!(
        canaries.found_below(folder.path()),
        [(folder.path().join("deep/file"), vec!["key"])]
    );
}

#[test]
fn a_command_line_is_seen() {
    let watch = CommandLines::watch();
    let mut child = std::process::Command::new("bash")
        .args(["-c", "echo; read -r _", "a-canary-that-sings"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // it has no command line yet when `spawn` ends
    let said = child.stdout.as_mut().unwrap().read(&mut [0]);
    assert_eq!(said.unwrap(), 1);
    let mut canaries = Canaries::new();
    canaries.word("word", "a-canary-that-sings");
    let seen = watch.end();
    drop(child.stdin.take());
    child.wait().unwrap();
    let found = seen.iter().flat_map(|line| canaries.found_in(line));
    assert_eq!(found.collect::<Vec<_>>(), ["word"]);
}
