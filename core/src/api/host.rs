//! Host: an existing server, reached over SSH.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bmc::{BmcAccess, BmcStatus};
use super::installation::{Installation, RootDeviceHints, WipePolicy};

/// An existing server. Machines claim Hosts; `hostSelector` of a Machine matches the labels of the Host.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "tatara.dev",
    version = "v1alpha1",
    kind = "Host",
    namespaced,
    status = "HostStatus",
    shortname = "ho",
    category = "cluster-api",
    derive = "PartialEq",
    selectable = ".spec.ssh.address",
    selectable = ".spec.consumerRef.name",
    selectable = ".status.state",
    printcolumn = r#"{"name":"Address","type":"string","jsonPath":".spec.ssh.address"}"#,
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Consumer","type":"string","jsonPath":".spec.consumerRef.name"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"OS","type":"string","priority":1,"jsonPath":".status.facts.os"}"#,
    printcolumn = r#"{"name":"CPUs","type":"integer","priority":1,"jsonPath":".status.facts.cpus"}"#,
    printcolumn = r#"{"name":"Power","type":"string","priority":1,"jsonPath":".status.bmc.powerState"}"#,
    printcolumn = r#"{"name":"Message","type":"string","priority":1,"jsonPath":".status.message"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.consumerRef) || !has(self.consumerRef) || (self.consumerRef.uid == oldSelf.consumerRef.uid && self.consumerRef.name == oldSelf.consumerRef.name)"
).message(Message::Expression("'consumerRef is the claim of Machine ' + oldSelf.consumerRef.name + ' and cannot pass to another. Keep it; only if that Machine itself is no longer wanted, delete it: its pods are evicted and its host is reset'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.consumerRef) || has(self.consumerRef) || oldSelf.consumerRef.releasing"
).message(Message::Expression("'consumerRef cannot be removed while Machine ' + oldSelf.consumerRef.name + ' holds the host. Keep it; only if that Machine itself is no longer wanted, delete it: its pods are evicted and its host is reset. If it does not exist any more, status.message of the Host says what runs on the server, and how it is reset'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.consumerRef) || !has(self.consumerRef) || !oldSelf.consumerRef.releasing || self.consumerRef.releasing"
).message(Message::Expression("'consumerRef.releasing: true of Machine ' + oldSelf.consumerRef.name + ' cannot be unset, because the host may be half reset; wait until it is free'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new("(has(self.ssh.hostKeys) && size(self.ssh.hostKeys) > 0) || self.ssh.trustOnFirstUse || has(self.installation)")
    .message("hostKeys is empty: pin the host's public keys (print them with ssh-keyscan, compare them on the host's console); or set trustOnFirstUse: true, which pins the key that answers first; or set spec.installation, which generates a key and pins it")
    .field_path(".ssh"))]
#[x_kube(validation = Rule::new("self.wipePolicy != 'reinstall' || has(self.installation)")
    .message("wipePolicy is reinstall and installation is not set; set installation.iso to the installer, or wipePolicy: reset")
    .field_path(".wipePolicy"))]
#[x_kube(validation = Rule::new("!has(self.installation) || has(self.bmc)")
    .message("installation needs a virtual CD drive, and bmc is not set; set bmc, or remove installation")
    .field_path(".installation"))]
#[x_kube(validation = Rule::new("!has(self.installation) || has(self.rootDeviceHints)")
    .message("installation needs to know the disk, and rootDeviceHints is not set; set its serialNumber or wwn, as lsblk -d -o NAME,SERIAL,WWN prints them on the host")
    .field_path(".installation"))]
pub struct HostSpec {
    /// How the host is reached.
    pub ssh: SshAccess,
    /// The BMC that controls its power; without it, Tatara never switches the host on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcAccess>,
    /// What is done with the host after its Machine has released it.
    #[serde(default)]
    pub wipe_policy: WipePolicy,
    /// The disk that an installation overwrites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// How its operating system is installed, through its BMC. It happens on release where `wipePolicy` is
    /// `reinstall`, and when the annotation `tatara.dev/reinstall` names the disk of `rootDeviceHints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation: Option<Installation>,
    /// Failure domain of the host, such as a rack or a room; the control planes of a Cluster are spread over them, and
    /// so are its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,
    /// While true, no Machine can claim the host; a Machine that runs on it stays.
    #[serde(default)]
    pub maintenance: bool,
    /// The Machine that holds the host. The controller writes it, with a compare-and-swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ConsumerRef>,
}

