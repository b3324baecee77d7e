//! Which labels a kubelet may give its own Node (Kubernetes' `IsKubeletLabel`, and the admission
//! plugin `NodeRestriction`).

use std::collections::BTreeMap;

/// Labels of Kubernetes' own namespaces that a kubelet may set.
const ALLOWED: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Whether a kubelet may set this label on its Node. Others, such as
/// `node-role.kubernetes.io/worker`, make the kubelet refuse to start.
pub fn kubelet_may_set(label: &str) -> bool {
    let Some((namespace, _)) = label.split_once('/') else {
        return true;
    };
    let within = |parent: &str| {
        namespace
            .strip_suffix(parent)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let reserved = within("kubernetes.io") || within("k8s.io");
    !reserved
        || ALLOWED.contains(&label)
        || within("kubelet.kubernetes.io")
        || within("node.kubernetes.io")
}

/// The labels of `labels` that the kubelet sets when it registers, and those that are left to the
/// controller once the Node exists.
pub fn split(
    labels: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    labels
        .clone()
        .into_iter()
        .partition(|(label, _)| kubelet_may_set(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_sets_labels_of_people_and_the_few_of_kubernetes_that_are_its_own() {
        for (label, may) in [
            ("rack", true),
            ("example.com/rack", true),
            ("notkubernetes.io/x", true),
            ("topology.kubernetes.io/zone", true),
            ("node.kubernetes.io/pool", true),
            ("x.node.kubernetes.io/pool", true),
            ("kubelet.kubernetes.io/x", true),
            ("node-role.kubernetes.io/worker", false),
            ("node-restriction.kubernetes.io/team", false),
            ("kubernetes.io/other", false),
            ("cluster.k8s.io/x", false),
        ] {
            assert_eq!(kubelet_may_set(label), may, "{label}");
        }
    }

    #[test]
    fn splitting_loses_no_label() {
        let labels: BTreeMap<_, _> = ["rack", "node-role.kubernetes.io/worker"]
            .map(|label| (label.to_owned(), "x".to_owned()))
            .into();
        let (kubelet, controller) = split(&labels);
        assert_eq!(kubelet.keys().collect::<Vec<_>>(), ["rack"]);
        assert_eq!(
            controller.keys().collect::<Vec<_>>(),
            ["node-role.kubernetes.io/worker"]
        );
    }
}
