//! The settings of the Cluster for kubeadm, kubelet and kube-proxy, the user's part of them: what a
//! node was made with, recorded on its Machine; what kubeadm's ConfigMaps have, recorded on the
//! Cluster; and what the Cluster says now.
//!
//! On a running node the settings of the static pods and of the kubelet change. The others need
//! another machine.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::letters::letters;
use crate::api::names::ANNOTATION_SETTINGS;
use crate::api::{ClusterProviderSpec, Machine};
use crate::kubeadm::{self, Kept, feature_gates};
use crate::node::JobKind;
use crate::remedy;

pub use record::{OfCluster, RecordStep, Rollout, kept, number, record_step, text, writing};

/// Settings by their field of the provider spec.
pub type Settings = Map<String, Value>;

/// `ClusterConfiguration` of kubeadm.
pub const CLUSTER: &str = "kubeadm.clusterConfiguration";
const INIT: &str = "kubeadm.initConfiguration";
const JOIN: &str = "kubeadm.joinConfiguration";
/// `KubeletConfiguration`.
pub const KUBELET: &str = "kubeletConfiguration";
/// `KubeProxyConfiguration`.
pub const KUBE_PROXY: &str = "kubeProxyConfiguration";
/// In a Machine's record: the fields of the settings to which its node is being brought.
const APPLYING: &str = "applying";

/// In the record of a Cluster: how often an edit was carried into kubeadm's ConfigMaps.
const APPLIED: &str = "applied";
/// In `ClusterConfiguration`: may only repeat `spec.versions`, and is no setting.
const VERSION: &str = "kubernetesVersion";

/// The parts of `ClusterConfiguration` of which `kubeadm upgrade node` renders static pods. Also
/// etcd's, whose manifest it writes anew at an equal version too (`performEtcdStaticPodUpgrade`,
/// v1.31 to v1.37).
const STATIC_PODS: [&str; 5] = [
    "apiServer",
    "controllerManager",
    "etcd",
    "imageRepository",
    "scheduler",
];
/// In these, what is written into a certificate once.
const IN_CERTIFICATES: [&[&str]; 3] = [
    &["apiServer", "certSANs"],
    &["etcd", "local", "peerCertSANs"],
    &["etcd", "local", "serverCertSANs"],
];

/// All settings.
fn all(spec: &ClusterProviderSpec) -> Settings {
    let fields = [
        (CLUSTER, &spec.kubeadm.cluster_configuration),
        (INIT, &spec.kubeadm.init_configuration),
        (JOIN, &spec.kubeadm.join_configuration),
        (KUBELET, &spec.kubelet_configuration),
        (KUBE_PROXY, &spec.kube_proxy_configuration),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::Object(value.clone())));
    without_version(fields.into_iter().collect())
}

fn without_version(mut settings: Settings) -> Settings {
    if let Some(Value::Object(cluster)) = settings.get_mut(CLUSTER) {
        cluster.remove(VERSION);
    }
    settings
}

/// Those that kubeadm keeps in ConfigMaps of the cluster.
pub fn of_cluster(spec: &ClusterProviderSpec) -> Settings {
    let mut settings = all(spec);
    settings.retain(|name, _| [CLUSTER, KUBELET, KUBE_PROXY].contains(&name.as_str()));
    settings
}

/// What the unit makes a node with. A node that joins gets the settings of the cluster from the
/// cluster: `recorded` on it, or on the Machine that made the control plane, or on another that
/// repeats them.
pub fn of(
    spec: &ClusterProviderSpec,
    unit: JobKind,
    is_control_plane: bool,
    recorded: Option<Settings>,
) -> Value {
    let used: &[&str] = match unit {
        JobKind::Init => &[CLUSTER, INIT, KUBELET, KUBE_PROXY],
        JobKind::Join if is_control_plane => &[CLUSTER, JOIN, KUBELET],
        JobKind::Join => &[JOIN, KUBELET],
        _ => &[],
    };
    let mut settings = all(spec);
    settings.retain(|name, _| used.contains(&name.as_str()));
    if let Some(mut recorded) = recorded.filter(|_| unit == JobKind::Join) {
        for name in [CLUSTER, KUBELET] {
            if let (true, Some(value)) = (used.contains(&name), recorded.remove(name)) {
                settings.insert(name.to_owned(), value);
            }
        }
    }
    Value::Object(settings)
}

/// In what a node is behind its Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// A sentence for each setting of its static pods.
    pub static_pods: Vec<String>,
    /// The same of its kubelet.
    pub kubelet: Vec<String>,
    /// The same of what a running node keeps.
    pub kept: Vec<String>,
    /// The fields to which it was begun to bring it, and which it may have.
    pub unfinished: Vec<String>,
}

