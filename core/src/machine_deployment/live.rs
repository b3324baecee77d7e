//! Whether a MachineDeployment takes its next step, by its sets as they were read live.

use std::sync::Arc;

use crate::api::MachineSet;
use crate::api::readable::unreadable;
use crate::machine_set::Owner;

/// Whether all sets of the deployment with this UID can be read. The watch will show one that
/// cannot shortly, and the next pass waits until it is corrected.
pub fn may_step(sets: &[Arc<MachineSet>], uid: &str) -> bool {
    let mut own = sets
        .iter()
        .filter(|set| Owner::of(&set.metadata, uid) == Owner::Ours);
    own.all(|set| unreadable(set.as_ref()).is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::readable::UNREADABLE;

    #[test]
    fn no_step_is_taken_while_a_set_of_the_deployment_cannot_be_read() {
        let set = |deployment: &str, is_readable: bool| {
            let annotations = if is_readable {
                json!({})
            } else {
                json!({ (UNREADABLE): "spec" })
            };
            let owners = json!([{ "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment", "name": deployment,
                "uid": deployment, "controller": true }]);
            let set = json!({
                "metadata": { "name": "s", "annotations": annotations, "ownerReferences": owners },
                "spec": {
                    "replicas": 0, "selector": { "matchLabels": { "a": "b" } },
                    "template": { "spec": { "versions": { "kubelet": "v1.36.3" }, "providerSpec": { "value": {} } } },
                },
            });
            Arc::new(serde_json::from_value(set).expect("a set"))
        };
        for (case, sets, may) in [
            ("none", vec![], true),
            ("all can", vec![set("md", true), set("md", true)], true),
            ("one cannot", vec![set("md", true), set("md", false)], false),
            ("another's", vec![set("md", true), set("x", false)], true),
        ] {
            assert_eq!(may_step(&sets, "md"), may, "{case}");
        }
    }
}
