//! The keys under which an object of each kind is found.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use tatara_core::Key;
use tatara_core::api::conditions::{ConditionType, Reason, find, is_true};
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use tatara_core::api::ownership::is_marked;
use tatara_core::api::readable::{is_unknown, unreadable};
use tatara_core::api::{
    Cluster, ClusterProfile, Host, Hypervisor, Machine, MachineClass, MachineDeployment,
    MachineSet, ProviderSpec,
};
use tatara_core::trouble::Trouble;

/// Objects that a [`super::Kind`] can hold.
pub trait IndexKeys: Resource<DynamicType = ()> + Sized {
    /// Fields besides metadata that assign an object to others.
    const VITAL: &'static [&'static str] = &[];

    /// The smallest decodable object of the kind: the rest of an object without readable fields.
    fn least() -> Value {
        json!({ "metadata": {}, "spec": {} })
    }

    /// Keys of this kind only; namespace, UID and owner are added.
    fn own_keys(&self, namespace: &str) -> Vec<Key>;

    /// All keys of the object.
    fn keys(&self) -> Vec<Key> {
        let namespace = self.namespace().unwrap_or_default();
        let mut keys = self.own_keys(&namespace);
        keys.extend(self.uid().map(Key::Uid));
        let owners = self
            .owner_references()
            .iter()
            .filter(|owner| owner.controller == Some(true));
        let before = keys.len();
        keys.extend(owners.map(|owner| Key::Owner(owner.uid.clone())));
        if keys.len() == before {
            keys.push(Key::Orphan(namespace.clone()));
        }
        if unreadable(self).is_some() {
            keys.extend([Key::Unreadable, Key::UnreadableIn(namespace.clone())]);
        }
        if is_unknown(self) {
            keys.push(Key::UnknownIn(namespace.clone()));
        }
        keys.push(Key::Namespace(namespace));
        keys
    }
}

fn cluster(object: &impl ResourceExt, namespace: &str) -> Option<Key> {
    let name = object.labels().get(LABEL_CLUSTER)?;
    Some(Key::Cluster(namespace.to_owned(), name.clone()))
}

fn class(spec: &ProviderSpec, namespace: &str) -> Option<Key> {
    let class = spec.value_from.as_ref()?.machine_class.as_ref()?;
    Some(Key::Class(namespace.to_owned(), class.name.clone()))
}

fn hypervisor(machine: &Machine, namespace: &str) -> Option<Key> {
    let name = machine.annotations().get(ANNOTATION_HYPERVISOR)?;
    Some(Key::Hypervisor(namespace.to_owned(), name.clone()))
}

impl IndexKeys for Cluster {
    fn least() -> Value {
        let none = json!({ "cidrBlocks": [] });
        let network = json!({ "services": none, "pods": none, "serviceDomain": "" });
        json!({ "metadata": {}, "spec": { "clusterNetwork": network } })
    }

    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl IndexKeys for MachineClass {
    fn least() -> Value {
        json!({ "metadata": {}, "providerSpec": {} })
    }

    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl IndexKeys for Secret {
    fn least() -> Value {
        json!({ "metadata": {} })
    }

    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl IndexKeys for Machine {
    const VITAL: &'static [&'static str] = &["spec.providerID"];

    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let keys = [
            cluster(self, namespace),
            wellness(self, namespace),
            troubled(self),
            control_plane(self, namespace),
            class(&self.spec.provider_spec, namespace),
            hypervisor(self, namespace),
        ];
        keys.into_iter().flatten().collect()
    }
}

/// A Cluster of thousands counts those that are well, and looks at the others.
fn wellness(machine: &Machine, namespace: &str) -> Option<Key> {
    let name = machine.labels().get(LABEL_CLUSTER)?;
    let status = machine.status.as_ref();
    let is_ready = status.is_some_and(|status| is_true(&status.conditions, ConditionType::Ready));
    let is_well = is_ready
        && !machine.is_control_plane()
        && machine.metadata.deletion_timestamp.is_none()
        && is_marked(&machine.spec)
        && !Trouble::is_of(machine);
    let (namespace, name) = (namespace.to_owned(), name.clone());
    Some(if is_well {
        Key::Well(namespace, name)
    } else {
        Key::NotWell(namespace, name)
    })
}

fn troubled(machine: &Machine) -> Option<Key> {
    let owners = machine.owner_references();
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    Trouble::is_of(machine).then(|| Key::Troubled(owner.uid.clone()))
}

/// A Machine whose spec no longer declares a control plane may still wait as one, as its status
/// shows.
fn control_plane(machine: &Machine, namespace: &str) -> Option<Key> {
    let status = machine.status.as_ref();
    let deleting = status.and_then(|status| find(&status.conditions, ConditionType::Deleting));
    let waits = deleting.is_some_and(|deleting| deleting.reason == Reason::WaitingForWorkers);
    let name = machine.labels().get(LABEL_CLUSTER)?;
    let key = || Key::ControlPlane(namespace.to_owned(), name.clone());
    (machine.is_control_plane() || waits).then(key)
}

impl IndexKeys for MachineSet {
    fn least() -> Value {
        json!({ "metadata": {}, "spec": { "selector": {}, "template": { "spec": {} } } })
    }

    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let spec = &self.spec.template.spec.provider_spec;
        [cluster(self, namespace), class(spec, namespace)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl IndexKeys for MachineDeployment {
    fn least() -> Value {
        json!({ "metadata": {}, "spec": { "selector": {}, "template": { "spec": {} } } })
    }

    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let spec = &self.spec.template.spec.provider_spec;
        [cluster(self, namespace), class(spec, namespace)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl IndexKeys for ClusterProfile {
    fn least() -> Value {
        json!({ "metadata": {}, "spec": { "clusterManager": { "name": "" } } })
    }

    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl IndexKeys for Hypervisor {
    fn least() -> Value {
        json!({ "metadata": {}, "spec": { "url": "", "credentialsRef": { "name": "" } } })
    }

    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let secret = &self.spec.credentials_ref.name;
        vec![Key::Secret(namespace.to_owned(), secret.clone())]
    }
}

impl IndexKeys for Host {
    const VITAL: &'static [&'static str] = &["spec.consumerRef"];

    fn least() -> Value {
        let ssh = json!({ "address": "", "credentialsRef": { "name": "" } });
        json!({ "metadata": {}, "spec": { "ssh": ssh } })
    }

    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let ssh = &self.spec.ssh;
        let secret = |name: &str| Key::Secret(namespace.to_owned(), name.to_owned());
        let mut keys = vec![Key::Address(ssh.address.clone())];
        keys.extend(self.spec.bmc.iter().map(|bmc| Key::Bmc(bmc.place())));
        keys.extend(self.spec.secrets().map(secret));
        keys.extend(
            self.spec
                .consumer_ref
                .iter()
                .map(|c| Key::Claim(c.uid.clone())),
        );
        if let Some(facts) = self
            .status
            .as_ref()
            .and_then(|status| status.facts.as_ref())
        {
            keys.push(Key::MachineId(facts.machine_id.clone()));
            keys.push(Key::Hostname(namespace.to_owned(), facts.hostname.clone()));
        }
        keys
    }
}
