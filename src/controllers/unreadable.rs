//! Objects that cannot be read: they and their dependents are not reconciled. This is reported
//! once, and reconciliation resumes when they are corrected.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use crate::controllers::ownership::ProviderObject;
use crate::engine::Engine;
use crate::memory::ByUid;
use crate::store::{Key, Kind, Stores};
use tatara_core::api::conditions::{ConditionType, Finding, Reason};
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use tatara_core::api::ownership::Whose;
use tatara_core::api::readable::unreadable;
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet, ProviderSpec,
};
use tatara_core::remedy;

/// The published notice of each object, by UID: once, until it changes.
#[derive(Default)]
pub struct UnreadableNotices(ByUid<(Option<i64>, String)>);

impl UnreadableNotices {
    fn is_news(&self, uid: String, said: (Option<i64>, String)) -> bool {
        self.0.insert(uid, said.clone()) != Some(said)
    }

    /// Forgets an object that is readable again, or deleted.
    pub fn forget(&self, uid: &str) {
        self.0.remove(uid);
    }
}

/// An object that depends on others: without them its desired state is unknown.
pub trait Leans: Resource<DynamicType = ()> + Sized {
    /// The first dependency that cannot be read: kind, name and cause.
    fn leans_on(&self, stores: &Stores) -> Option<String>;

    /// Whether its readable part shows that it is another provider's: then it is neither reported
    /// nor changed.
    fn is_foreign(&self, _: &Stores) -> bool {
        false
    }
}

/// Whether an object may not be reconciled at the moment. If it is ours, this is reported once.
pub async fn holds<K: Leans>(engine: &Engine, said: &UnreadableNotices, object: &K) -> bool {
    let Some(finding) = trouble_of(&engine.stores, object) else {
        said.forget(&object.uid().unwrap_or_default());
        return false;
    };
    if object.is_foreign(&engine.stores) {
        return true;
    }
    let news = (object.meta().generation, finding.message());
    if said.is_news(object.uid().unwrap_or_default(), news) {
        let (kind, namespace) = (K::kind(&()), object.namespace().unwrap_or_default());
        tracing::warn!(%kind, namespace, object = object.name_any(), reason = %finding.reason(), "{}", finding.message());
        engine.events.publish(object, &finding).await;
    }
    true
}

/// Whether an object may not be reconciled at the moment. Nothing is reported.
pub fn is_held<K: Leans>(stores: &Stores, object: &K) -> bool {
    trouble_of(stores, object).is_some()
}

/// Why an object may not be reconciled.
fn trouble_of<K: Leans>(stores: &Stores, object: &K) -> Option<Finding> {
    let namespace = object.namespace().unwrap_or_default();
    let (reason, message) = if let Some(why) = unreadable(object) {
        let message = format!(
            "it cannot be read, so nothing is done with it or below it: {why}. Correct it: {}",
            edit(K::kind(&()).as_ref(), &object.name_any(), &namespace)
        );
        (Reason::Unreadable, message)
    } else if let Some(other) = stores.unknown_in(&namespace) {
        (Reason::NamespaceHeld, namespace_held(&other, &namespace))
    } else {
        let other = object.leans_on(stores)?;
        let message = format!("nothing is done with it while {other}");
        (Reason::Held, message)
    };
    Some(Finding::no(ConditionType::Readable, reason, message))
}

fn is_foreign<K: ProviderObject>(object: &K, stores: &Stores) -> bool {
    matches!(object.whose(stores), Whose::Foreign(_))
}

fn trouble<K: Resource<DynamicType = ()>>(object: &K) -> Option<String> {
    let (kind, name) = (K::kind(&()), object.name_any());
    let namespace = object.namespace().unwrap_or_default();
    unreadable(object).map(|why| {
        let edit = edit(kind.as_ref(), &name, &namespace);
        format!("{kind} {name} cannot be read ({why}); correct it: {edit}")
    })
}

/// The first unreadable object of a kind in a namespace that is not another provider's.
fn trouble_in<K>(stores: &Stores, all: &Kind<K>, namespace: &str) -> Option<String>
where
    K: ProviderObject + Clone + 'static,
{
    let found = all.by(&Key::UnreadableIn(namespace.to_owned()));
    let mut ours = found.iter().filter(|one| !is_foreign(one.as_ref(), stores));
    ours.find_map(|one| trouble(one.as_ref()))
}

/// `other` is the kind and the name of an object whose owner, Cluster or claim cannot be read.
fn namespace_held(other: &str, namespace: &str) -> String {
    let (kind, name) = other.split_once(' ').unwrap_or((other, "NAME"));
    let edit = edit(kind, name, namespace);
    format!(
        "nothing is done in namespace {namespace}, because the owner, Cluster or claim of {other} cannot be read; its Event names the field. Correct it: {edit}"
    )
}

fn edit(kind: &str, name: &str, namespace: &str) -> String {
    remedy::edit(&kind.to_lowercase(), namespace, name)
}

fn cluster(stores: &Stores, object: &impl ResourceExt) -> Option<String> {
    let name = object.labels().get(LABEL_CLUSTER)?;
    trouble(stores.clusters.get(&object.namespace()?, name)?.as_ref())
}

fn class(stores: &Stores, object: &impl ResourceExt, spec: &ProviderSpec) -> Option<String> {
    let source = spec.value_from.as_ref().filter(|_| spec.value.is_none())?;
    let name = &source.machine_class.as_ref()?.name;
    trouble(
        stores
            .machine_classes
            .get(&object.namespace()?, name)?
            .as_ref(),
    )
}

