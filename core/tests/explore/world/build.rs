//! The objects that the planners read, built from the compact state.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::NodeAddress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use tatara_core::api::cluster::Turn;
use tatara_core::api::conditions::{ConditionType, Reason};
use tatara_core::api::host::{ConsumerRef, HostFacts};
use tatara_core::api::machine::{MachineSpec, MachineVersions};
use tatara_core::api::names::{
    ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE, ANNOTATION_INITIALIZED, ANNOTATION_SETTINGS,
    ANNOTATION_SETTINGS_WRITING, ANNOTATION_TURN, FINALIZER_CLUSTER, FINALIZER_IN_USE,
    FINALIZER_MACHINE, LABEL_CLUSTER,
};
use tatara_core::api::provider_spec::ProviderSpec;
use tatara_core::api::{self, MachineProviderSpec};
use tatara_core::control_plane::turn::{Both, Holder, Marks as CoreMarks};
use tatara_core::node::Marker;

use super::state::{CLUSTER, Host, Machine, Marks, Objects, Version};

/// UIDs of the Machines.
pub const UIDS: [&str; 5] = [
    "00000000-0000-4000-8000-000000000000",
    "11111111-0000-4000-8000-000000000001",
    "22222222-0000-4000-8000-000000000002",
    "33333333-0000-4000-8000-000000000003",
    "44444444-0000-4000-8000-000000000004",
];
/// UID of the Cluster.
pub const CLUSTER_UID: &str = "99999999-0000-4000-8000-000000000009";
const MACHINES: [&str; 5] = ["m-0", "m-1", "m-2", "m-3", "m-4"];
const HOSTS: [&str; 5] = ["h-0", "h-1", "h-2", "h-3", "h-4"];
const ADDRESSES: [&str; 5] = [
    "192.0.2.10",
    "192.0.2.11",
    "192.0.2.12",
    "192.0.2.13",
    "192.0.2.14",
];
pub const MANAGEMENT: &str = "management";
/// The fingerprint of the Cluster's CA.
pub const AUTHORITY: &str = "sha256:ca";

pub fn machine_name(which: usize) -> &'static str {
    MACHINES[which]
}

pub fn host_name(which: usize) -> &'static str {
    HOSTS[which]
}

pub fn address(which: usize) -> &'static str {
    ADDRESSES[which]
}

/// The Host of this name.
pub fn host_named(name: &str) -> usize {
    let found = HOSTS.iter().position(|host| *host == name);
    found.expect("a Host of the world")
}

pub fn version(version: Version) -> &'static str {
    match version {
        Version::Old => "v1.35.4",
        Version::New => "v1.36.3",
    }
}

pub fn version_of(text: &str) -> Version {
    if text == version(Version::New) {
        Version::New
    } else {
        Version::Old
    }
}

/// The one moment of the world, so many seconds later.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

pub fn marker(which: usize) -> Marker {
    Marker {
        management: MANAGEMENT.into(),
        namespace: "default".into(),
        cluster: "a".into(),
        machine: machine_name(which).into(),
        uid: UIDS[which].into(),
    }
}

/// The provider's part of a Machine.
pub fn provider_value() -> &'static Value {
    static VALUE: LazyLock<Value> = LazyLock::new(|| {
        json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
            "node": { "software": { "source": "packages" } },
        })
    });
    &VALUE
}

pub fn provider_spec() -> &'static MachineProviderSpec {
    static SPEC: LazyLock<MachineProviderSpec> =
        LazyLock::new(|| MachineProviderSpec::decode(provider_value()).expect("a provider spec"));
    &SPEC
}

/// A Machine as it stands in the API.
pub fn machine(which: usize, of: &Machine) -> Arc<api::Machine> {
    let versions = of.wants.map(|wants| MachineVersions {
        kubelet: version(wants).into(),
        control_plane: of.is_control_plane.then(|| version(wants).into()),
    });
    let spec = MachineSpec {
        versions,
        provider_spec: ProviderSpec {
            value: Some(provider_value().clone()),
            value_from: None,
        },
        provider_id: of.chosen.map(|_| format!("tatara://ssh/{}", UIDS[which])),
        ..MachineSpec::default()
    };
    let mut machine = api::Machine::new(machine_name(which), spec);
    let mut annotations = BTreeMap::new();
    if let Some(host) = of.chosen {
        annotations.insert(ANNOTATION_HOST.into(), host_name(host.into()).into());
    }
    if let Some(record) = of.record {
        annotations.insert(ANNOTATION_SETTINGS.into(), record.get().to_string());
    }
    if of.is_gone {
        annotations.insert(ANNOTATION_HOST_IS_GONE.into(), UIDS[which].into());
    }
    machine.metadata = ObjectMeta {
        annotations: Some(annotations),
        deletion_timestamp: of.deleted.then(|| Time(at(0))),
        finalizers: of.adopted.then(|| vec![FINALIZER_MACHINE.into()]),
        generation: Some(1),
        labels: Some([(LABEL_CLUSTER.into(), "a".into())].into()),
        name: Some(machine_name(which).into()),
        namespace: Some("default".into()),
        uid: Some(UIDS[which].into()),
        ..ObjectMeta::default()
    };
    let mut status = super::status::built(&of.status);
    let place = of.chosen.map(|host| NodeAddress {
        type_: "InternalIP".into(),
        address: address(host.into()).into(),
    });
    status.addresses = place.into_iter().collect();
    machine.status = Some(status);
    Arc::new(machine)
}

