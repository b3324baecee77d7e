//! Our kinds on a real API server, and objects of them.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara_core::api::crd;

/// Installs the definitions and waits until they are served.
pub async fn install(client: &Client) {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in crd::all() {
        let parameters = PatchParams::apply("test").force();
        let made = api
            .patch(&crd.name_any(), &parameters, &Patch::Apply(&crd))
            .await;
        made.expect("a definition");
    }
    for crd in crd::all() {
        let name = crd.name_any();
        let served = await_condition(api.clone(), &name, is_crd_established());
        served.await.expect("a served definition");
    }
}

pub async fn make_namespace(client: &Client, name: &str) {
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let api = Api::<Namespace>::all(client.clone());
    let made = api.create(&PostParams::default(), &namespace).await;
    made.expect("a namespace");
}

/// Applies an object, and then its status as a controller would.
pub async fn apply<K>(api: &Api<K>, object: Value, status: Value) -> K
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let name = object["metadata"]["name"].as_str().expect("a name");
    let parameters = PatchParams::apply("test").force();
    let applied = api.patch(name, &parameters, &Patch::Apply(&object)).await;
    applied.expect("an object");
    let status = Patch::Merge(json!({ "status": status }));
    let patched = api
        .patch_status(name, &PatchParams::default(), &status)
        .await;
    patched.expect("a status")
}

pub fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": Timestamp::now().to_string(), "observedGeneration": 1})
}
