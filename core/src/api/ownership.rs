//! Whose an object of the group `cluster.k8s.io` is. The group is shared: objects of other providers may stand in the
//! same management cluster. This is decided before anything is done with an object: what is not ours is not written
//! to, and nothing below it is deleted.

use kube::ResourceExt;
use kube::core::ObjectMeta;
use serde_json::{Map, Value, json};

use super::names::{
    ANNOTATION_INITIALIZED, ANNOTATION_TURN, FIELD_MANAGER, FINALIZER_CLUSTER, FINALIZER_IN_USE,
    FINALIZER_MACHINE, FINALIZER_PROFILE, LABEL_CLASS_IN_USE, LABEL_CLUSTER, LABEL_CONTROL_PLANE,
};
use super::{Cluster, MachineClass, MachineSpec, ProviderSpec, TATARA_GROUP};

/// Kinds of the provider's object in a Machine, in what makes Machines, and in a MachineClass.
const OF_MACHINES: [&str; 3] = [
    "SSHMachineProviderSpec",
    "LibvirtMachineProviderSpec",
    "SimulatedMachineProviderSpec",
];
/// Kind of the provider's object in a Cluster.
const OF_CLUSTERS: [&str; 1] = ["ClusterProviderSpec"];

/// Finalizers that Tatara writes on objects of the group; the first two are those of every provider of 2019.
const FINALIZERS: [&str; 4] = [
    FINALIZER_CLUSTER,
    FINALIZER_MACHINE,
    FINALIZER_IN_USE,
    FINALIZER_PROFILE,
];
/// Labels that Tatara writes on objects of the group.
const LABELS: [&str; 2] = [LABEL_CLASS_IN_USE, LABEL_CONTROL_PLANE];

/// Whose an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Tatara's.
    Ours,
    /// Another provider's, by this `apiVersion` and `kind`.
    Foreign(String),
    /// Its provider is unknown: why, and what to write, as a message.
    Unknown(String),
}

/// What shows to which provider an object belongs.
#[derive(Clone, Debug)]
pub struct Signs<'a> {
    /// It has marks that only Tatara writes, so something of Tatara's runs: it stays Tatara's, whatever its spec becomes.
    pub marked: bool,
    /// The provider's object that it holds itself.
    pub spec: Option<&'a Value>,
    /// Where that is, or would be.
    pub place: Place<'a>,
    /// The class that it names, and the provider's object there, if there is one.
    pub class: Option<(&'a str, Option<&'a Value>)>,
    /// The provider if neither names one: that of its Cluster, if there is one; Tatara, for a Cluster.
    pub otherwise: Option<Whose>,
}

/// Where a provider's object is.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In a Cluster.
    Cluster,
    /// In a Machine.
    Machine,
    /// In a MachineSet or MachineDeployment.
    Template,
    /// In the MachineClass of this name.
    Class(&'a str),
}

/// Whose an object is: its own spec decides, then its class, then its Cluster.
pub fn whose(signs: Signs) -> Whose {
    if signs.marked {
        return Whose::Ours;
    }
    match (signs.spec, signs.class) {
        (Some(value), _) => says(value, signs.place),
        (None, Some((name, Some(value)))) => says(value, Place::Class(name)),
        (None, class) => signs
            .otherwise
            .unwrap_or_else(|| nothing_says(class.map(|(name, _)| name), signs.place)),
    }
}

/// Whose a Cluster is. Without a provider spec it is ours, with all defaults.
pub fn of_cluster(cluster: &Cluster) -> Whose {
    let marks = [ANNOTATION_INITIALIZED, ANNOTATION_TURN];
    let is_marked = |mark: &&str| cluster.annotations().contains_key(*mark);
    let is_published = cluster.finalizers().iter().any(|f| f == FINALIZER_PROFILE);
    whose(Signs {
        marked: is_published || marks.iter().any(is_marked),
        spec: own(
            &cluster.spec.provider_spec,
            cluster.spec.provider_config.as_ref(),
        ),
        place: Place::Cluster,
        class: None,
        otherwise: Some(Whose::Ours),
    })
}

/// Whose a MachineClass is.
pub fn of_class(class: &MachineClass) -> Whose {
    whose(Signs {
        marked: false,
        spec: Some(class.value()),
        place: Place::Class(class.metadata.name.as_deref().unwrap_or_default()),
        class: None,
        otherwise: None,
    })
}

/// Whether a spec says by itself whose it is: neither its class nor its Cluster has to be looked at.
pub fn says_itself(spec: &MachineSpec) -> bool {
    is_marked(spec) || own(&spec.provider_spec, spec.provider_config.as_ref()).is_some()
}

/// Whether a spec has the identity that only Tatara writes: it is ours, whatever else it says.
pub fn is_marked(spec: &MachineSpec) -> bool {
    let id = spec.provider_id.as_deref().unwrap_or_default();
    id.starts_with("tatara://")
}

