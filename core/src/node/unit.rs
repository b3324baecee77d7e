//! What is run on a host: units of steps.

use std::fmt::Write as _;

use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::job::JobKind;

/// Steps that run one after another, with no decision between them, in one transient systemd unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What it is for.
    pub kind: JobKind,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Files that the steps find in `$TATARA_SECRETS` while they run.
    pub secrets: Vec<SecretFile>,
}

/// One idempotent shell script; it holds no secret, token or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of `a-z`, `0-9` and `-`: part of the file name, and of messages ("3/9 containerd").
    pub name: &'static str,
    /// What it does, human-readable.
    pub title: &'static str,
    /// The script.
    pub script: String,
}

/// A file for a control-plane host.
#[derive(Clone, Debug)]
pub struct ControlPlaneFile {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// What it holds; a private key where the mode says so.
    pub content: SecretString,
}

/// A file of mode 0600 that exists in memory on the host, while the unit runs.
#[derive(Clone, Debug)]
pub struct SecretFile {
    /// File name, without a folder.
    pub name: String,
    /// Its text.
    pub content: SecretString,
}

impl Unit {
    /// Hash (SHA-256, hexadecimal) of the steps' names and scripts: two runs with the same identity
    /// do the same work. Secrets, tokens and times are not in the scripts, and so do not change it.
    pub fn identity(&self) -> String {
        identity(&self.steps)
    }
}

pub(super) fn identity(steps: &[Step]) -> String {
    let mut hash = Sha256::new();
    for part in steps.iter().flat_map(|step| [step.name, &step.script]) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            // writing to a String does not fail
            let _ = write!(text, "{byte:02x}");
            text
        })
}
