//! The kubeadm settings of the Cluster that a node was made with: recorded on its Machine before kubeadm
//! runs, and compared with what the Cluster says now.

use kube::ResourceExt;
use serde_json::{Map, Value};

use crate::api::names::ANNOTATION_SETTINGS;
use crate::api::{ClusterProviderSpec, Machine};
use crate::core::kubeadm;
use crate::core::node::JobKind;

const CLUSTER: &str = "kubeadm.clusterConfiguration";
const INIT: &str = "kubeadm.initConfiguration";
const JOIN: &str = "kubeadm.joinConfiguration";
const KUBELET: &str = "kubeletConfiguration";
const KUBE_PROXY: &str = "kubeProxyConfiguration";

/// All settings, by their field of the provider spec.
fn all(spec: &ClusterProviderSpec) -> Map<String, Value> {
    let fields = [
        (CLUSTER, &spec.kubeadm.cluster_configuration),
        (INIT, &spec.kubeadm.init_configuration),
        (JOIN, &spec.kubeadm.join_configuration),
        (KUBELET, &spec.kubelet_configuration),
        (KUBE_PROXY, &spec.kube_proxy_configuration),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::Object(value.clone())));
    fields.into_iter().collect()
}

/// What the unit makes a node with. A node that joins gets the settings of the cluster from the cluster, which has them from
/// the Machine that made the control plane; any `other` control-plane Machine repeats them.
pub fn of(
    spec: &ClusterProviderSpec,
    unit: JobKind,
    is_control_plane: bool,
    other: Option<&Machine>,
) -> Value {
    let used: &[&str] = match unit {
        JobKind::Init => &[CLUSTER, INIT, KUBELET, KUBE_PROXY],
        JobKind::Join if is_control_plane => &[CLUSTER, JOIN, KUBELET],
        JobKind::Join => &[JOIN, KUBELET],
        _ => &[],
    };
    let mut settings = all(spec);
    settings.retain(|name, _| used.contains(&name.as_str()));
    if unit == JobKind::Join
        && let Some(mut others) = other.and_then(recorded)
    {
        for name in [CLUSTER, KUBELET] {
            if let (true, Some(value)) = (used.contains(&name), others.remove(name)) {
                settings.insert(name.to_owned(), value);
            }
        }
    }
    Value::Object(settings)
}

/// A sentence for each setting in which a Machine's node is behind its Cluster; nothing where it is not
/// known what the node was made with.
pub fn behind(machine: &Machine, spec: &ClusterProviderSpec) -> Vec<String> {
    let Some(recorded) = recorded(machine) else {
        return Vec::new();
    };
    let mut wanted = all(spec);
    wanted.retain(|name, _| recorded.contains_key(name));
    kubeadm::difference(&Value::Object(recorded), &Value::Object(wanted))
}

fn recorded(machine: &Machine) -> Option<Map<String, Value>> {
    let text = machine.annotations().get(ANNOTATION_SETTINGS)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(max_pods: u32, verbosity: &str) -> ClusterProviderSpec {
        let spec = json!({
            "kubeadm": {
                "clusterConfiguration": { "apiServer": { "extraArgs": [{ "name": "v", "value": verbosity }] } },
            },
            "kubeletConfiguration": { "maxPods": max_pods },
        });
        serde_json::from_value(spec).expect("settings")
    }

    fn made_with(settings: &Value) -> Machine {
        let manifest = json!({
            "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": { "name": "m", "annotations": { (ANNOTATION_SETTINGS): settings.to_string() } },
            "spec": {},
        });
        serde_json::from_value(manifest).expect("a Machine")
    }

    #[test]
    fn a_node_made_with_what_the_cluster_says_is_not_behind() {
        let spec = spec(110, "2");
        let first = made_with(&of(&spec, JobKind::Init, true, None));
        let joined = made_with(&of(&spec, JobKind::Join, false, Some(&first)));
        let second = made_with(&of(&spec, JobKind::Join, true, Some(&first)));
        for machine in [first, joined, second] {
            assert_eq!(behind(&machine, &spec), Vec::<String>::new());
        }
    }

    #[test]
    fn each_node_is_behind_in_what_it_was_made_with() {
        let first = made_with(&of(&spec(110, "2"), JobKind::Init, true, None));
        let new = spec(200, "4");
        assert_eq!(
            behind(&first, &new),
            [
                r#"kubeadm.clusterConfiguration.apiServer.extraArgs[v].value is "2", wanted "4""#,
                "kubeletConfiguration.maxPods is 110, wanted 200",
            ]
        );
        // it joins after the change, and gets what the cluster was made with all the same
        let second = made_with(&of(&new, JobKind::Join, true, Some(&first)));
        assert_eq!(behind(&second, &new), behind(&first, &new));
        let late = made_with(&of(&new, JobKind::Join, false, Some(&first)));
        assert_eq!(
            behind(&late, &new),
            ["kubeletConfiguration.maxPods is 110, wanted 200"]
        );
    }

    #[test]
    fn nothing_is_said_of_a_node_that_nothing_is_known_of() {
        let mut machine = made_with(&json!("not an object"));
        assert_eq!(behind(&machine, &spec(1, "1")), Vec::<String>::new());
        machine.metadata.annotations = None;
        assert_eq!(behind(&machine, &spec(1, "1")), Vec::<String>::new());
    }
}
