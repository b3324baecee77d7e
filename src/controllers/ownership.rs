//! Protects other providers' objects: each pass over an object of the group `cluster.k8s.io` begins
//! with this check.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::engine::{Engine, ReconcileError};
use crate::memory::ByUid;
use crate::providers::ssh::claims;
use crate::store::{IndexKeys, Stores};
use tatara_core::api::conditions::{ConditionType, Finding, Reason};
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, FIELD_MANAGER, LABEL_CLUSTER};
use tatara_core::api::ownership::{self, Place, Whose};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{
    Cluster, Machine, MachineClass, MachineDeployment, MachineSet, MachineSpec,
};

/// An object that may belong to another provider.
pub trait ProviderObject:
    IndexKeys + Resource<DynamicType = (), Scope = NamespaceResourceScope>
{
    /// Its provider.
    fn whose(&self, stores: &Stores) -> Whose;

    /// Whether it counts as Tatara's. An unreadable one does: others may wait for it.
    fn is_ours(&self, stores: &Stores) -> bool {
        unreadable(self).is_some() || self.whose(stores) == Whose::Ours
    }
}

impl ProviderObject for Cluster {
    fn whose(&self, _: &Stores) -> Whose {
        ownership::of_cluster(self)
    }
}

impl ProviderObject for MachineClass {
    fn whose(&self, _: &Stores) -> Whose {
        ownership::of_class(self)
    }
}

impl ProviderObject for Machine {
    fn whose(&self, stores: &Stores) -> Whose {
        let by_spec = of_machines(stores, self, &self.spec, Place::Machine);
        let is_placed = || self.annotations().contains_key(ANNOTATION_HYPERVISOR);
        // a Machine with a claim or a Hypervisor remains ours
        let is_held = || is_placed() || !claims::of_machine(&stores.hosts, self).is_empty();
        if by_spec != Whose::Ours && is_held() {
            return Whose::Ours;
        }
        by_spec
    }
}

impl ProviderObject for MachineSet {
    fn whose(&self, stores: &Stores) -> Whose {
        of_machines(stores, self, &self.spec.template.spec, Place::Template)
    }
}

impl ProviderObject for MachineDeployment {
    fn whose(&self, stores: &Stores) -> Whose {
        of_machines(stores, self, &self.spec.template.spec, Place::Template)
    }
}

fn of_machines<K: IndexKeys>(
    stores: &Stores,
    object: &K,
    spec: &MachineSpec,
    place: Place,
) -> Whose {
    if ownership::says_itself(spec) {
        return ownership::of_machines(spec, place, None, None);
    }
    let namespace = object.namespace().unwrap_or_default();
    let source = spec.provider_spec.value_from.as_ref();
    let class = source.and_then(|source| source.machine_class.as_ref());
    // a class of another namespace is ignored
    let class = class.filter(|class| {
        let of = class.namespace.as_deref().unwrap_or_default();
        of.is_empty() || of == namespace
    });
    let class = class.and_then(|class| stores.machine_classes.get(&namespace, &class.name));
    let label = object.labels().get(LABEL_CLUSTER);
    let cluster = label.and_then(|name| stores.clusters.get(&namespace, name));
    ownership::of_machines(spec, place, class.as_deref(), cluster.as_deref())
}

/// Actions already taken on objects that are not ours: UID to generation. Lost at a restart; an
/// existing Event is not duplicated then, because its name contains the generation.
#[derive(Default)]
pub struct ForeignObjects(ByUid<ForeignRecord>);

#[derive(Clone, Default)]
struct ForeignRecord {
    /// Generation for which an Event was written.
    told: Option<i64>,
    /// Generation for which the writer of our finalizers and labels was determined.
    looked: Option<i64>,
}

impl ForeignObjects {
    /// Forgets an object.
    pub fn forget(&self, uid: &str) {
        self.0.remove(uid);
    }
}