impl Behind {
    /// Whether something is to be done on the node.
    pub fn can_follow(&self) -> bool {
        !self.unfinished.is_empty() || !self.static_pods.is_empty() || !self.kubelet.is_empty()
    }

    /// Whether it was begun to bring it to settings that were set back since to what it has.
    pub fn is_taken_back(&self) -> bool {
        !self.unfinished.is_empty() && self.static_pods.is_empty() && self.kubelet.is_empty()
    }

    /// Whether the kubelet has to start anew.
    pub fn concerns_kubelet(&self) -> bool {
        !self.kubelet.is_empty() || self.unfinished.iter().any(|field| field == KUBELET)
    }

    /// Whether its static pods have to be written anew.
    pub fn concerns_static_pods(&self) -> bool {
        !self.static_pods.is_empty() || self.unfinished.iter().any(|field| field == CLUSTER)
    }

    /// All that differs.
    pub fn sentences(&self) -> Vec<String> {
        let parts = [&self.static_pods, &self.kubelet, &self.kept];
        parts.into_iter().flatten().cloned().collect()
    }
}

/// In what a Machine's node is behind its Cluster; in nothing where it is not known what the node
/// was made with. kube-proxy is no part of a node.
pub fn behind(machine: &Machine, spec: &ClusterProviderSpec) -> Behind {
    let Some(mut recorded) = recorded(machine.annotations()) else {
        return Behind::default();
    };
    let unfinished = unfinished(&mut recorded);
    recorded.remove(KUBE_PROXY);
    forget_removed_gates(&mut recorded, machine);
    let mut wanted = all(spec);
    wanted.retain(|name, _| recorded.contains_key(name));
    // nearly always, and each pass asks
    if recorded == wanted {
        return Behind {
            unfinished,
            ..Behind::default()
        };
    }
    let pods = (
        take_static_pods(&mut recorded),
        take_static_pods(&mut wanted),
    );
    let kubelets = (take(&mut recorded, KUBELET), take(&mut wanted, KUBELET));
    for settings in [&mut recorded, &mut wanted] {
        forget_taints(settings);
    }
    Behind {
        static_pods: between(&pods.0, &pods.1),
        kubelet: between(&kubelets.0, &kubelets.1),
        kept: between(&recorded, &wanted),
        unfinished,
    }
}

/// kubeadm gives a Node its taints when it is made; those of one that runs are the user's.
fn forget_taints(settings: &mut Settings) {
    for document in [INIT, JOIN] {
        let document = settings.get_mut(document).and_then(Value::as_object_mut);
        let Some(document) = document else { continue };
        let node = document.get_mut("nodeRegistration");
        if let Some(node) = node.and_then(Value::as_object_mut) {
            node.remove("taints");
            if node.is_empty() {
                document.remove("nodeRegistration");
            }
        }
    }
}

/// Gates of kubeadm that the version of the Machine does not know mean nothing any more, and have
/// to be taken out of its Cluster.
fn forget_removed_gates(recorded: &mut Settings, machine: &Machine) {
    let version = machine
        .versions()
        .and_then(|all| all.control_plane.as_deref());
    let version = version.and_then(|version| version.parse().ok());
    let cluster = recorded.get_mut(CLUSTER).and_then(Value::as_object_mut);
    let (Some(version), Some(cluster)) = (version, cluster) else {
        return;
    };
    if let Some(gates) = cluster
        .get_mut("featureGates")
        .and_then(Value::as_object_mut)
    {
        gates.retain(|gate, _| !feature_gates::is_removed_from_kubeadm(gate, &version));
        if gates.is_empty() {
            cluster.remove("featureGates");
        }
    }
}

/// The user's part of a document that kubeadm keeps.
pub fn part(settings: &Settings, document: Kept) -> Settings {
    let field = match document {
        Kept::Cluster => CLUSTER,
        Kept::Kubelet => KUBELET,
        Kept::KubeProxy => KUBE_PROXY,
    };
    let part = settings.get(field).and_then(Value::as_object);
    part.cloned().unwrap_or_default()
}

/// Differences that were made under a release that applied none, and how they are applied or
/// undone.
pub fn left(differences: &str, namespace: &str, cluster: &str) -> String {
    format!(
        "{differences}. They were edited under an earlier release of Tatara, which applied none, so they are not applied by themselves. Set them back; or to apply them to all nodes, one after another: {}",
        remedy::cluster::apply_settings(namespace, cluster)
    )
}

/// A sentence for each setting that differs.
pub fn between(old: &Settings, new: &Settings) -> Vec<String> {
    kubeadm::difference(&Value::Object(old.clone()), &Value::Object(new.clone()))
}

