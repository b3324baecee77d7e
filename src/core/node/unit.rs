//! What is run on a host: units of steps.

use std::fmt::Write as _;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Which of a machine's units; its folder and part of its systemd unit's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitName {
    /// Everything up to kubeadm.
    Prepare,
    /// `kubeadm init`.
    Init,
    /// `kubeadm join`.
    Join,
    /// Everything that the others did is undone, the marker last.
    Reset,
}

impl UnitName {
    /// All of them, in the order of a machine's life.
    pub const ALL: [Self; 4] = [Self::Prepare, Self::Init, Self::Join, Self::Reset];

    /// The name as it stands in paths.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Init => "init",
            Self::Join => "join",
            Self::Reset => "reset",
        }
    }
}

/// Steps that run one after another, with no decision between them, in one transient systemd unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Which unit.
    pub name: UnitName,
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
