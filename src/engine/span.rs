//! Fields of every log line that name the object of a pass.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};
use tracing::Span;

use tatara_core::api::names::LABEL_CLUSTER;
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// The objects that a log line names; None if there is none or it is unknown.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Name of the Cluster.
    pub cluster: Option<String>,
    /// Name of the Machine.
    pub machine: Option<String>,
    /// Name of the Host.
    pub host: Option<String>,
}

/// An object that a controller reconciles, as log lines name it.
pub trait LogContext: Resource<DynamicType = ()> + Sized {
    /// The objects to name for a pass over it.
    fn about(&self) -> About {
        About {
            cluster: self.labels().get(LABEL_CLUSTER).cloned(),
            ..About::default()
        }
    }
}

/// The span of a pass over an object, with the fields `cluster`, `machine` and `host` if they are
/// known.
pub fn span<K: LogContext>(controller: &'static str, object: &K) -> Span {
    let about = object.about();
    tracing::info_span!(
        "reconcile",
        controller,
        namespace = object.namespace().unwrap_or_default(),
        // the JSON log uses `name` for the span itself
        object = object.name_any(),
        cluster = about.cluster,
        machine = about.machine,
        host = about.host,
    )
}

impl LogContext for Cluster {
    fn about(&self) -> About {
        About {
            cluster: Some(self.name_any()),
            ..About::default()
        }
    }
}

impl LogContext for Machine {
    fn about(&self) -> About {
        About {
            cluster: self.labels().get(LABEL_CLUSTER).cloned(),
            machine: Some(self.name_any()),
            host: self.status.as_ref().and_then(|status| status.host.clone()),
        }
    }
}

impl LogContext for Host {
    fn about(&self) -> About {
        let consumer = self.spec.consumer_ref.as_ref();
        About {
            cluster: consumer.map(|consumer| consumer.cluster.clone()),
            machine: consumer.map(|consumer| consumer.name.clone()),
            host: Some(self.name_any()),
        }
    }
}

impl LogContext for Hypervisor {}
impl LogContext for MachineSet {}
impl LogContext for MachineDeployment {}
impl LogContext for MachineClass {}
impl LogContext for Secret {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // called with json! at every place
    fn about<K: LogContext + serde::de::DeserializeOwned>(object: Value) -> [Option<String>; 3] {
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
