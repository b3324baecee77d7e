//! Feature gates, and arguments of etcd, that a version of Kubernetes no longer knows: a component
//! that is given one does not start. Found before anything changes on a host, for kubeadm waits
//! five minutes for a component that ends again and again, and after an etcd that did not start it
//! puts back a copy of its data.

use serde_json::{Map, Value};

use super::KubernetesVersion;

/// Gates of the components and the kubelet, which share most of them, by the minor version that is
/// the first without: what `pkg/features` of k8s.io/kubernetes, and the features of
/// k8s.io/apiserver, apiextensions-apiserver, controller-manager, component-base, client-go and
/// kube-aggregator, had in the minor version before.
const REMOVED: [(u64, &[&str]); 7] = [
    (
        31,
        &[
            "APIPriorityAndFairness",
            "CSIMigrationRBD",
            "CSINodeExpandSecret",
            "ConsistentHTTPGetHandlers",
            "CustomResourceValidationExpressions",
            "DefaultHostNetworkHostPortsInPodTemplates",
            "InTreePluginAWSUnregister",
            "InTreePluginAzureDiskUnregister",
            "InTreePluginAzureFileUnregister",
            "InTreePluginGCEUnregister",
            "InTreePluginOpenStackUnregister",
            "InTreePluginRBDUnregister",
            "InTreePluginvSphereUnregister",
            "JobReadyPods",
            "ReadWriteOncePod",
            "ServiceNodePortStaticSubrange",
            "SkipReadOnlyValidationGCE",
        ],
    ),
    (
        32,
        &[
            "CloudDualStackNodeIPs",
            "DRAControlPlaneController",
            "HPAContainerMetrics",
            "KMSv2",
            "KMSv2KDF",
            "LegacyServiceAccountTokenCleanUp",
            "MinDomainsInPodTopologySpread",
            "NewVolumeManagerReconstruction",
            "NodeOutOfServiceVolumeDetach",
            "PodHostIPs",
            "ServerSideApply",
            "ServerSideFieldValidation",
            "StableLoadBalancerNodeSet",
            "ValidatingAdmissionPolicy",
            "ZeroLimitedNominalConcurrencyShares",
        ],
    ),
    (
        33,
        &[
            "APIListChunking",
            "AdmissionWebhookMatchConditions",
            "AggregatedDiscoveryEndpoint",
            "AppArmor",
            "AppArmorFields",
            "CPUManager",
            "DisableCloudProviders",
            "DisableKubeletCloudCredentialProviders",
            "EfficientWatchResumption",
            "JobPodFailurePolicy",
            "KubeProxyDrainingTerminatingNodes",
            "PDBUnhealthyPodEvictionPolicy",
            "PersistentVolumeLastPhaseTransitionTime",
            "RemainingItemCount",
            "VolumeCapacityPriority",
            "WatchBookmark",
        ],
    ),
    (
        34,
        &[
            "DevicePluginCDIDevices",
            "ElasticIndexedJob",
            "LegacySidecarContainers",
            "PodDisruptionConditions",
            "StatefulSetStartOrdinal",
        ],
    ),
    (
        35,
        &[
            "AllowServiceLBStatusOnNonLB",
            "ComponentSLIs",
            "CronJobsScheduledAnnotation",
            "LoadBalancerIPMode",
            "PodIndexLabel",
            "ProbeHostPodSecurityStandards",
            "SizeMemoryBackedVolumes",
            "StatefulSetAutoDeletePVC",
            "StrictCostEnforcementForVAP",
            "StrictCostEnforcementForWebhooks",
            "UserNamespacesPodSecurityStandards",
        ],
    ),
    (
        36,
        &[
            "CSIMigrationPortworx",
            "HonorPVReclaimPolicy",
            "InPlacePodVerticalScalingAllocatedStatus",
            "InTreePluginPortworxUnregister",
            "MemoryManager",
            "ServiceTrafficDistribution",
            "StructuredAuthorizationConfiguration",
            "TopologyAwareHints",
            "WatchFromStorageWithoutResourceVersion",
        ],
    ),
    (
        37,
        &[
            "APIServerTracing",
            "AnonymousAuthConfigurableEndpoints",
            "AnyVolumeDataSource",
            "AuthorizeNodeWithSelectors",
            "AuthorizeWithSelectors",
            "BtreeWatchCache",
            "ConsistentListFromCache",
            "GangScheduling",
            "JobBackoffLimitPerIndex",
            "JobPodReplacementPolicy",
            "JobSuccessPolicy",
            "LogarithmicScaleDown",
            "OrderedNamespaceDeletion",
            "PodLifecycleSleepAction",
            "PodLifecycleSleepActionAllowZero",
            "PreventStaticPodAPIReferences",
            "RelaxedDNSSearchValidation",
            "ResilientWatchCacheInitialization",
            "RetryGenerateName",
            "SchedulerQueueingHints",
            "SidecarContainers",
            "StreamingCollectionEncodingToJSON",
            "StreamingCollectionEncodingToProtobuf",
            "StructuredAuthenticationConfiguration",
            "WorkloadAwarePreemption",
        ],
    ),
];

/// Gates of kubeadm itself (`cmd/kubeadm/app/features`), the same way.
const REMOVED_OF_KUBEADM: [(u64, &[&str]); 5] = [
    (31, &["UpgradeAddonsBeforeControlPlane"]),
    (33, &["EtcdLearnerMode"]),
    (35, &["WaitForAllControlPlaneComponents"]),
    (36, &["ControlPlaneKubeletLocalMode"]),
    (37, &["NodeLocalCRISocket", "PublicKeysECDSA"]),
];

