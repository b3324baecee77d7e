//! Clusters as controllers leave them.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::describe::kind::Kind;
use crate::cli::describe::snapshot::Snapshot;

pub const NOW: &str = "2026-11-21T12:00:00Z";

/// The time `seconds` before [`NOW`].
pub fn ago(seconds: i64) -> String {
    let now: Timestamp = NOW.parse().expect("a time");
    (now - SignedDuration::from_secs(seconds)).to_string()
}

pub fn condition(type_: &str, status: &str, reason: &str, message: &str, since: i64) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": ago(since), "observedGeneration": 1})
}

fn object<K: DeserializeOwned>(
    mut object: Value,
    mut status: Value,
    conditions: &[Value],
) -> Event<K> {
    if status != json!({}) || !conditions.is_empty() {
        status["conditions"] = conditions.into();
        status["observedGeneration"] = 1.into();
        object["status"] = status;
    }
    object["metadata"]["namespace"] = "default".into();
    object["metadata"]["generation"] = 1.into();
    object["metadata"]["creationTimestamp"] = ago(180).into();
    Event::Apply(serde_json::from_value(object).expect("an object"))
}

fn meta(name: &str, uid: &str, owner: &str) -> Value {
    let mut meta =
        json!({"name": name, "uid": uid, "labels": {"cluster.k8s.io/cluster-name": "demo"}});
    if !owner.is_empty() {
        meta["ownerReferences"] = json!([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "X",
            "name": "x", "uid": owner, "controller": true}]);
    }
    meta
}

pub struct Fixture {
    pub snapshot: Snapshot,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::of(Kind::Cluster, "default", "demo"),
        }
    }
}

impl Fixture {
    pub fn cluster(&mut self, status: Value, conditions: &[Value]) {
        let cluster = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": meta("demo", "demo", ""),
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}},
        });
        self.snapshot
            .clusters
            .take(object(cluster, status, conditions));
    }

    pub fn deployment(&mut self, version: &str, status: Value, conditions: &[Value]) {
        let deployment = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": meta("web", "deployment-web", ""),
            "spec": {"replicas": 2, "selector": {},
                "template": {"metadata": {}, "spec": {"versions": {"kubelet": version}}}},
        });
        self.snapshot
            .deployments
            .take(object(deployment, status, conditions));
    }

    /// A set of the deployment; its UID is `set-NAME`.
    pub fn set(&mut self, name: &str, version: &str, counts: [i32; 3], conditions: &[Value]) {
        let [wanted, there, ready] = counts;
        let set = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet",
            "metadata": meta(name, &format!("set-{name}"), "deployment-web"),
            "spec": {"replicas": wanted, "selector": {},
                "template": {"metadata": {}, "spec": {"versions": {"kubelet": version}}}},
        });
        let status = json!({"replicas": there, "readyReplicas": ready});
        self.snapshot.sets.take(object(set, status, conditions));
    }

    /// A Machine of the set with UID `owner`; of the control plane where that is empty.
    pub fn machine(&mut self, name: &str, owner: &str, status: Value, conditions: &[Value]) {
        let mut versions = json!({"kubelet": "v1.36.3"});
        if owner.is_empty() {
            versions["controlPlane"] = "v1.36.3".into();
        }
        let machine = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": meta(name, name, owner), "spec": {"versions": versions},
        });
        self.snapshot
            .machines
            .take(object(machine, status, conditions));
    }

    pub fn host(&mut self, name: &str, machine: Option<&str>, state: &str, conditions: &[Value]) {
        let mut host = json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": meta(name, name, ""),
            "spec": {"ssh": {"address": "10.0.0.1", "credentialsRef": {"name": "key"}}},
        });
        if let Some(machine) = machine {
            host["spec"]["consumerRef"] =
                json!({"name": machine, "uid": machine, "cluster": "demo"});
        }
        self.snapshot
            .hosts
            .take(object(host, json!({"state": state}), conditions));
    }

    pub fn hypervisor(&mut self, name: &str, state: &str, conditions: &[Value]) {
        let hypervisor = json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor", "metadata": meta(name, name, ""),
            "spec": {"url": "https://10.0.0.5:8774", "credentialsRef": {"name": "gateway"}},
        });
        let status = json!({"state": state, "acceleration": "kvm"});
        self.snapshot
            .hypervisors
            .take(object(hypervisor, status, conditions));
    }

    pub fn class(&mut self, name: &str) {
        let class = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineClass", "metadata": meta(name, name, ""),
            "providerSpec": {"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec"}},
        });
        self.snapshot.classes.take(object(class, json!({}), &[]));
    }

    /// The same objects, and another one described.
    pub fn of(mut self, kind: Kind, name: &str) -> Self {
        self.snapshot.kind = kind;
        name.clone_into(&mut self.snapshot.name);
        self
    }

    pub fn profile(&mut self, conditions: &[Value]) {
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": meta("demo", "profile", ""), "spec": {"clusterManager": {"name": "tatara"}},
        });
        self.snapshot
            .profiles
            .take(object(profile, json!({}), conditions));
    }
}

