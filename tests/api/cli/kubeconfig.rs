//! `tatara kubeconfig`.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tatara_core::api::Cluster;

use super::{Site, make, run};
use crate::support::kinds::condition;

fn kubeconfig(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatara"));
    command.args(["kubeconfig", "demo", "-n", namespace]);
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    command
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_kubeconfig_is_had_once_there_is_a_control_plane_by_those_who_may_read_its_secret() {
    const NAMESPACE: &str = "access";
    let site = Site::new(NAMESPACE).await;
    let admin = site.plane.dir().join("admin.kubeconfig");
    let refused = |kubeconfig_of: &Path, wanted: &str| {
        let (code, out, error) = run(kubeconfig(kubeconfig_of, NAMESPACE, &[]));
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert!(error.starts_with(&format!("error: {wanted}")), "{error}");
    };
    refused(
        &admin,
        "Cluster demo does not exist in namespace access; list them: kubectl -n access get clusters",
    );
    site.cluster("False", "Initializing").await;
    refused(
        &admin,
        "Cluster demo has no control plane yet (Initializing); wait for it: tatara describe cluster demo -n access --watch --until-ready",
    );

    let status = json!({"status": {"conditions": [condition("ControlPlaneInitialized", "True", "Initialized", "")]}});
    let api = site.api::<Cluster>();
    let (params, patch) = (PatchParams::default(), Patch::Merge(status));
    let patched = api.patch_status("demo", &params, &patch).await;
    patched.expect("a status");
    refused(
        &admin,
        "Secret demo-kubeconfig in namespace access has no kubeconfig (key value)",
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "demo-kubeconfig"},
        "stringData": {"value": "kind: Config\n"}});
    make(site.api::<Secret>(), secret).await;
    let (code, out, error) = run(kubeconfig(&admin, NAMESPACE, &[]));
    assert_eq!(
        (code, out.as_str(), error.as_str()),
        (Some(0), "kind: Config\n", "")
    );
    let file = site.plane.dir().join("demo.kubeconfig");
    let name = file.to_str().expect("a path");
    let (code, out, error) = run(kubeconfig(&admin, NAMESPACE, &["-o", name]));
    assert_eq!((code, out.as_str(), error.as_str()), (Some(0), "", ""));
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "kind: Config\n"
    );

    // who may look at Clusters need not be their administrator
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks-at-clusters"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "looks-at-clusters"},
        "rules": [{"apiGroups": ["cluster.k8s.io"], "resources": ["clusters"], "verbs": ["get", "list"]}]});
    make(Api::<ClusterRole>::all(site.client.clone()), role).await;
    make(site.api::<RoleBinding>(), binding).await;
    let mut command = site.plane.command(&["kubeconfig"], &["default", NAMESPACE]);
    let viewer = site.plane.dir().join("viewer.kubeconfig");
    std::fs::write(&viewer, command.output().expect("a kubeconfig").stdout).expect("a file");
    refused(
        &viewer,
        "you are not allowed to read secrets in namespace access; ask an administrator to run: kubectl -n access create rolebinding NAME --clusterrole=edit --user=YOU",
    );
}
