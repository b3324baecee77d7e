//! The fields of kubeadm's documents (v1beta4) that other fields determine, and which.

use serde_json::Value;

/// A field that a user may repeat but not change.
pub(super) struct Rule {
    /// Path in the document; `extraArgs[name]` is the value of that argument.
    pub path: &'static str,
    /// What to do instead.
    pub remedy: &'static str,
    /// Its value may be a secret and is not repeated.
    pub secret: bool,
    /// It differs from machine to machine, so it can only be judged for one.
    pub per_machine: bool,
    /// Whether the user's value says the same as ours.
    pub same: fn(Option<&Value>, &Value) -> bool,
}

impl Rule {
    const fn new(path: &'static str, remedy: &'static str) -> Self {
        Self {
            path,
            remedy,
            secret: false,
            per_machine: false,
            same: equal,
        }
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn per_machine(mut self) -> Self {
        self.per_machine = true;
        self
    }

    const fn judged_by(mut self, same: fn(Option<&Value>, &Value) -> bool) -> Self {
        self.same = same;
        self
    }
}

const VERSION: &str =
    "Tatara writes kubeadm.k8s.io/v1beta4: remove the field, and write the part as v1beta4 has it";
const KIND: &str = "remove the field: the field that holds this object already determines its kind";
const PODS: &str = "set spec.clusterNetwork.pods.cidrBlocks instead";
const SERVICES: &str = "set spec.clusterNetwork.services.cidrBlocks instead";
const DOMAIN: &str = "set spec.clusterNetwork.serviceDomain instead";
const ENDPOINT: &str = "set spec.providerSpec.value.controlPlaneEndpoint instead";
const NAME: &str = "the Cluster's metadata.name is used: remove the field";
const RELEASE: &str = "set spec.versions.controlPlane of the control-plane Machines instead";
const NODE_NAME: &str = "set spec.metadata.name of the Machine instead";
const PROVIDER_ID: &str =
    "Tatara finds a machine's Node by its provider ID and sets it itself: remove the field";
const ADDRESS: &str = "the address of the machine's Host is used: remove the field";
const LABELS: &str = "set spec.metadata.labels of the Machine instead";
const TAINTS: &str = "set spec.taints of the Machine instead";
const SOCKET: &str = "Tatara prepares containerd at this socket: remove the field";
const CERTIFICATES: &str =
    "Tatara writes the certificate authorities to kubeadm's default folder: remove the field";
const TOKENS: &str = "Tatara creates one short-lived token for each machine: remove the field";
const ETCD_DATA: &str = "set etcd.local.dataDir instead, or mount a disk at /var/lib/etcd";
const KUBELET_FOLDER: &str = "the kubelet keeps its files in /var/lib/kubelet: remove the argument; mount a disk there, or bind-mount a folder of one";
const KUBELET_FILE: &str = "kubeadm determines the path of this file: remove the argument";
const POD_LOGS: &str = "the logs of pods are in /var/log/pods: remove the field; mount a disk there, or bind-mount a folder of one";
const DRY_RUN: &str = "a dry run creates no node: remove the field";

const DRY_RUN_OF_UPGRADE: &str = "a dry run updates no node: remove the field";

/// `ClusterConfiguration`.
pub(super) const CLUSTER: &[Rule] = &[
    Rule::new("apiVersion", VERSION),
    Rule::new("kind", KIND),
    Rule::new("clusterName", NAME),
    Rule::new("kubernetesVersion", RELEASE).judged_by(same_release),
    Rule::new("controlPlaneEndpoint", ENDPOINT),
    Rule::new("networking.podSubnet", PODS),
    Rule::new("networking.serviceSubnet", SERVICES),
    Rule::new("networking.dnsDomain", DOMAIN),
    Rule::new("certificatesDir", CERTIFICATES),
    Rule::new(
        "etcd.external",
        "etcd runs on the control-plane machines: remove the field",
    ),
    Rule::new(
        "etcd.local.dataDir",
        "write an absolute path, without spaces",
    )
    .judged_by(is_folder),
    Rule::new("etcd.local.extraArgs[data-dir]", ETCD_DATA),
    Rule::new("etcd.local.extraArgs[wal-dir]", ETCD_DATA),
    Rule::new("apiServer.extraArgs[advertise-address]", ADDRESS),
    Rule::new("apiServer.extraArgs[secure-port]", ENDPOINT),
    Rule::new("apiServer.extraArgs[service-cluster-ip-range]", SERVICES),
    Rule::new("controllerManager.extraArgs[cluster-cidr]", PODS),
    Rule::new("controllerManager.extraArgs[cluster-name]", NAME),
    Rule::new(
        "controllerManager.extraArgs[service-cluster-ip-range]",
        SERVICES,
    ),
];

/// `nodeRegistration`, the same for init and join.
pub(super) const NODE: &[Rule] = &[
    Rule::new("nodeRegistration.name", NODE_NAME).per_machine(),
    Rule::new("nodeRegistration.criSocket", SOCKET).per_machine(),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[provider-id]",
        PROVIDER_ID,
    )
    .per_machine(),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[hostname-override]",
        NODE_NAME,
    )
    .per_machine(),
    Rule::new("nodeRegistration.kubeletExtraArgs[node-labels]", LABELS).per_machine(),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[register-with-taints]",
        TAINTS,
    ),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[container-runtime-endpoint]",
        SOCKET,
    ),
    // What is elsewhere would have to be found by the reset, among what may be the user's own.
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[root-dir]",
        KUBELET_FOLDER,
    ),
    Rule::new("nodeRegistration.kubeletExtraArgs[cert-dir]", KUBELET_FILE),
    Rule::new("nodeRegistration.kubeletExtraArgs[config]", KUBELET_FILE),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[kubeconfig]",
        KUBELET_FILE,
    ),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[bootstrap-kubeconfig]",
        KUBELET_FILE,
    ),
    Rule::new(
        "nodeRegistration.kubeletExtraArgs[pod-manifest-path]",
        KUBELET_FILE,
    ),
];

