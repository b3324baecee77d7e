//! kubeadm's marks on the Node of a control plane: phase `mark-control-plane` of `init` and `join`.
//! kubeadm sets them once, and no kubelet does.

use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;

use super::input::CONTROL_PLANE_TAINT;
use crate::api::ClusterProviderSpec;

/// The labels, which have no value.
pub const CONTROL_PLANE_LABELS: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
];

/// The taints: the list of the user, also an empty one, or else kubeadm's own. `initializes`: of
/// the machine that runs `kubeadm init`, not of one that joins.
pub fn control_plane_taints(user: &ClusterProviderSpec, initializes: bool) -> Vec<Taint> {
    let document = if initializes {
        &user.kubeadm.init_configuration
    } else {
        &user.kubeadm.join_configuration
    };
    let registration = document.get("nodeRegistration");
    let listed = registration.and_then(|registration| registration.get("taints")?.as_array());
    match listed {
        Some(listed) => listed.iter().filter_map(taint).collect(),
        None => vec![Taint {
            key: CONTROL_PLANE_TAINT.to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        }],
    }
}

fn taint(listed: &Value) -> Option<Taint> {
    let text = |field: &str| listed.get(field)?.as_str().map(str::to_owned);
    Some(Taint {
        key: text("key")?,
        effect: text("effect")?,
        value: text("value"),
        ..Taint::default()
    })
}
