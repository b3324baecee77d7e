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
    /// One word of `a-z`, `0-9` and `-`: the file's name and what people see ("3/9 containerd").
    pub name: &'static str,
    /// What it does, for people.
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
    /// What makes two runs of a unit the same work: a hash of the steps' scripts. Secrets, tokens and
    /// times are no part of it, because they are not in the scripts.
    pub fn identity(&self) -> String {
        let mut hash = Sha256::new();
        for part in self.steps.iter().flat_map(|step| [step.name, &step.script]) {
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
}
