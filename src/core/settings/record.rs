//! What kubeadm's ConfigMaps have of the settings, recorded on the Cluster.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde_json::{Map, Value};

use super::{CLUSTER, KUBE_PROXY, KUBELET, Settings, between, digest_of, of_cluster, recorded};
use crate::api::names::ANNOTATION_SETTINGS_KEPT;
use crate::api::{Cluster, ClusterProviderSpec};

/// What has to be done about the record of a Cluster whose control plane was made.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordStep {
    /// It is what the Cluster says.
    Keep,
    /// There is none: an earlier release made the control plane. It becomes what that was made with.
    Take {
        /// What the ConfigMaps have.
        settings: Settings,
        /// Stands for the settings that the Cluster says, where they were edited under that release: they are not applied
        /// until they are edited again.
        kept: Option<String>,
    },
    /// These differences were made under an earlier release, which applied none.
    Leave(Vec<String>),
    /// They may not be applied.
    Refuse(String),
    /// The ConfigMaps follow the Cluster, and then the record does.
    Follow {
        /// What they have.
        from: Settings,
        /// What they are to have.
        to: Settings,
    },
}

/// What has to be done about the record of a Cluster; `made_with` is that of a control-plane Machine.
pub fn record_step(
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    made_with: Option<Settings>,
) -> RecordStep {
    let annotations = cluster.annotations();
    let now = of_cluster(spec);
    let Some(from) = recorded(annotations) else {
        return take(&now, made_with);
    };
    if from == now {
        RecordStep::Keep
    } else if is_kept(annotations, &now) {
        RecordStep::Leave(between(&from, &now))
    } else if data_dir(&from) != data_dir(&now) {
        let folder = data_dir(&from).unwrap_or("/var/lib/etcd");
        RecordStep::Refuse(format!(
            "{CLUSTER}.etcd.local.dataDir was {folder}, where the data of etcd is, and etcd would start without it in another folder: set it back. No setting is applied until then"
        ))
    } else {
        RecordStep::Follow { from, to: now }
    }
}

fn take(now: &Settings, made_with: Option<Settings>) -> RecordStep {
    let Some(made_with) = made_with else {
        return RecordStep::Keep;
    };
    // a control plane that joined has no record of kube-proxy
    let mut settings = now.clone();
    for name in [CLUSTER, KUBELET, KUBE_PROXY] {
        if let Some(value) = made_with.get(name) {
            settings.insert(name.into(), value.clone());
        }
    }
    RecordStep::Take {
        kept: (settings != *now).then(|| digest_of(now)),
        settings,
    }
}

fn data_dir(settings: &Settings) -> Option<&str> {
    let local = settings.get(CLUSTER)?.get("etcd")?.get("local")?;
    local.get("dataDir")?.as_str()
}

fn is_kept(annotations: &BTreeMap<String, String>, now: &Settings) -> bool {
    annotations.get(ANNOTATION_SETTINGS_KEPT) == Some(&digest_of(now))
}

/// Whether the nodes of a Cluster follow its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rollout {
    /// It is not known what kubeadm's ConfigMaps have: the control plane is not ours, or is not made yet.
    #[default]
    Unknown,
    /// They were edited under an earlier release, which applied none, and not since.
    Left,
    /// kubeadm's ConfigMaps do not have them yet.
    Waits,
    /// They follow.
    Goes,
}

/// The settings of a Cluster, as its Machines see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfCluster {
    /// What kubeadm's ConfigMaps have.
    pub recorded: Settings,
    /// Whether its nodes follow.
    pub rollout: Rollout,
}

impl OfCluster {
    /// What is recorded on a Cluster.
    pub fn of(cluster: &Cluster, spec: &ClusterProviderSpec) -> Self {
        let annotations = cluster.annotations();
        let Some(recorded) = recorded(annotations) else {
            return Self::default();
        };
        let now = of_cluster(spec);
        let rollout = if recorded == now {
            Rollout::Goes
        } else if is_kept(annotations, &now) {
            Rollout::Left
        } else {
            Rollout::Waits
        };
        Self { recorded, rollout }
    }
}

/// The annotation for a record.
pub fn text(settings: &Settings) -> String {
    Value::Object(Map::clone(settings)).to_string()
}