impl Leans for Machine {
    fn leans_on(&self, stores: &Stores) -> Option<String> {
        let claim = Key::Claim(self.uid().unwrap_or_default());
        let held = || {
            stores
                .hosts
                .by(&claim)
                .iter()
                .find_map(|host| trouble(host.as_ref()))
        };
        let placed = || {
            let name = self.annotations().get(ANNOTATION_HYPERVISOR)?;
            trouble(stores.hypervisors.get(&self.namespace()?, name)?.as_ref())
        };
        cluster(stores, self)
            .or_else(|| class(stores, self, &self.spec.provider_spec))
            .or_else(held)
            .or_else(placed)
    }

    fn is_foreign(&self, stores: &Stores) -> bool {
        is_foreign(self, stores)
    }
}

impl Leans for MachineSet {
    fn leans_on(&self, stores: &Stores) -> Option<String> {
        let spec = &self.spec.template.spec.provider_spec;
        cluster(stores, self).or_else(|| class(stores, self, spec))
    }

    fn is_foreign(&self, stores: &Stores) -> bool {
        is_foreign(self, stores)
    }
}

impl Leans for MachineDeployment {
    fn leans_on(&self, stores: &Stores) -> Option<String> {
        let spec = &self.spec.template.spec.provider_spec;
        let owned = Key::Owner(self.uid().unwrap_or_default());
        let sets = || {
            stores
                .machine_sets
                .by(&owned)
                .iter()
                .find_map(|set| trouble(set.as_ref()))
        };
        cluster(stores, self)
            .or_else(|| class(stores, self, spec))
            .or_else(sets)
    }

    fn is_foreign(&self, stores: &Stores) -> bool {
        is_foreign(self, stores)
    }
}

/// A user of the class may be among the unreadable objects.
impl Leans for MachineClass {
    fn leans_on(&self, stores: &Stores) -> Option<String> {
        let namespace = self.namespace()?;
        trouble_in(stores, &stores.machine_deployments, &namespace)
            .or_else(|| trouble_in(stores, &stores.machine_sets, &namespace))
            .or_else(|| trouble_in(stores, &stores.machines, &namespace))
    }

    fn is_foreign(&self, stores: &Stores) -> bool {
        is_foreign(self, stores)
    }
}

/// A user of the Secret may be among the unreadable objects.
impl Leans for Secret {
    fn leans_on(&self, stores: &Stores) -> Option<String> {
        let key = Key::UnreadableIn(self.namespace()?);
        let hypervisors = stores.hypervisors.by(&key);
        let hypervisors = hypervisors.iter().find_map(|h| trouble(h.as_ref()));
        let hosts = || {
            stores
                .hosts
                .by(&key)
                .iter()
                .find_map(|host| trouble(host.as_ref()))
        };
        hypervisors.or_else(hosts)
    }
}

impl Leans for Cluster {
    fn leans_on(&self, _: &Stores) -> Option<String> {
        None
    }

    fn is_foreign(&self, stores: &Stores) -> bool {
        is_foreign(self, stores)
    }
}

impl Leans for Host {
    fn leans_on(&self, _: &Stores) -> Option<String> {
        None
    }
}

impl Leans for Hypervisor {
    fn leans_on(&self, _: &Stores) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;
    use tatara_core::api::readable::UNREADABLE;

    fn mark(meta: &mut ObjectMeta) {
        let why = (UNREADABLE.to_owned(), "spec: a number".to_owned());
        meta.annotations.get_or_insert_default().extend([why]);
    }

    /// A Machine of a Cluster that cannot be read.
    fn machine(stores: &Stores, value: &Value) -> Machine {
        let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "" });
        let cluster = json!({ "metadata": { "namespace": "n", "name": "c" }, "spec": { "clusterNetwork": network } });
        let mut cluster: Cluster = serde_json::from_value(cluster).expect("a Cluster");
        mark(&mut cluster.metadata);
        stores.clusters.hold(cluster);
        let machine = json!({ "metadata": { "namespace": "n", "name": "m", "labels": { (LABEL_CLUSTER): "c" } },
            "spec": { "providerSpec": { "value": value } } });
        serde_json::from_value(machine).expect("a Machine")
    }

    #[test]
    fn whose_it_is_comes_before_what_is_said_of_it() {
        let spec = |group: &str, kind: &str| json!({ "apiVersion": group, "kind": kind });
        for (value, is_foreign) in [
            (spec("tatara.dev/v1alpha1", "SSHMachineProviderSpec"), false),
            (spec("awsprovider/v1alpha1", "AWSMachineProviderSpec"), true),
        ] {
            let stores = Stores::default();
            let mut machine = machine(&stores, &value);
            assert_eq!(machine.is_foreign(&stores), is_foreign, "{value}");
            let held = trouble_of(&stores, &machine).map(|finding| finding.reason());
            assert_eq!(held, Some(Reason::Held), "{value}");
            mark(&mut machine.metadata);
            let bad = trouble_of(&stores, &machine).map(|finding| finding.reason());
            assert_eq!(bad, Some(Reason::Unreadable), "{value}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_the_command_that_corrects_it() {
        let metadata = json!({ "name": "h1", "namespace": "metal", "annotations": { UNREADABLE: "spec.ssh.port: 70000" } });
        let spec =
            json!({ "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "key" } } });
        let host: Host =
            serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).expect("a Host");
        assert_eq!(
            trouble(&host).as_deref(),
            Some(
                "Host h1 cannot be read (spec.ssh.port: 70000); correct it: kubectl edit host h1 -n metal"
            )
        );
        let says = namespace_held("MachineSet a", "metal");
        assert!(
            says.contains("owner, Cluster or claim of MachineSet a cannot be read"),
            "{says}"
        );
        assert!(
            says.ends_with("kubectl edit machineset a -n metal"),
            "{says}"
        );
    }
}