/// The first minor version whose kubeadm brings an etcd (3.7) without arguments `experimental-…`
/// (`server/embed/config.go` of etcd).
const ETCD_WITHOUT_EXPERIMENTAL: u64 = 37;

/// A gate, or an argument, that a version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGate {
    /// It is an argument of etcd.
    pub is_of_etcd: bool,
    /// Its name.
    pub gate: String,
    /// Where it is set, below its configuration: `apiServer.extraArgs`.
    pub field: &'static str,
    /// The first minor version without it.
    pub removed_in: u64,
}

impl UnknownGate {
    /// That this version does not know it.
    pub fn sentence(&self, version: &KubernetesVersion) -> String {
        let gate = &self.gate;
        if self.is_of_etcd {
            format!("etcd 3.7, which Kubernetes {version} brings, does not start with {gate}")
        } else {
            let removed_in = self.removed_in;
            format!(
                "Kubernetes {version} does not know feature gate {gate}, which v1.{removed_in} removed: a component that is given it does not start"
            )
        }
    }

    /// What to do about it, in this configuration of a Cluster.
    pub fn remedy(&self, configuration: &str, cluster: &str) -> String {
        let field = format!(
            "{configuration}.{} in spec.providerSpec.value of Cluster {cluster}",
            self.field
        );
        match self.gate.strip_prefix("experimental-") {
            Some(name) if self.is_of_etcd => format!(
                "Replace it in {field}: by {name}, or where etcd made that a feature gate, by feature-gates (https://etcd.io/docs/v3.6/op-guide/configuration/)"
            ),
            _ => format!("Remove it from {field}"),
        }
    }
}

/// The first gate, or argument of etcd, of a `ClusterConfiguration` that a control plane of this
/// version does not know.
pub fn of_control_plane(
    configuration: &Map<String, Value>,
    version: &KubernetesVersion,
) -> Option<UnknownGate> {
    let parts = [
        ("apiServer", "apiServer.extraArgs"),
        ("controllerManager", "controllerManager.extraArgs"),
        ("scheduler", "scheduler.extraArgs"),
    ];
    let arguments = parts.into_iter().find_map(|(part, field)| {
        let arguments = configuration.get(part)?.get("extraArgs")?.as_array()?;
        let gates = arguments.iter().filter_map(gates_of_argument).flatten();
        unknown(gates, field, version, &REMOVED)
    });
    let of_kubeadm = || {
        let gates = configuration.get("featureGates")?.as_object()?;
        let gates = gates.keys().map(String::as_str);
        unknown(gates, "featureGates", version, &REMOVED_OF_KUBEADM)
    };
    arguments
        .or_else(of_kubeadm)
        .or_else(|| of_etcd(configuration, version))
}

/// The first argument that kubeadm's etcd does not know; which of them an image of the user's
/// choice knows is not known here.
fn of_etcd(configuration: &Map<String, Value>, version: &KubernetesVersion) -> Option<UnknownGate> {
    let local = configuration.get("etcd")?.get("local")?;
    if version.minor() < ETCD_WITHOUT_EXPERIMENTAL || local.get("imageTag").is_some() {
        return None;
    }
    let arguments = local.get("extraArgs")?.as_array()?;
    let mut names = arguments.iter().filter_map(|one| one.get("name")?.as_str());
    Some(UnknownGate {
        is_of_etcd: true,
        gate: names
            .find(|name| name.starts_with("experimental-"))?
            .to_owned(),
        field: "etcd.local.extraArgs",
        removed_in: ETCD_WITHOUT_EXPERIMENTAL,
    })
}

/// The first gate of a `KubeletConfiguration` or `KubeProxyConfiguration` that this version does
/// not know.
pub fn of_component(
    configuration: &Map<String, Value>,
    version: &KubernetesVersion,
) -> Option<UnknownGate> {
    let gates = configuration.get("featureGates")?.as_object()?;
    let gates = gates.keys().map(String::as_str);
    unknown(gates, "featureGates", version, &REMOVED)
}

/// Whether this version of kubeadm does not know this gate of kubeadm any more.
pub fn is_removed_from_kubeadm(gate: &str, version: &KubernetesVersion) -> bool {
    unknown(std::iter::once(gate), "", version, &REMOVED_OF_KUBEADM).is_some()
}

/// Names in the value of an argument `feature-gates`: `A=true,B=false`.
fn gates_of_argument(argument: &Value) -> Option<impl Iterator<Item = &str>> {
    let is_gates = argument.get("name")?.as_str()? == "feature-gates";
    let value = argument.get("value")?.as_str().filter(|_| is_gates)?;
    let names = value.split(',').map(|gate| gate.split('=').next());
    Some(names.map(|name| name.unwrap_or_default().trim()))
}

fn unknown<'a>(
    mut gates: impl Iterator<Item = &'a str>,
    field: &'static str,
    version: &KubernetesVersion,
    removed: &[(u64, &[&str])],
) -> Option<UnknownGate> {
    let known_no_more = |gate: &str| {
        let mut minors = removed
            .iter()
            .filter(|(minor, _)| *minor <= version.minor());
        let (minor, _) = minors.find(|(_, gates)| gates.contains(&gate))?;
        Some(*minor)
    };
    gates.find_map(|gate| {
        Some(UnknownGate {
            is_of_etcd: false,
            gate: gate.to_owned(),
            field,
            removed_in: known_no_more(gate)?,
        })
    })
}

#[cfg(test)]
#[path = "feature_gates_tests.rs"]
mod tests;