/// `InitConfiguration`, beside [`NODE`].
pub(super) const INIT: &[Rule] = &[
    Rule::new("apiVersion", VERSION),
    Rule::new("kind", KIND),
    Rule::new("bootstrapTokens", TOKENS).secret(),
    Rule::new(
        "certificateKey",
        "Tatara distributes the certificate authorities itself: remove the field",
    )
    .secret(),
    Rule::new("dryRun", DRY_RUN).judged_by(is_false),
    Rule::new("localAPIEndpoint.advertiseAddress", ADDRESS).per_machine(),
    Rule::new("localAPIEndpoint.bindPort", ENDPOINT).per_machine(),
    Rule::new(
        "skipPhases",
        "machines that join later need the phases bootstrap-token, upload-config and mark-control-plane: remove them from the list",
    )
    .judged_by(keeps_what_joins_need),
];

/// `JoinConfiguration`, beside [`NODE`].
pub(super) const JOIN: &[Rule] = &[
    Rule::new("apiVersion", VERSION),
    Rule::new("kind", KIND),
    Rule::new("discovery", TOKENS).secret().per_machine(),
    Rule::new("caCertPath", CERTIFICATES),
    Rule::new(
        "controlPlane",
        "spec.versions.controlPlane of a Machine says whether it is one: remove the field",
    )
    .secret(),
    Rule::new("dryRun", DRY_RUN).judged_by(is_false),
];

/// `UpgradeConfiguration`.
pub(super) const UPGRADE: &[Rule] = &[
    Rule::new("apiVersion", VERSION),
    Rule::new("kind", KIND),
    Rule::new("apply.kubernetesVersion", RELEASE),
    Rule::new("apply.dryRun", DRY_RUN_OF_UPGRADE).judged_by(is_false),
    Rule::new("node.dryRun", DRY_RUN_OF_UPGRADE).judged_by(is_false),
];

/// `KubeletConfiguration`.
pub(super) const KUBELET: &[Rule] = &[
    Rule::new(
        "apiVersion",
        "Tatara writes kubelet.config.k8s.io/v1beta1: remove the field",
    ),
    Rule::new("kind", KIND),
    Rule::new("clusterDomain", DOMAIN),
    Rule::new(
        "clusterDNS",
        "it follows from spec.clusterNetwork.services.cidrBlocks: remove the field",
    ),
    Rule::new("providerID", PROVIDER_ID),
    Rule::new("containerRuntimeEndpoint", SOCKET),
    Rule::new("registerWithTaints", TAINTS),
    Rule::new(
        "registerNode",
        "Tatara waits for the Node of each machine: remove the field",
    )
    .judged_by(is_true),
    Rule::new(
        "staticPodPath",
        "kubeadm puts the control plane there: remove the field",
    ),
    Rule::new("podLogsDir", POD_LOGS).judged_by(|_, user| user == "/var/log/pods"),
    Rule::new("authentication.x509.clientCAFile", CERTIFICATES),
];

/// `KubeProxyConfiguration`.
pub(super) const KUBE_PROXY: &[Rule] = &[
    Rule::new(
        "apiVersion",
        "Tatara writes kubeproxy.config.k8s.io/v1alpha1: remove the field",
    ),
    Rule::new("kind", KIND),
    Rule::new("clusterCIDR", PODS),
];

/// A path from the root on, other than the root itself.
fn is_folder(_: Option<&Value>, user: &Value) -> bool {
    user.as_str().is_some_and(|path| {
        path.starts_with('/')
            && !path.trim_end_matches('/').is_empty()
            && !path.contains(char::is_whitespace)
    })
}

fn equal(ours: Option<&Value>, user: &Value) -> bool {
    ours == Some(user)
}

fn is_false(_: Option<&Value>, user: &Value) -> bool {
    user == &Value::Bool(false)
}

fn is_true(_: Option<&Value>, user: &Value) -> bool {
    user == &Value::Bool(true)
}

/// `1.36.3` and `v1.36.3` are one release.
fn same_release(ours: Option<&Value>, user: &Value) -> bool {
    let bare = |value: &Value| {
        value
            .as_str()
            .map(|text| text.trim_start_matches('v').to_owned())
    };
    ours.and_then(bare)
        .is_some_and(|own| bare(user) == Some(own))
}

/// A phase of init that is skipped is one that later machines do not need.
fn keeps_what_joins_need(_: Option<&Value>, user: &Value) -> bool {
    const NEEDED: [&str; 3] = ["bootstrap-token", "upload-config", "mark-control-plane"];
    let phases = user.as_array().into_iter().flatten();
    phases
        .filter_map(Value::as_str)
        .all(|phase| !NEEDED.contains(&phase.split('/').next().unwrap_or_default()))
}
