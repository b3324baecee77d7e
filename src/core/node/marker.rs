//! The ownership marker: which Machine has a host, according to the host itself.

use serde::{Deserialize, Serialize};

use super::job::{Job, JobKind};

/// The ownership marker of a host: `/var/lib/tatara/owner.json`, mode 0600. Every script of a Machine
/// compares it before its first write, so that a lost, restored or duplicated management cluster
/// cannot touch another's node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// UID of the management cluster: of its namespace kube-system.
    pub management: String,
    /// Namespace of the Machine.
    pub namespace: String,
    /// Name of the Machine's Cluster.
    pub cluster: String,
    /// Name of the Machine.
    pub machine: String,
    /// UID of the Machine.
    pub uid: String,
}

impl Marker {
    /// Whether both name the same Machine of the same management cluster, by UID; names are not compared.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        self.management == other.management && self.uid == other.uid
    }

    /// The job of this kind for the Machine.
    pub fn job(&self, kind: JobKind) -> Job {
        Job::new(kind, &self.uid)
    }

    pub(super) fn json(&self) -> String {
        serde_json::json!({
            "management": self.management,
            "namespace": self.namespace,
            "cluster": self.cluster,
            "machine": self.machine,
            "uid": self.uid,
        })
        .to_string()
    }
}

/// A marker as it was read from a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Owner {
    /// Which Machine has the host.
    #[serde(flatten)]
    pub marker: Marker,
    /// `kubeadm init` succeeded here: the host holds a control plane that must not be made again.
    #[serde(default)]
    pub initialized: bool,
    /// `kubeadm join` succeeded here: the host is a node that must not be undone for another attempt.
    #[serde(default)]
    pub joined: bool,
}

/// Who has a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// There is no marker.
    Nobody,
    /// A Machine, ours or not.
    Owner(Owner),
    /// There is a marker that cannot be read: the host is left alone, as if it belonged to another.
    Unreadable(String),
}

impl Ownership {
    pub(super) fn read(text: Option<String>) -> Self {
        match text {
            None => Self::Nobody,
            Some(text) => match serde_json::from_str(&text) {
                Ok(owner) => Self::Owner(owner),
                Err(_) => Self::Unreadable(text),
            },
        }
    }

    /// The marker's owner, when it is this Machine.
    pub fn of(&self, marker: &Marker) -> Option<&Owner> {
        match self {
            Self::Owner(owner) if owner.marker.is_same_machine(marker) => Some(owner),
            _ => None,
        }
    }
}
