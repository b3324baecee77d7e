//! The configuration that `kubeadm init` and `kubeadm join` read: our documents, with the parts
//! that the user gives in a `ClusterProviderSpec` merged over them.

use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::contradiction::{Contradiction, Part};
use super::documents;
use super::input::{ClusterInput, Discovery, LocalApi, NodeInput};
use super::merge::merge;
use super::rules::{self, Rule};
use super::version::KubernetesVersion;
use crate::api::ClusterProviderSpec;

/// The documents that belong to a cluster and not to a machine. Serialized, they are the record
/// that [`super::difference`] compares with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDocuments {
    /// `ClusterConfiguration`.
    pub cluster_configuration: Value,
    /// `KubeletConfiguration`.
    pub kubelet_configuration: Value,
    /// `KubeProxyConfiguration`.
    pub kube_proxy_configuration: Value,
}

/// Why a configuration could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The user's parts set fields whose values other fields determine; all such fields.
    #[error("{}", sentences(.0))]
    Contradictions(Vec<Contradiction>),
    /// The first Service network has no tenth address, which kubeadm uses for DNS.
    #[error(
        "spec.clusterNetwork.services.cidrBlocks[0] is {value:?}; it must be a network of at least 16 addresses, such as 10.96.0.0/16"
    )]
    ServiceNetwork {
        /// Its value.
        value: String,
    },
    /// The documents could not be written as YAML.
    #[error("failed to write the kubeadm configuration as YAML")]
    Yaml(#[source] serde_saphyr::SerializeError),
}

fn sentences(all: &[Contradiction]) -> String {
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Validates the user's parts as far as that needs no machine, so that the Cluster can report what
/// is wrong before a host is touched.
///
/// # Errors
/// [`ConfigError`]: all fields that contradict Tatara's, or a Service network without room for DNS.
pub fn check(cluster: &ClusterInput, user: &ClusterProviderSpec) -> Result<(), ConfigError> {
    let ours = documents::of_cluster(cluster)?;
    let (init, join) = (documents::init_anywhere(), documents::join_anywhere());
    let mut parts = cluster_parts(&ours, user);
    parts.push(init_part(&init, user, false));
    parts.push(join_part(&join, user, false));
    let upgrade = documents::upgrade(&Map::new());
    parts.push(upgrade_part(&upgrade, user));
    refuse_contradictions(&parts)
}

/// The documents of the cluster: Tatara's, with the user's parts merged over them.
///
/// # Errors
/// [`ConfigError`]: all fields that contradict Tatara's, or a Service network without room for DNS.
pub fn cluster_documents(
    cluster: &ClusterInput,
    user: &ClusterProviderSpec,
) -> Result<ClusterDocuments, ConfigError> {
    let ours = documents::of_cluster(cluster)?;
    refuse_contradictions(&cluster_parts(&ours, user))?;
    Ok(ours.with(user))
}

/// The YAML stream for `kubeadm init --config`. It holds no secret. Run it with
/// `--skip-token-print`.
///
/// # Errors
/// [`ConfigError`]: all fields that contradict Tatara's, a Service network without room for DNS, or a failure to write YAML.
pub fn init(
    cluster: &ClusterInput,
    node: &NodeInput,
    api: &LocalApi,
    user: &ClusterProviderSpec,
) -> Result<String, ConfigError> {
    let ours = documents::of_cluster(cluster)?;
    let init = documents::init(node, api);
    let mut parts = cluster_parts(&ours, user);
    parts.push(init_part(&init, user, true));
    refuse_contradictions(&parts)?;
    let init = merge(init, &user.kubeadm.init_configuration);
    let of_cluster = ours.with(user);
    yaml(&[
        init,
        of_cluster.cluster_configuration,
        of_cluster.kubelet_configuration,
        of_cluster.kube_proxy_configuration,
    ])
}

/// The YAML document for `kubeadm join --config`, of a control plane if there is an `api`. It holds
/// the token. The settings of the control plane, kubelet and kube-proxy come from the cluster.
///
/// # Errors
/// [`ConfigError`]: all fields that contradict Tatara's, or a failure to write YAML.
pub fn join(
    node: &NodeInput,
    discovery: &Discovery,
    api: Option<&LocalApi>,
    user: &ClusterProviderSpec,
) -> Result<SecretString, ConfigError> {
    let join = documents::join(node, discovery, api);
    refuse_contradictions(&[join_part(&join, user, true)])?;
    yaml(&[merge(join, &user.kubeadm.join_configuration)]).map(SecretString::from)
}

/// The YAML document for `kubeadm upgrade --config` to this version, of a machine that ran `kubeadm
/// init`, or else joined. It holds no secret.
///
/// # Errors
/// [`ConfigError`]: all fields that contradict Tatara's, or a failure to write YAML.
pub fn upgrade(
    user: &ClusterProviderSpec,
    version: &KubernetesVersion,
    ran_init: bool,
) -> Result<String, ConfigError> {
    let made_with = if ran_init {
        &user.kubeadm.init_configuration
    } else {
        &user.kubeadm.join_configuration
    };
    let upgrade = documents::upgrade(made_with);
    refuse_contradictions(&[upgrade_part(&upgrade, user)])?;
    let mut upgrade = merge(upgrade, &user.kubeadm.upgrade_configuration);
    if version.minor() >= ADDON_PHASES {
        for part in ["apply", "node"] {
            keep_out_addons(&mut upgrade, part, user);
        }
    }
    yaml(&[upgrade])
}

/// An addon that init did not install is not installed by an upgrade.
fn keep_out_addons(upgrade: &mut Value, part: &str, user: &ClusterProviderSpec) {
    let mut skipped = phases(upgrade.get(part));
    let of_init = user.kubeadm.init_configuration.get(SKIP_PHASES);
    let addons = strings(of_init).filter(|phase| is_addon(phase));
    let new: Vec<_> = addons.filter(|phase| !skipped.contains(phase)).collect();
    let part = upgrade.get_mut(part).and_then(Value::as_object_mut);
    if let Some(part) = part.filter(|_| !new.is_empty()) {
        skipped.extend(new);
        part.insert(SKIP_PHASES.into(), json!(skipped));
    }
}

/// The minor version of kubeadm since which `upgrade` has phases for the addons.
const ADDON_PHASES: u64 = 32;
const SKIP_PHASES: &str = "skipPhases";
const ADDON: &str = "addon";

/// kubeadm's addons that a cluster has from kubeadm, as its phases call them.
pub fn addons(user: &ClusterProviderSpec) -> Vec<&'static str> {
    let of_init = strings(user.kubeadm.init_configuration.get(SKIP_PHASES));
    let of_node = phases(user.kubeadm.upgrade_configuration.get("node"));
    let skipped: Vec<String> = of_init.chain(of_node).collect();
    let is_skipped = |name: &str| {
        let phase = format!("{ADDON}/{name}");
        let all = [ADDON, "addon/all"];
        skipped
            .iter()
            .any(|skipped| *skipped == phase || all.contains(&skipped.as_str()))
    };
    ["coredns", "kube-proxy"]
        .into_iter()
        .filter(|name| !is_skipped(name))
        .collect()
}

