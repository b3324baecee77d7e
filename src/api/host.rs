//! Host: a server that exists, reached over SSH.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bmc::{BmcAccess, BmcStatus};
use super::installation::{Installation, RootDeviceHints, WipePolicy};

/// A server that exists. Machines claim Hosts; its labels are what `hostSelector` matches.
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
).message(Message::Expression("'consumerRef is the claim of Machine ' + oldSelf.consumerRef.name + ' and passes to no other. Keep it; only if that Machine itself is no longer wanted, delete it: its pods are evicted and its host is reset'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.consumerRef) || has(self.consumerRef) || oldSelf.consumerRef.releasing"
).message(Message::Expression("'consumerRef cannot be removed while Machine ' + oldSelf.consumerRef.name + ' holds the host. Keep it; only if that Machine itself is no longer wanted, delete it: its pods are evicted and its host is reset; only if it does not exist any more, set consumerRef.releasing: true'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.consumerRef) || !has(self.consumerRef) || !oldSelf.consumerRef.releasing || self.consumerRef.releasing"
).message(Message::Expression("'consumerRef.releasing: true of Machine ' + oldSelf.consumerRef.name + ' cannot be taken back, the host may be half reset; wait until it is free'".into())).field_path(".consumerRef"))]
#[x_kube(validation = Rule::new("(has(self.ssh.hostKeys) && size(self.ssh.hostKeys) > 0) || self.ssh.trustOnFirstUse || has(self.installation)")
    .message("hostKeys is empty; pin the host's public keys (ssh-keyscan, compared on its console), or set trustOnFirstUse: true to pin what answers first, or spec.installation, which makes the key and pins it")
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
    /// How its power is driven; without it, Tatara never switches the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcAccess>,
    /// What becomes of the host when its Machine has released it.
    #[serde(default)]
    pub wipe_policy: WipePolicy,
    /// The disk that an installation overwrites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// How its operating system is installed, through its BMC. It happens on release where `wipePolicy` is
    /// `reinstall`, and when the annotation `tatara.dev/reinstall` names the disk of `rootDeviceHints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation: Option<Installation>,
    /// Where the host stands (a rack, a room); Machines of one set are spread over these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,
    /// While true, the host is not handed out; a Machine that is on it stays.
    #[serde(default)]
    pub maintenance: bool,
    /// The Machine that holds the host. Written by the controller, by compare-and-swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ConsumerRef>,
}

impl HostSpec {
    /// Names of the Secrets that it takes to reach the host.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        let jumps = self.ssh.jump.iter();
        let of_jumps = jumps.filter_map(|jump| jump.credentials_ref.as_ref());
        core::iter::once(&self.ssh.credentials_ref)
            .chain(of_jumps)
            .map(|reference| reference.name.as_str())
    }

    /// Those, and that of its BMC.
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
    /// Secret of type `kubernetes.io/ssh-auth` (`ssh-privatekey`, and `passphrase` where it has one).
    pub credentials_ref: SecretRef,
    /// The host's public keys, as in a known-hosts file, without the name: `ssh-ed25519 AAAA…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::host_keys")]
    pub host_keys: Vec<String>,
    /// Pin the keys that answer at first contact. Off unless you write it.
    #[serde(default)]
    pub trust_on_first_use: bool,
    /// Hosts to go through, nearest to the manager first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub jump: Vec<JumpHost>,
    /// How commands become root: `root` logs in as root, `sudo` uses passwordless sudo.
    #[serde(default)]
    pub privilege: Privilege,
}

/// A host on the way to another.
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
    /// Secret of type `kubernetes.io/ssh-auth`; the host's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<SecretRef>,
    /// The jump host's public keys; required, they are never taken on trust.
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

/// The holder of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerRef {
    /// Name of the Machine, in the host's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// UID of the Machine; the claim is this UID's and no namesake's.
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

/// What was observed of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// Registering, Available, Claimed, Releasing, Installing, Quarantined, Maintenance or Unreachable: a summary
    /// for people; conditions are the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why the host is not available, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the host is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<HostFacts>,
    /// What its BMC said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcStatus>,
    /// What holds and what does not, and why: Ready, Reachable, Clean, Available; with a BMC also
    /// `BMCReachable`, `PowerOn`; with an installation `Installed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What a host is made of, gathered over SSH in one round trip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// Host name as it calls itself.
    pub hostname: String,
    /// `ID` and `VERSION_ID` of os-release, such as `debian 12`.
    pub os: String,
    /// Go-style architecture: amd64, arm64.
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
    /// Addresses of its interfaces, loopback apart.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Interface to the default route, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_interface: Option<String>,
    /// Version of systemd.
    #[serde(default)]
    pub systemd: i64,
    /// `v1` or `v2`.
    #[serde(default)]
    pub cgroup: String,
    /// Further facts by name, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, String>,
}

fn ssh_port() -> u16 {
    22
}
fn root() -> String {
    "root".into()
}