/// Whose a Machine is, or what makes Machines of this spec.
pub fn of_machines(
    spec: &MachineSpec,
    place: Place,
    class: Option<&MachineClass>,
    cluster: Option<&Cluster>,
) -> Whose {
    let source = &spec.provider_spec;
    let named = source.value_from.as_ref();
    let named = named.and_then(|from| from.machine_class.as_ref());
    whose(Signs {
        marked: is_marked(spec),
        spec: own(source, spec.provider_config.as_ref()),
        place,
        class: named.map(|named| (named.name.as_str(), class.map(MachineClass::value))),
        otherwise: cluster.map(of_cluster),
    })
}

/// The provider's object that an object holds itself; until 2018 it was called `providerConfig`.
fn own<'a>(spec: &'a ProviderSpec, config: Option<&'a Value>) -> Option<&'a Value> {
    let config = || config.map(|config| config.get("value").unwrap_or(config));
    spec.value.as_ref().or_else(config)
}

/// Whether an `apiVersion` is of our group.
pub fn is_our_group(api_version: &str) -> bool {
    api_version.split('/').next() == Some(TATARA_GROUP)
}

fn says(value: &Value, place: Place) -> Whose {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let is_our_kind = OF_MACHINES.iter().chain(&OF_CLUSTERS).any(|k| *k == kind);
    if is_our_group(api_version) {
        Whose::Ours
    } else if !api_version.is_empty() || !(kind.is_empty() || is_our_kind) {
        Whose::Foreign(format!("{api_version} {kind}").trim().to_owned())
    } else {
        let missing = match kind {
            "" => "neither apiVersion nor kind".to_owned(),
            kind => format!("kind {kind} and no apiVersion"),
        };
        Whose::Unknown(format!(
            "{} has {missing}, so its provider is unknown, and it is left alone; for Tatara write {}",
            place.path(),
            place.example()
        ))
    }
}

fn nothing_says(class: Option<&str>, place: Place) -> Whose {
    let (path, example) = (place.path(), place.example());
    Whose::Unknown(match class {
        Some(class) => format!(
            "MachineClass {class} does not exist in this namespace, and no Cluster names the provider, so \
             this object is left alone; create the class"
        ),
        None => format!(
            "there is no {path}, and the label {LABEL_CLUSTER} names no Cluster of this namespace, so the \
             provider is unknown, and this object is left alone; for Tatara write {path} with {example}"
        ),
    })
}

impl Place<'_> {
    fn path(self) -> String {
        match self {
            Self::Cluster | Self::Machine => "spec.providerSpec.value".into(),
            Self::Template => "spec.template.spec.providerSpec.value".into(),
            Self::Class(name) => format!("providerSpec of MachineClass {name}"),
        }
    }

    fn example(self) -> String {
        let kinds = match self {
            Self::Cluster => OF_CLUSTERS.join(""),
            _ => OF_MACHINES.join(" or "),
        };
        format!("apiVersion: tatara.dev/v1alpha1 and kind: {kinds}")
    }
}

/// Whether an object has finalizers or labels that Tatara writes, so that it is checked who wrote them.
pub fn bears_ours(meta: &ObjectMeta) -> bool {
    let finalizers = meta.finalizers.iter().flatten();
    let labels = meta.labels.iter().flatten();
    finalizers
        .into_iter()
        .any(|f| FINALIZERS.contains(&f.as_str()))
        || labels
            .into_iter()
            .any(|(key, _)| LABELS.contains(&key.as_str()))
}

/// The merge patch that removes the finalizers and labels that Tatara alone wrote, according to `metadata.managedFields`.
/// `None` if there is nothing to remove.
pub fn taken_off(meta: &ObjectMeta) -> Option<Value> {
    let finalizers = meta.finalizers.clone().unwrap_or_default();
    let ours = |f: &String| {
        FINALIZERS.contains(&f.as_str())
            && only_we_wrote(meta, "f:finalizers", &format!("v:{}", json!(f)))
    };
    let kept: Vec<&String> = finalizers.iter().filter(|f| !ours(f)).collect();
    let labels: Map<String, Value> = meta
        .labels
        .iter()
        .flatten()
        .filter(|(key, _)| LABELS.contains(&key.as_str()))
        .filter(|(key, _)| only_we_wrote(meta, "f:labels", &format!("f:{key}")))
        .map(|(key, _)| (key.clone(), Value::Null))
        .collect();
    let mut change = Map::new();
    if kept.len() < finalizers.len() {
        change.insert("finalizers".into(), json!(kept));
    }
    if !labels.is_empty() {
        change.insert("labels".into(), Value::Object(labels));
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

fn only_we_wrote(meta: &ObjectMeta, list: &str, item: &str) -> bool {
    let wrote = |fields: &Value| {
        let fields = fields.get("f:metadata").and_then(|meta| meta.get(list));
        fields.is_some_and(|fields| fields.get(item).is_some())
    };
    let entries = meta.managed_fields.iter().flatten();
    let mut writers = entries
        .filter(|entry| entry.fields_v1.as_ref().is_some_and(|f| wrote(&f.0)))
        .peekable();
    writers.peek().is_some() && writers.all(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER))
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
