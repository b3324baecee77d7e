//! `UpgradeConfiguration`.

use serde_json::{Value, json};

use crate::api::ClusterProviderSpec;
use crate::kubeadm::{KubernetesVersion, addons, upgrade};

#[test]
fn an_addon_that_init_did_not_install_is_not_installed_by_an_upgrade() {
    let user = |value: Value| -> ClusterProviderSpec {
        serde_json::from_value(json!({ "kubeadm": value })).expect("settings")
    };
    let cilium = user(json!({
        "initConfiguration": { "skipPhases": ["addon/kube-proxy", "upload-certs"] },
        "upgradeConfiguration": { "node": { "skipPhases": ["preflight"] } },
    }));
    let version = |text: &str| text.parse::<KubernetesVersion>().expect("a version");
    let written = |user, text| upgrade(user, &version(text), true).expect("a document");
    let text = written(&cilium, "v1.36.3");
    assert_eq!(text.matches("addon/kube-proxy").count(), 2, "{text}");
    assert!(
        text.contains("preflight") && !text.contains("upload-certs"),
        "{text}"
    );
    // before, it has no such phases
    let text = written(&cilium, "v1.31.9");
    assert!(!text.contains("addon/kube-proxy"), "{text}");
    assert_eq!(addons(&cilium), ["coredns"]);
    assert_eq!(addons(&user(json!({}))), ["coredns", "kube-proxy"]);
    let none = json!({ "upgradeConfiguration": { "node": { "skipPhases": ["addon"] } } });
    assert!(addons(&user(none)).is_empty());
    // what kubeadm would refuse is not touched
    let odd = json!({
        "initConfiguration": { "skipPhases": ["addon"] }, "upgradeConfiguration": { "node": "x" },
    });
    let _ = upgrade(&user(odd), &version("v1.36.3"), true);
}
