//! What every line of the log says of the object that it is about.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};
use tracing::Span;

use crate::api::names::LABEL_CLUSTER;
use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};

/// The objects that people look for in a log; None where there is none, or it is not known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Name of the Cluster.
    pub cluster: Option<String>,
    /// Name of the Machine.
    pub machine: Option<String>,
    /// Name of the Host.
    pub host: Option<String>,
}

/// An object that passes are made over, as log lines name it.
pub trait Traced: Resource<DynamicType = ()> + Sized {
    /// What a pass over it is about.
    fn about(&self) -> About {
        About {
            cluster: self.labels().get(LABEL_CLUSTER).cloned(),
            ..About::default()
        }
    }
}

/// The span of a pass over an object, with the fields `cluster`, `machine` and `host` where they are known.
pub fn span<K: Traced>(controller: &'static str, object: &K) -> Span {
    let about = object.about();
    tracing::info_span!(
        "reconcile",
        controller,
        namespace = object.namespace().unwrap_or_default(),
        // `name` is what the log in JSON calls the span itself
        object = object.name_any(),
        cluster = about.cluster,
        machine = about.machine,
        host = about.host,
    )
}

impl Traced for Cluster {
    fn about(&self) -> About {
        About {
            cluster: Some(self.name_any()),
            ..About::default()
        }
    }
}

impl Traced for Machine {
    fn about(&self) -> About {
        About {
            cluster: self.labels().get(LABEL_CLUSTER).cloned(),
            machine: Some(self.name_any()),
            host: self.status.as_ref().and_then(|status| status.host.clone()),
        }
    }
}

impl Traced for Host {
    fn about(&self) -> About {
        let consumer = self.spec.consumer_ref.as_ref();
        About {
            cluster: consumer.map(|consumer| consumer.cluster.clone()),
            machine: consumer.map(|consumer| consumer.name.clone()),
            host: Some(self.name_any()),
        }
    }
}

impl Traced for Hypervisor {}
impl Traced for MachineSet {}
impl Traced for MachineDeployment {}
impl Traced for MachineClass {}
impl Traced for Secret {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // called with json! at every place
    fn about<K: Traced + serde::de::DeserializeOwned>(object: Value) -> [Option<String>; 3] {
        let object: K = serde_json::from_value(object).expect("an object");
        let about = object.about();
        [about.cluster, about.machine, about.host]
    }

    #[test]
    fn an_object_names_the_cluster_the_machine_and_the_host_that_it_belongs_to() {
        let some = |name: &str| Some(name.to_owned());
        let labels = json!({(LABEL_CLUSTER): "c"});
        let machine = json!({
            "metadata": {"name": "m", "labels": labels},
            "spec": {"versions": {"kubelet": "v1.36.3"}},
            "status": {"host": "h"},
        });
        assert_eq!(about::<Machine>(machine), [some("c"), some("m"), some("h")]);
        let ssh = json!({"address": "192.0.2.1", "credentialsRef": {"name": "ssh"}});
        let claim = json!({"name": "m", "uid": "1", "cluster": "c"});
        let host = |spec| json!({"metadata": {"name": "h"}, "spec": spec});
        assert_eq!(
            about::<Host>(host(json!({"ssh": ssh, "consumerRef": claim}))),
            [some("c"), some("m"), some("h")]
        );
        let free = about::<Host>(host(json!({"ssh": ssh})));
        assert_eq!(free, [None, None, some("h")]);
        let class = json!({"metadata": {"name": "x", "labels": labels}, "providerSpec": {}});
        assert_eq!(about::<MachineClass>(class), [some("c"), None, None]);
    }
}
