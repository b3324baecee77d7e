//! What kubeadm's ConfigMaps have of the settings, recorded on the Cluster.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde_json::{Value, json};

use super::{
    APPLIED, CLUSTER, KUBE_PROXY, KUBELET, Settings, between, digest_of, of_cluster, recorded,
};
use crate::api::names::{
    ANNOTATION_ADDONS_DUE, ANNOTATION_SETTINGS_KEPT, ANNOTATION_SETTINGS_WRITING,
};
use crate::api::{Cluster, ClusterProviderSpec};

/// Where kubeadm has etcd's data by default.
const DATA_DIR: &str = "/var/lib/etcd";

/// What has to be done about the record of a Cluster whose control plane was made.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordStep {
    /// It is what the Cluster says.
    Keep,
    /// There is none: an earlier release made the control plane. It becomes what that was made
    /// with.
    Take {
        /// What the ConfigMaps have.
        settings: Settings,
        /// Stands for the settings that the Cluster says, where they were edited under that
        /// release: they are not applied until they are edited again.
        kept: Option<String>,
    },
    /// These differences were made under an earlier release, which applied none.
    Leave(Vec<String>),
    /// They may not be applied.
    Refuse(String),
    /// The ConfigMaps follow the Cluster, and then the record does.
    Follow {
        /// What they have: what is recorded, and what a manager that was stopped may have written
        /// of another edit.
        from: Vec<Settings>,
        /// What they are to have.
        to: Settings,
    },
}

/// What has to be done about the record of a Cluster; `made_with` is that of a control-plane
/// Machine.
pub fn record_step(
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    made_with: Option<Settings>,
) -> RecordStep {
    let annotations = cluster.annotations();
    let now = of_cluster(spec);
    let Some(from) = known(annotations) else {
        return take(&now, made_with);
    };
    let writing = writing(cluster);
    if from == now && writing.is_empty() {
        RecordStep::Keep
    } else if is_kept(annotations, &now) {
        RecordStep::Leave(between(&from, &now))
    } else if data_dir(&from) != data_dir(&now) {
        let folder = data_dir(&from);
        RecordStep::Refuse(format!(
            "{CLUSTER}.etcd.local.dataDir was {folder}, where the data of etcd is, and etcd would start without it in another folder: set it back. No setting is applied until then"
        ))
    } else {
        RecordStep::Follow {
            from: [from].into_iter().chain(writing).collect(),
            to: now,
        }
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

fn data_dir(settings: &Settings) -> &str {
    let local = || settings.get(CLUSTER)?.get("etcd")?.get("local");
    let folder = local().and_then(|local| local.get("dataDir")?.as_str());
    folder.unwrap_or(DATA_DIR).trim_end_matches('/')
}

fn is_kept(annotations: &BTreeMap<String, String>, now: &Settings) -> bool {
    annotations.get(ANNOTATION_SETTINGS_KEPT) == Some(&digest_of(now))
}

/// The settings of a record, without its number.
fn known(annotations: &BTreeMap<String, String>) -> Option<Settings> {
    let mut recorded = recorded(annotations)?;
    recorded.remove(APPLIED);
    Some(recorded)
}

/// What kubeadm's ConfigMaps have, as it is recorded on a Cluster.
pub fn kept(cluster: &Cluster) -> Settings {
    known(cluster.annotations()).unwrap_or_default()
}

/// What is being written into the ConfigMaps of a Cluster, and what was when that broke off.
pub fn writing(cluster: &Cluster) -> Vec<Settings> {
    let text = cluster.annotations().get(ANNOTATION_SETTINGS_WRITING);
    let all = text.and_then(|text| serde_json::from_str(text).ok());
    all.unwrap_or_default()
}

/// How often an edit was carried into the ConfigMaps of a Cluster.
pub fn number(cluster: &Cluster) -> u64 {
    let recorded = recorded(cluster.annotations());
    recorded
        .and_then(|all| all.get(APPLIED)?.as_u64())
        .unwrap_or_default()
}

/// Whether the nodes of a Cluster follow its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rollout {
    /// It is not known what kubeadm's ConfigMaps have: the control plane is not ours, or is not
    /// made yet.
    #[default]
    Unknown,
    /// They were edited under an earlier release, which applied none, and not since.
    Left,
    /// kubeadm's ConfigMaps do not have them yet; or the control plane is being replaced by a newer
    /// version, whose static pods kubeadm would write.
    Waits,
    /// They follow.
    Goes,
}

/// The settings of a Cluster, as its Machines see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfCluster {
    /// What kubeadm's ConfigMaps have.
    pub recorded: Settings,
    /// How often an edit was carried into them: the same settings may have been there before, with
    /// others in between.
    pub number: u64,
    /// Whether its nodes follow.
    pub rollout: Rollout,
}

impl OfCluster {
    /// What is recorded on a Cluster.
    pub fn of(cluster: &Cluster, spec: &ClusterProviderSpec) -> Self {
        let annotations = cluster.annotations();
        let Some(recorded) = known(annotations) else {
            return Self::default();
        };
        let now = of_cluster(spec);
        let is_moving =
            !writing(cluster).is_empty() || annotations.contains_key(ANNOTATION_ADDONS_DUE);
        let rollout = if is_kept(annotations, &now) && recorded != now {
            Rollout::Left
        } else if is_moving || recorded != now {
            Rollout::Waits
        } else {
            Rollout::Goes
        };
        Self {
            recorded,
            number: number(cluster),
            rollout,
        }
    }
}

impl OfCluster {
    /// The same; waiting if the settings of the Cluster cannot be used.
    #[must_use]
    pub fn waiting_if(mut self, is_invalid: bool) -> Self {
        if is_invalid && self.rollout != Rollout::Unknown {
            self.rollout = Rollout::Waits;
        }
        self
    }
}

/// The annotation for a record of settings that were carried into the ConfigMaps so often.
pub fn text(settings: &Settings, number: u64) -> String {
    let mut record = settings.clone();
    if number > 0 {
        record.insert(APPLIED.into(), json!(number));
    }
    Value::Object(record).to_string()
}