impl HostSpec {
    /// Names of the Secrets for SSH access to the host and its jump hosts.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        let jumps = self.ssh.jump.iter();
        let of_jumps = jumps.filter_map(|jump| jump.credentials_ref.as_ref());
        core::iter::once(&self.ssh.credentials_ref)
            .chain(of_jumps)
            .map(|reference| reference.name.as_str())
    }

    /// Names of the Secrets for SSH access and for the BMC.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let of_bmc = self.bmc.iter();
        let of_bmc = of_bmc.map(|bmc| bmc.credentials_ref.name.as_str());
        self.credentials().chain(of_bmc)
    }
}

/// How a server is reached over SSH.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.privilege != 'root' || self.user == 'root'")
    .message(Message::Expression("'privilege is root but user is ' + self.user + '; set privilege: sudo, or user: root'".into())))]
pub struct SshAccess {
    /// IP address or DNS name.
    #[schemars(schema_with = "super::schema::address")]
    pub address: String,
    /// TCP port of sshd.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// User to log in as.
    #[serde(default = "root")]
    #[schemars(length(min = 1, max = 32))]
    pub user: String,
    /// Secret of type `kubernetes.io/ssh-auth`: `ssh-privatekey`, and `passphrase` if the key has one.
    pub credentials_ref: SecretRef,
    /// The host's public keys, as in a known-hosts file, without the name: `ssh-ed25519 AAAA…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::host_keys")]
    pub host_keys: Vec<String>,
    /// Pin the host keys that the server presents at first contact.
    #[serde(default)]
    pub trust_on_first_use: bool,
    /// Jump hosts on the way to the host, nearest to the manager first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub jump: Vec<JumpHost>,
    /// How commands become root: `root` logs in as root, `sudo` uses passwordless sudo.
    #[serde(default)]
    pub privilege: Privilege,
}

/// A jump host on the way to a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JumpHost {
    /// IP address or DNS name.
    #[schemars(schema_with = "super::schema::address")]
    pub address: String,
    /// TCP port of sshd.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// User to log in as.
    #[serde(default = "root")]
    #[schemars(length(min = 1, max = 32))]
    pub user: String,
    /// Secret of type `kubernetes.io/ssh-auth`. Default: that of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<SecretRef>,
    /// The jump host's public keys; they are never trusted on first use.
    #[schemars(schema_with = "super::schema::jump_host_keys")]
    pub host_keys: Vec<String>,
}

/// How commands become root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Privilege {
    /// The user is root.
    #[default]
    Root,
    /// Through passwordless `sudo`.
    Sudo,
}

/// Reference to a Secret in the same namespace.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The Machine that holds a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerRef {
    /// Name of the Machine, in the host's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// UID of the Machine: another Machine of the same name does not have the claim.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
    /// Name of the Machine's Cluster.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub cluster: String,
    /// True once the Machine has released the host: it is reset, checked clean, and freed. Nothing is reset while
    /// that Machine exists and is not being deleted.
    #[serde(default)]
    pub releasing: bool,
}

/// Observed state of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// Registering, Available, Claimed, Releasing, Installing, Quarantined, Maintenance or Unreachable: a summary
    /// for people; conditions are authoritative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why the host is not available, in CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same, human-readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Hardware and software of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<HostFacts>,
    /// What its BMC reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcStatus>,
    /// Whose marker is on the server, where that Machine has no claim of this Host: condition Clean has the reason Orphaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<MarkerReference>,
    /// Conditions: Ready, Reachable, Clean, Available; with a BMC also
    /// `BMCReachable`, `PowerOn`; with an installation `Installed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The Machine that a marker names: it may not exist any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarkerReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Name of its Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// `kubeadm init` succeeded on the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initialized: bool,
}

/// Hardware and software of a host, gathered over SSH in one round trip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// Hostname that the host reports.
    pub hostname: String,
    /// `ID` and `VERSION_ID` of os-release, such as `debian 12`.
    pub os: String,
    /// Architecture as Go names it: amd64, arm64.
    pub architecture: String,
    /// Kernel release.
    pub kernel: String,
    /// Logical processors.
    pub cpus: i64,
    /// Memory, in bytes.
    pub memory_bytes: i64,
    /// Free space on the file system of /var/lib, in bytes.
    pub disk_bytes: i64,
    /// `/etc/machine-id`.
    #[serde(rename = "machineID")]
    pub machine_id: String,
    /// Addresses of its interfaces, except loopback.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Interface of the default route, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_interface: Option<String>,
    /// Version of systemd.
    #[serde(default)]
    pub systemd: i64,
    /// `v1` or `v2`.
    #[serde(default)]
    pub cgroup: String,
    /// Further facts by name, human-readable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, String>,
}

fn ssh_port() -> u16 {
    22
}
fn root() -> String {
    "root".into()
}