/// Whether an object is ours and may be reconciled. For an object of unknown provider an Event is
/// written once per generation. From another provider's object, metadata that an earlier Tatara
/// wrote is removed.
///
/// # Errors
/// `ReconcileError::NotLeading` without leadership; `Api` or `Conflict` when our finalizers and
/// labels cannot be removed.
pub async fn is_ours<K>(
    engine: &Engine,
    regarded: &ForeignObjects,
    object: &Arc<K>,
) -> Result<bool, ReconcileError>
where
    K: ProviderObject + Clone + DeserializeOwned + std::fmt::Debug,
{
    let uid = object.uid().unwrap_or_default();
    let now = Some(object.meta().generation.unwrap_or_default());
    let done = regarded.0.get(&uid).unwrap_or_default();
    match object.whose(&engine.stores) {
        Whose::Ours => return Ok(true),
        Whose::Unknown(why) => {
            if done.told != now {
                engine.must_lead()?;
                let finding =
                    Finding::unknown(ConditionType::ProviderKnown, Reason::ProviderUnknown, why);
                let events = &engine.events;
                if events.publish_once(object.as_ref(), &finding).await {
                    regarded.0.update(&uid, |done| done.told = now);
                }
            }
            // a deletion must not wait for metadata that we wrote before its provider was removed
            if object.meta().deletion_timestamp.is_none() {
                return Ok(false);
            }
        }
        Whose::Foreign(_) => {}
    }
    if done.looked != now && ownership::bears_ours(object.meta()) {
        engine.must_lead()?;
        take_off(engine, object.as_ref()).await?;
        regarded.0.update(&uid, |done| done.looked = now);
    }
    Ok(false)
}

/// Removes our finalizers and labels, if the managed fields of the object, read live, show that we
/// wrote them.
async fn take_off<K>(engine: &Engine, known: &K) -> Result<(), ReconcileError>
where
    K: ProviderObject + Clone + DeserializeOwned + std::fmt::Debug,
{
    let (namespace, name) = (known.namespace().unwrap_or_default(), known.name_any());
    let what = |verb: &str| format!("{verb} {} {namespace}/{name}", K::kind(&()));
    let api: Api<K> = Api::namespaced(engine.client.clone(), &namespace);
    let live = api.get_metadata_opt(&name).await;
    let live = live.map_err(ReconcileError::api(what("read")))?;
    let Some(live) = live.filter(|live| live.uid() == known.uid()) else {
        return Ok(());
    };
    let Some(mut change) = ownership::taken_off(&live.metadata) else {
        return Ok(());
    };
    change["uid"] = json!(live.uid());
    change["resourceVersion"] = json!(live.resource_version());
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    tracing::info!(kind = %K::kind(&()), namespace, name, %change, "another provider's: taking off what Tatara wrote");
    let patch = Patch::Merge(json!({ "metadata": change }));
    let written = api.patch_metadata(&name, &params, &patch).await;
    written
        .map(drop)
        .map_err(ReconcileError::api(what("write")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatara_core::api::{Host, MachineSpec};

    #[test]
    fn a_machine_that_something_is_held_for_stays_ours_whatever_its_spec_becomes() {
        let aws = json!({ "apiVersion": "awsprovider/v1alpha1", "kind": "AWSMachineProviderSpec" });
        let mut machine = Machine::new("m", MachineSpec::default());
        machine.metadata.namespace = Some("n".into());
        machine.metadata.uid = Some("u1".into());
        machine.spec.provider_spec.value = Some(aws);
        let stores = Stores::default();
        assert!(!machine.is_ours(&stores));
        let mut placed = machine.clone();
        let place = (ANNOTATION_HYPERVISOR.to_owned(), "h".to_owned());
        placed.metadata.annotations = Some([place].into());
        assert!(placed.is_ours(&stores));
        let claimed: Host = serde_json::from_value(json!({
            "metadata": { "namespace": "n", "name": "h" },
            "spec": {
                "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "ssh" } },
                "consumerRef": { "name": "m", "uid": "u1", "cluster": "c" },
            },
        }))
        .expect("a Host");
        stores.hosts.hold(claimed);
        assert!(machine.is_ours(&stores));
    }
}
