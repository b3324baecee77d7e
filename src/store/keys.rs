//! Which keys an object of each kind is filed under.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use super::index::Key;
use crate::api::names::{ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use crate::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet, ProviderSpec,
};

/// Objects that a [`super::Kind`] can hold.
pub trait Indexed: Resource<DynamicType = ()> + Sized {
    /// Keys of this kind only; namespace, UID and owner come by themselves.
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
        keys.extend(owners.map(|owner| Key::Owner(owner.uid.clone())));
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

impl Indexed for Cluster {
    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl Indexed for MachineClass {
    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl Indexed for Secret {
    fn own_keys(&self, _: &str) -> Vec<Key> {
        Vec::new()
    }
}

impl Indexed for Machine {
    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let keys = [
            cluster(self, namespace),
            class(&self.spec.provider_spec, namespace),
            hypervisor(self, namespace),
        ];
        keys.into_iter().flatten().collect()
    }
}

impl Indexed for MachineSet {
    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let spec = &self.spec.template.spec.provider_spec;
        [cluster(self, namespace), class(spec, namespace)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Indexed for MachineDeployment {
    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let spec = &self.spec.template.spec.provider_spec;
        [cluster(self, namespace), class(spec, namespace)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Indexed for Hypervisor {
    fn own_keys(&self, namespace: &str) -> Vec<Key> {
        let secret = &self.spec.credentials_ref.name;
        vec![Key::Secret(namespace.to_owned(), secret.clone())]
    }
}

impl Indexed for Host {
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