/// Takes out the fields to which the node is being brought.
fn unfinished(recorded: &mut Settings) -> Vec<String> {
    let fields = recorded.remove(APPLYING);
    fields
        .and_then(|fields| serde_json::from_value(fields).ok())
        .unwrap_or_default()
}

/// Takes one of the settings out.
fn take(settings: &mut Settings, name: &str) -> Settings {
    settings.remove_entry(name).into_iter().collect()
}

/// Takes out what `kubeadm upgrade node` carries into static pods.
fn take_static_pods(settings: &mut Settings) -> Settings {
    let Some(cluster) = settings.get_mut(CLUSTER).and_then(Value::as_object_mut) else {
        return Settings::new();
    };
    let mut taken = Value::Object(Settings::new());
    for name in STATIC_PODS {
        if let Some(part) = cluster.remove(name) {
            taken[name] = part;
        }
    }
    for path in IN_CERTIFICATES {
        if let Some(names) = take_at(&mut taken, path) {
            let part = path
                .iter()
                .rev()
                .fold(names, |part, field| json!({ *field: part }));
            if let Value::Object(part) = part {
                *cluster = into_map(kubeadm::merge(Value::Object(cluster.clone()), &part));
            }
        }
    }
    prune(&mut taken);
    Settings::from_iter([(CLUSTER.to_owned(), taken)])
}

fn take_at(value: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut parent = value;
    for field in parents {
        parent = parent.get_mut(*field)?;
    }
    parent.as_object_mut()?.remove(*last)
}

/// A part without settings is as one that is not there.
fn prune(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(prune);
        fields.retain(|_, field| field.as_object().is_none_or(|part| !part.is_empty()));
    }
}

fn into_map(value: Value) -> Settings {
    match value {
        Value::Object(map) => map,
        _ => Settings::new(),
    }
}

/// What stands for these settings, as far as a node follows them: its kubelet, and of a control
/// plane the static pods.
pub fn digest(settings: &Settings, with_static_pods: bool) -> String {
    let mut settings = settings.clone();
    let mut parts = take(&mut settings, KUBELET);
    if with_static_pods {
        parts.extend(take_static_pods(&mut settings));
    }
    digest_of(&parts)
}

/// What stands for these settings.
pub fn digest_of(settings: &Settings) -> String {
    let text = Value::Object(settings.clone()).to_string();
    letters(&Sha256::digest(text.as_bytes()), 12)
}

/// The record of a Machine whose node is being brought to the settings of its Cluster. `None` if
/// there is none to follow.
pub fn begun(machine: &Machine, spec: &ClusterProviderSpec) -> Option<String> {
    let mut recorded = recorded(machine.annotations())?;
    let behind = behind(machine, spec);
    let mut fields = unfinished(&mut recorded);
    let parts = [(CLUSTER, &behind.static_pods), (KUBELET, &behind.kubelet)];
    for (field, differences) in parts {
        if !differences.is_empty() && !fields.iter().any(|one| one == field) {
            fields.push(field.into());
        }
    }
    recorded.insert(APPLYING.into(), json!(fields));
    Some(Value::Object(recorded).to_string())
}

/// The record of a Machine whose node has followed the settings of its Cluster. `None` if there is
/// none to follow.
pub fn followed(machine: &Machine, spec: &ClusterProviderSpec) -> Option<String> {
    let mut recorded = recorded(machine.annotations())?;
    recorded.remove(APPLYING);
    let mut wanted = all(spec);
    if let Some(kubelet) = recorded.get_mut(KUBELET) {
        *kubelet = wanted.remove(KUBELET).unwrap_or_default();
    }
    if recorded.contains_key(CLUSTER) {
        take_static_pods(&mut recorded);
        let mut pods = take_static_pods(&mut wanted);
        let pods = into_map(pods.remove(CLUSTER).unwrap_or_default());
        if let Some(kept) = recorded.get_mut(CLUSTER) {
            *kept = kubeadm::merge(kept.take(), &pods);
        }
    }
    Some(Value::Object(recorded).to_string())
}

/// Whether the node of a Machine is being brought to other settings.
pub fn is_unfinished(machine: &Machine) -> bool {
    recorded(machine.annotations()).is_some_and(|recorded| recorded.contains_key(APPLYING))
}

/// What is recorded on an object; `None` if that is nothing, or unreadable.
pub fn recorded(annotations: &BTreeMap<String, String>) -> Option<Settings> {
    let text = annotations.get(ANNOTATION_SETTINGS)?;
    serde_json::from_str(text).ok().map(without_version)
}
