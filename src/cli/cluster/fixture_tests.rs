//! A Cluster with two control-plane Machines, each on its Host, for tests.

use serde_json::{Value, json};

use super::known::{CaSecret, Known};
use tatara_core::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_SETTINGS, ANNOTATION_TURN};
use tatara_core::api::{Host, Machine};

pub const CP0: &str = "00000000-0000-4000-8000-000000000000";
pub const CP1: &str = "11111111-1111-4111-8111-111111111111";
/// Of a Machine that does not exist.
pub const GONE: &str = "99999999-9999-4999-8999-999999999999";

pub fn of<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object")
}

/// Names and UIDs that are told apart at a glance.
pub fn named(uid: &str) -> &'static str {
    match uid {
        CP0 => "cp-0",
        CP1 => "cp-1",
        _ => "cp-9",
    }
}

pub fn turn(uid: &str, action: &str) -> String {
    json!({ "machine": uid, "name": named(uid), "action": action }).to_string()
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-29T08:00:00Z" })
}

pub fn machine(uid: &str) -> Machine {
    of(json!({
        "metadata": { "name": named(uid), "namespace": "team", "uid": uid,
            "labels": { "cluster.k8s.io/cluster-name": "a" } },
        "spec": { "providerSpec": {}, "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
    }))
}

/// The Host of a Machine, which answers or not.
pub fn host(uid: &str, answers: bool) -> Host {
    let name = named(uid).replace("cp", "h");
    let reachable = if answers { "True" } else { "False" };
    let ssh = json!({ "address": "192.0.2.1", "credentialsRef": { "name": "key" } });
    let claim = json!({ "name": named(uid), "uid": uid, "cluster": "a" });
    of(json!({
        "metadata": { "name": name, "namespace": "team" },
        "spec": { "ssh": ssh, "consumerRef": claim },
        "status": { "conditions": [condition("Reachable", reachable, "R", "")] },
    }))
}

/// Nothing was begun, nothing is recorded, and both hosts answer.
pub fn known() -> Known {
    let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "" });
    Known {
        cluster: of(json!({
            "metadata": { "name": "a", "namespace": "team", "uid": "c", "resourceVersion": "1", "annotations": {} },
            "spec": { "clusterNetwork": network },
        })),
        secret: CaSecret::Seen(Box::new(of(
            json!({ "name": "a-ca", "uid": "s", "annotations": {} }),
        ))),
        machines: vec![machine(CP0), machine(CP1)],
        hosts: vec![host(CP0, true), host(CP1, true)],
    }
}

impl Known {
    fn on_secret(mut self, key: &str, value: &str) -> Self {
        if let CaSecret::Seen(metadata) = &mut self.secret {
            let all = metadata.annotations.get_or_insert_default();
            all.insert(key.into(), value.into());
        }
        self
    }

    fn on_cluster(mut self, key: &str, value: &str) -> Self {
        let all = self.cluster.metadata.annotations.get_or_insert_default();
        all.insert(key.into(), value.into());
        self
    }

    /// The turn on the Secret and on the Cluster; of nobody where it is empty.
    pub fn turns(self, secret: &str, cluster: &str) -> Self {
        let mut known = self;
        if !secret.is_empty() {
            known = known.on_secret(ANNOTATION_TURN, secret);
        }
        if !cluster.is_empty() {
            known = known.on_cluster(ANNOTATION_TURN, cluster);
        }
        known
    }

    /// The same of the record.
    pub fn recorded(self, secret: &str, cluster: &str) -> Self {
        let mut known = self;
        if !secret.is_empty() {
            known = known.on_secret(ANNOTATION_INITIALIZED, secret);
        }
        if !cluster.is_empty() {
            known = known.on_cluster(ANNOTATION_INITIALIZED, cluster);
        }
        known
    }

    pub fn machine_mut(&mut self, uid: &str) -> &mut Machine {
        let mut machines = self.machines.iter_mut();
        let found = machines.find(|machine| machine.metadata.uid.as_deref() == Some(uid));
        found.expect("a Machine")
    }

    /// kubeadm was begun for it.
    pub fn begun(mut self, uid: &str) -> Self {
        let all = &mut self.machine_mut(uid).metadata.annotations;
        all.get_or_insert_default()
            .insert(ANNOTATION_SETTINGS.into(), "{}".into());
        self
    }

    /// Its Node is Ready.
    pub fn serving(self, uid: &str) -> Self {
        let mut known = self.begun(uid);
        let ready = condition("Ready", "True", "NodeReady", "");
        let status = json!({ "nodeRef": { "name": named(uid) }, "conditions": [ready] });
        known.machine_mut(uid).status = Some(of(status));
        known
    }

    /// A condition of it says that.
    pub fn saying(mut self, uid: &str, message: &str) -> Self {
        let says = condition("BootstrapReady", "False", "ControlPlaneInDoubt", message);
        self.machine_mut(uid).status = Some(of(json!({ "conditions": [says] })));
        self
    }

    /// It does not exist any more; its Host, with its claim, stays.
    pub fn deleted(mut self, uid: &str) -> Self {
        let is_it = |machine: &Machine| machine.metadata.uid.as_deref() == Some(uid);
        self.machines.retain(|machine| !is_it(machine));
        self
    }

    /// Nor is there a Host of it.
    pub fn without_host(mut self, uid: &str) -> Self {
        let name = named(uid).replace("cp", "h");
        self.hosts
            .retain(|host| host.metadata.name.as_deref() != Some(&name));
        self
    }

    /// Its Host is silent.
    pub fn silent(self, uid: &str) -> Self {
        let mut known = self.without_host(uid);
        known.hosts.push(host(uid, false));
        known
    }

    /// The marker on the server of its Host, which has no claim, records kubeadm init of the
    /// Cluster.
    pub fn marked(self, uid: &str) -> Self {
        let mut known = self.without_host(uid);
        let mut host = host(uid, true);
        host.spec.consumer_ref = None;
        let status = host.status.as_mut().expect("a status");
        status.marker = Some(of(
            json!({ "namespace": "team", "name": named(uid), "uid": uid,
            "cluster": "a", "initialized": true }),
        ));
        known.hosts.push(host);
        known
    }
}
