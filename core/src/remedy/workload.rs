//! What a person does in a workload cluster, whose kubeconfig nobody may have at hand.

use crate::words::word;

fn kubectl(namespace: &str, cluster: &str, command: &str) -> String {
    format!("kubectl --kubeconfig <(tatara kubeconfig {cluster} -n {namespace}) {command}")
}

/// Deletes a Node.
pub fn delete_node(namespace: &str, cluster: &str, node: &str) -> String {
    let command = format!("delete node {}", word(node));
    kubectl(namespace, cluster, &command)
}

/// Lets a Node take pods again.
pub fn uncordon_node(namespace: &str, cluster: &str, node: &str) -> String {
    kubectl(namespace, cluster, &format!("uncordon {}", word(node)))
}

/// Which volumes are attached, and to what.
pub fn volume_attachments(namespace: &str, cluster: &str) -> String {
    kubectl(namespace, cluster, "get volumeattachments")
}

/// Who asks so much of an API server.
pub fn api_load(namespace: &str, cluster: &str) -> String {
    let command = "get --raw /debug/api_priority_and_fairness/dump_priority_levels";
    kubectl(namespace, cluster, command)
}

/// What an API server waits for.
pub fn api_readiness(namespace: &str, cluster: &str) -> String {
    kubectl(namespace, cluster, "get --raw '/readyz?verbose'")
}

/// Evicts the pods of a Node of a cluster whose kubeconfig the reader has.
pub fn drain() -> &'static str {
    "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data"
}

/// Gives the administrators of kubeadm their rights, on the host of a control plane.
pub fn bind_administrators() -> &'static str {
    "kubectl --kubeconfig /etc/kubernetes/super-admin.conf create clusterrolebinding kubeadm:cluster-admins --clusterrole=cluster-admin --group=kubeadm:cluster-admins"
}

/// Prints a kubeconfig with the data of the files that it names.
pub fn flat_kubeconfig() -> &'static str {
    "kubectl config view --flatten --minify"
}

/// The same, with what kubectl hides.
pub fn whole_kubeconfig() -> &'static str {
    "kubectl config view --raw --flatten --minify"
}
