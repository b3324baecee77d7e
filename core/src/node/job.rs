//! What runs on a host for a Machine, one at a time: the name under which it is started, attached
//! to again, found by an onlooker, and logged.

use serde::{Deserialize, Serialize};

use crate::api::conditions::{ConditionType, Reason};

/// Kind of a job. A new kind is one variant here, and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Everything up to kubeadm.
    Prepare,
    /// `kubeadm init`.
    Init,
    /// `kubeadm join`.
    Join,
    /// The part of a control plane in holding the cluster's virtual IP, and who else does.
    Address,
    /// The archives of container images that an update needs.
    Images,
    /// `kubeadm upgrade`: the static pods of a control plane, or the kubelet configuration of a
    /// worker.
    Upgrade,
    /// The kubelet in another version.
    Kubelet,
    /// kubeadm's addons in the version of a control plane that was replaced machine by machine.
    Addons,
    /// Everything that the others did is undone, the marker last.
    Reset,
}

impl JobKind {
    /// Those that start, change or stop the etcd member of a control plane that exists. A kubelet
    /// that is replaced starts etcd anew.
    pub const OF_MEMBER: [Self; 3] = [Self::Join, Self::Upgrade, Self::Kubelet];

    /// All of them, in the order of a machine's life.
    pub const ALL: [Self; 9] = [
        Self::Prepare,
        Self::Init,
        Self::Join,
        Self::Address,
        Self::Images,
        Self::Upgrade,
        Self::Kubelet,
        Self::Addons,
        Self::Reset,
    ];

    /// Whether it is part of the way to a Node.
    pub fn bootstraps(self) -> bool {
        matches!(self, Self::Prepare | Self::Init | Self::Join)
    }

    /// Whether it is part of an update of a Node.
    pub fn updates(self) -> bool {
        matches!(self, Self::Images | Self::Upgrade | Self::Kubelet)
    }

    /// Whether it waits for the cluster of its Machine, and is of no use once that is deleted.
    pub fn needs_cluster(self) -> bool {
        !matches!(self, Self::Prepare | Self::Images | Self::Reset)
    }

    /// The condition of a Machine that says how far it is.
    pub fn condition(self) -> ConditionType {
        match self {
            Self::Images | Self::Upgrade | Self::Kubelet => ConditionType::Updating,
            Self::Addons => ConditionType::KubeadmAddonsUpToDate,
            _ => ConditionType::BootstrapReady,
        }
    }

    /// The name as it stands in paths.
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    /// Its name in messages.
    pub fn title(self) -> &'static str {
        self.words().1
    }

    /// Why a Machine is not ready while it runs.
    pub fn running(self) -> Reason {
        self.words().2
    }

    /// Why a Machine is not ready after it failed.
    pub fn failed(self) -> Reason {
        self.words().3
    }

    /// Name, title, and reasons while it runs and after it failed.
    fn words(self) -> (&'static str, &'static str, Reason, Reason) {
        match self {
            Self::Prepare => (
                "prepare",
                "preparation",
                Reason::Preparing,
                Reason::PrepareFailed,
            ),
            Self::Init => (
                "init",
                "kubeadm init",
                Reason::KubeadmInit,
                Reason::KubeadmInitFailed,
            ),
            Self::Join => (
                "join",
                "kubeadm join",
                Reason::KubeadmJoin,
                Reason::KubeadmJoinFailed,
            ),
            Self::Address => (
                "address",
                "virtual IP",
                Reason::AddressChanging,
                Reason::AddressFailed,
            ),
            Self::Images => (
                "images",
                "import of image archives",
                Reason::Updating,
                Reason::UpdateFailed,
            ),
            Self::Upgrade => (
                "upgrade",
                "kubeadm upgrade",
                Reason::KubeadmUpgrade,
                Reason::UpdateFailed,
            ),
            Self::Kubelet => (
                "kubelet",
                "kubelet update",
                Reason::KubeletUpdate,
                Reason::UpdateFailed,
            ),
            Self::Addons => (
                "addons",
                "update of kubeadm's addons",
                Reason::KubeadmAddons,
                Reason::KubeadmAddonsFailed,
            ),
            Self::Reset => ("reset", "reset", Reason::Resetting, Reason::ResetFailed),
        }
    }
}

/// A job. On its host its folder is `<key>/<kind>`, and its systemd unit has both in its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    /// What it does.
    #[serde(rename = "unit")]
    pub kind: JobKind,
    /// For what: the UID of the Machine.
    #[serde(rename = "machine")]
    pub key: String,
}

impl Job {
    /// The job of this kind for this key.
    pub fn new(kind: JobKind, key: &str) -> Self {
        Self {
            kind,
            key: key.to_owned(),
        }
    }
}