pub fn condition(
    name: ConditionType,
    status: Option<bool>,
    reason: Reason,
    current: bool,
) -> Condition {
    Condition {
        type_: name.as_str().into(),
        status: word(status).into(),
        reason: reason.as_str().into(),
        message: String::new(),
        last_transition_time: Time(at(0)),
        observed_generation: Some(i64::from(current)),
    }
}

fn word(status: Option<bool>) -> &'static str {
    match status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    }
}

pub fn node_uid(host: usize) -> String {
    format!("node-{host}")
}

/// A Host as it stands in the API.
pub fn host(which: usize, of: &Host) -> Arc<api::Host> {
    static TEMPLATE: LazyLock<api::Host> = LazyLock::new(|| {
        let manifest = json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": { "name": "h", "namespace": "default" },
            "spec": { "ssh": { "address": "h", "credentialsRef": { "name": "key" } } },
            "status": {},
        });
        serde_json::from_value(manifest).expect("a Host")
    });
    let mut host = TEMPLATE.clone();
    host.metadata.name = Some(host_name(which).into());
    host.metadata.uid = Some(format!("host-{which}"));
    host.metadata.generation = Some(1);
    host.spec.ssh.address = address(which).into();
    host.spec.consumer_ref = of.claim.map(|(machine, releasing)| ConsumerRef {
        name: machine_name(machine.into()).into(),
        uid: UIDS[usize::from(machine)].into(),
        cluster: "a".into(),
        releasing,
    });
    host.metadata.finalizers = of.claim.map(|_| vec![FINALIZER_IN_USE.into()]);
    let mut conditions = Vec::new();
    if let Some((available, reason)) = of.available {
        let name = ConditionType::Available;
        conditions.push(condition(name, Some(available), reason, true));
    }
    if of.reachable.is_some() {
        let (name, reason) = (ConditionType::Reachable, Reason::Answers);
        conditions.push(condition(name, of.reachable, reason, true));
    }
    if of.clean.is_some() {
        let (name, reason) = (ConditionType::Clean, Reason::Clean);
        conditions.push(condition(name, of.clean, reason, true));
    }
    if let Some(status) = &mut host.status {
        status.conditions = conditions;
        status.observed_generation = Some(1);
        status.facts = Some(HostFacts {
            hostname: host_name(which).into(),
            addresses: vec![address(which).into()],
            ..HostFacts::default()
        });
    }
    Arc::new(host)
}

/// Who has the turn, as it is written.
pub fn turn((who, action): (u8, api::cluster::TurnAction)) -> Turn {
    let (machine, name) = if who == CLUSTER {
        (CLUSTER_UID, "a")
    } else {
        (UIDS[usize::from(who)], machine_name(who.into()))
    };
    Turn {
        machine: machine.into(),
        name: name.into(),
        action,
    }
}

/// The one of this UID.
pub fn of_uid(uid: &str) -> u8 {
    let found = UIDS.iter().position(|one| *one == uid);
    found.map_or(CLUSTER, |which| u8::try_from(which).expect("few"))
}

pub fn core_marks(of: Marks) -> CoreMarks {
    CoreMarks {
        turn: of.turn.map_or(Holder::Nobody, |of| Holder::Of(turn(of))),
        initialized: of.initialized.map(|by| UIDS[usize::from(by)].into()),
    }
}

pub fn marks(of: &CoreMarks) -> Marks {
    Marks {
        turn: match &of.turn {
            Holder::Of(turn) => Some((of_uid(&turn.machine), turn.action)),
            Holder::Nobody | Holder::Unreadable(_) => None,
        },
        initialized: of.initialized.as_deref().map(of_uid),
    }
}

/// Turn and record, on both objects.
pub fn both(objects: &Objects) -> Both {
    Both {
        secret: core_marks(objects.secret),
        cluster: core_marks(objects.cluster),
        no_secret: false,
    }
}

/// The Cluster as it stands in the API; `spec` is its provider's part.
pub fn cluster(objects: &Objects, spec: &Value) -> Arc<api::Cluster> {
    static TEMPLATE: LazyLock<api::Cluster> = LazyLock::new(|| {
        let network = json!({
            "services": { "cidrBlocks": ["10.96.0.0/16"] },
            "pods": { "cidrBlocks": ["10.244.0.0/16"] },
            "serviceDomain": "cluster.local",
        });
        let manifest = json!({
            "metadata": { "name": "a", "namespace": "default", "uid": CLUSTER_UID, "finalizers": [FINALIZER_CLUSTER] },
            "spec": { "clusterNetwork": network },
        });
        serde_json::from_value(manifest).expect("a Cluster")
    });
    let mut cluster = TEMPLATE.clone();
    cluster.spec.provider_spec.value = Some(spec.clone());
    let mut annotations = BTreeMap::new();
    if let Some(held) = objects.cluster.turn {
        let text = serde_json::to_string(&turn(held)).expect("a turn");
        annotations.insert(ANNOTATION_TURN.into(), text);
    }
    if let Some(by) = objects.cluster.initialized {
        annotations.insert(ANNOTATION_INITIALIZED.into(), UIDS[usize::from(by)].into());
    }
    if let Some(settings) = objects.settings {
        annotations.insert(ANNOTATION_SETTINGS.into(), settings.get().to_string());
    }
    if let Some(writing) = objects.writing {
        annotations.insert(
            ANNOTATION_SETTINGS_WRITING.into(),
            writing.get().to_string(),
        );
    }
    cluster.metadata.annotations = Some(annotations);
    Arc::new(cluster)
}