/// kubeadm init runs; one worker is prepared, the other waits.
pub fn bootstrapping() -> Fixture {
    let mut fixture = Fixture::default();
    let message = "Machine demo-cp-0 has the turn to run kubeadm init";
    fixture.cluster(
        json!({"phase": "Provisioning", "endpoint": "10.77.0.100:6443"}),
        &[condition("Ready", "False", "Initializing", message, 170)],
    );
    let progress = condition("Ready", "False", "KubeadmInit", "2/3 kubeadm-init", 60);
    let status = json!({"phase": "Bootstrapping", "lastUpdated": ago(12)});
    fixture.machine("demo-cp-0", "", status, &[progress]);
    let waiting = condition(
        "Progressing",
        "True",
        "WaitingForMachines",
        "2 Machines without a Node yet",
        100,
    );
    let counts =
        json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 0, "phase": "ScalingUp"});
    fixture.deployment("v1.36.3", counts, &[waiting]);
    let starting = condition(
        "MachinesReady",
        "False",
        "WaitingForMachines",
        "0 of 2 Machines are ready",
        100,
    );
    fixture.set("web", "v1.36.3", [2, 2, 0], &[starting]);
    let progress = condition("Ready", "False", "Preparing", "3/9 containerd", 60);
    let status = json!({"phase": "Bootstrapping", "lastUpdated": ago(4)});
    fixture.machine("web-0", "set-web", status, &[progress]);
    let message = "prepared; the control plane of Cluster demo is not initialised yet";
    let waiting = condition("Ready", "False", "WaitingForControlPlane", message, 60);
    let status = json!({"phase": "Bootstrapping", "lastUpdated": ago(9)});
    fixture.machine("web-1", "set-web", status, &[waiting]);
    for (host, machine) in [("a", "demo-cp-0"), ("b", "web-0"), ("c", "web-1")] {
        fixture.host(host, Some(machine), "Claimed", &[]);
    }
    fixture.host("d", None, "Available", &[]);
    fixture.host("e", None, "Available", &[]);
    fixture
}

/// Everything is as it shall be, on three hosts.
pub fn ready() -> Fixture {
    let mut fixture = Fixture::default();
    fixture.cluster(
        json!({"phase": "Running", "endpoint": "10.77.0.100:6443", "version": "v1.36.3"}),
        &[condition("Ready", "True", "Ready", "", 30)],
    );
    for (machine, owner) in [
        ("demo-cp-0", ""),
        ("web-0", "set-web"),
        ("web-1", "set-web"),
    ] {
        let status = json!({"phase": "Running", "versions": {"kubelet": "v1.36.3"}});
        fixture.machine(
            machine,
            owner,
            status,
            &[condition("Ready", "True", "NodeReady", "", 30)],
        );
    }
    let complete = condition(
        "Progressing",
        "True",
        "Complete",
        "all 2 Machines are available",
        30,
    );
    let counts =
        json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "phase": "Running"});
    fixture.deployment("v1.36.3", counts, &[complete]);
    let all = condition("MachinesReady", "True", "AllReady", "", 30);
    fixture.set("web", "v1.36.3", [2, 2, 2], &[all]);
    for (host, machine) in [("a", "demo-cp-0"), ("b", "web-0"), ("c", "web-1")] {
        fixture.host(host, Some(machine), "Claimed", &[]);
    }
    let parts = ["ControlPlaneHealthy", "Joined"];
    fixture.profile(&parts.map(|part| condition(part, "True", part, "", 25)));
    fixture
}

/// v1.35.4 gives way to v1.36.3; the set of the old template has one Machine left.
pub fn rolling() -> Fixture {
    let mut fixture = ready();
    let message = "current MachineSet web-6f from 1 to 2: room for 1 more";
    let progressing = condition("Progressing", "True", "MachineSetUpdated", message, 50);
    let counts =
        json!({"replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "phase": "RollingOut"});
    fixture.deployment("v1.36.3", counts, &[progressing]);
    let down = condition(
        "ScalingDown",
        "True",
        "DeletingMachines",
        "deleting web-1",
        8,
    );
    fixture.set("web", "v1.35.4", [0, 1, 1], &[down]);
    fixture.set("web-6f", "v1.36.3", [2, 1, 1], &[]);
    fixture.machine(
        "web-0",
        "set-web-6f",
        json!({"phase": "Running", "versions": {"kubelet": "v1.36.3"}}),
        &[condition("Ready", "True", "NodeReady", "", 20)],
    );
    let message = "1 pod of default/api is held by PodDisruptionBudget api";
    let status =
        json!({"phase": "Deleting", "lastUpdated": ago(6), "versions": {"kubelet": "v1.35.4"}});
    fixture.machine(
        "web-1",
        "set-web",
        status,
        &[condition("Ready", "False", "Deleting", message, 8)],
    );
    fixture
}