fn is_addon(phase: &str) -> bool {
    phase.split('/').next() == Some(ADDON)
}

fn phases(part: Option<&Value>) -> Vec<String> {
    strings(part.and_then(|part| part.get(SKIP_PHASES))).collect()
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|item| item.as_str().map(str::to_owned))
}

impl ClusterDocuments {
    fn with(self, user: &ClusterProviderSpec) -> Self {
        Self {
            cluster_configuration: merge(
                self.cluster_configuration,
                &user.kubeadm.cluster_configuration,
            ),
            kubelet_configuration: merge(self.kubelet_configuration, &user.kubelet_configuration),
            kube_proxy_configuration: merge(
                self.kube_proxy_configuration,
                &user.kube_proxy_configuration,
            ),
        }
    }
}

fn cluster_parts<'a>(ours: &'a ClusterDocuments, user: &'a ClusterProviderSpec) -> Vec<Part<'a>> {
    let part = |path, user: &'a Map<String, Value>, ours, rules: &'static [&'static [Rule]]| Part {
        path,
        user,
        ours,
        rules,
        of_machine: false,
    };
    vec![
        part(
            "spec.providerSpec.value.kubeadm.clusterConfiguration",
            &user.kubeadm.cluster_configuration,
            &ours.cluster_configuration,
            &[rules::CLUSTER],
        ),
        part(
            "spec.providerSpec.value.kubeletConfiguration",
            &user.kubelet_configuration,
            &ours.kubelet_configuration,
            &[rules::KUBELET],
        ),
        part(
            "spec.providerSpec.value.kubeProxyConfiguration",
            &user.kube_proxy_configuration,
            &ours.kube_proxy_configuration,
            &[rules::KUBE_PROXY],
        ),
    ]
}

fn init_part<'a>(ours: &'a Value, user: &'a ClusterProviderSpec, of_machine: bool) -> Part<'a> {
    Part {
        path: "spec.providerSpec.value.kubeadm.initConfiguration",
        user: &user.kubeadm.init_configuration,
        ours,
        rules: &[rules::INIT, rules::NODE],
        of_machine,
    }
}

fn join_part<'a>(ours: &'a Value, user: &'a ClusterProviderSpec, of_machine: bool) -> Part<'a> {
    Part {
        path: "spec.providerSpec.value.kubeadm.joinConfiguration",
        user: &user.kubeadm.join_configuration,
        ours,
        rules: &[rules::JOIN, rules::NODE],
        of_machine,
    }
}

fn upgrade_part<'a>(ours: &'a Value, user: &'a ClusterProviderSpec) -> Part<'a> {
    Part {
        path: "spec.providerSpec.value.kubeadm.upgradeConfiguration",
        user: &user.kubeadm.upgrade_configuration,
        ours,
        rules: &[rules::UPGRADE],
        of_machine: false,
    }
}

fn refuse_contradictions(parts: &[Part<'_>]) -> Result<(), ConfigError> {
    let found: Vec<_> = parts.iter().flat_map(Part::contradictions).collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(ConfigError::Contradictions(found))
    }
}

fn yaml(documents: &[Value]) -> Result<String, ConfigError> {
    serde_saphyr::to_string_multiple(documents).map_err(ConfigError::Yaml)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
