//! Objects that the tests share.

use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::wait::eventually;

pub fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

/// Makes a Node as a kubelet registers it.
pub async fn make_node(client: &Client, name: &str, provider_id: &str) -> Node {
    let node = json!({"metadata": {"name": name}, "spec": {"providerID": provider_id}});
    let nodes = Api::<Node>::all(client.clone());
    let made = nodes.create(&PostParams::default(), &from(node)).await;
    made.expect("a new node")
}

pub async fn patch_node(client: &Client, name: &str, patch: Value) -> Node {
    let nodes = Api::<Node>::all(client.clone());
    let patched = nodes
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    patched.expect("a patched node")
}

/// Writes condition Ready with a heart-beat, as a kubelet does.
pub async fn report_ready(client: &Client, name: &str, status: &str, heart_beat: &str) {
    let condition = json!({"type": "Ready", "status": status, "reason": "Test", "message": "",
        "lastTransitionTime": "2026-11-21T00:00:00Z", "lastHeartbeatTime": heart_beat});
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    let nodes = Api::<Node>::all(client.clone());
    let patched = nodes
        .patch_status(name, &PatchParams::default(), &patch)
        .await;
    patched.expect("a node's status");
}

/// Makes a namespace in which pods can be created.
pub async fn make_namespace(client: &Client, name: &str) {
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = from(json!({"metadata": {"name": name}}));
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("a new namespace");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
    eventually("its default service account", async || {
        accounts.get_opt("default").await.expect("an answer")
    })
    .await;
}
