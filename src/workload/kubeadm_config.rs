//! What kubeadm keeps of a cluster's settings in ConfigMaps of namespace `kube-system`.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::error::{self, Error};
use tatara_core::api::names::FIELD_MANAGER;
use tatara_core::kubeadm::Kept;

const NAMESPACE: &str = "kube-system";
const PROXY: &str = "kube-proxy";
/// Annotation on the pods of kube-proxy: with another value they are replaced.
const PROXY_SETTINGS: &str = "tatara.dev/kube-proxy-settings";

/// A document as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The document, as YAML.
    pub text: String,
    document: Kept,
    resource_version: Option<String>,
}

/// Reads a document; `None` if there is none.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn read(client: &Client, document: Kept) -> Result<Option<Record>, Error> {
    let name = document.config_map();
    let found = maps(client).get_opt(name).await;
    let found =
        found.map_err(|error| Error::new(format!("read ConfigMap {NAMESPACE}/{name}"), error))?;
    Ok(found.and_then(|mut map| {
        Some(Record {
            resource_version: map.resource_version(),
            text: map.data.as_mut()?.remove(document.key())?,
            document,
        })
    }))
}

/// Writes another text of a document, if nobody has written since it was read.
///
/// # Errors
/// The document was changed, or the workload cluster refuses the request or does not answer.
pub async fn write(client: &Client, record: &Record, text: &str) -> Result<(), Error> {
    let name = record.document.config_map();
    let change = json!({
        "metadata": { "resourceVersion": record.resource_version },
        "data": { (record.document.key()): text },
    });
    let written = maps(client)
        .patch(name, &params(), &Patch::Merge(change))
        .await;
    written
        .map(drop)
        .map_err(|error| Error::new(format!("write ConfigMap {NAMESPACE}/{name}"), error))
}

/// The pods of kube-proxy are replaced, as the DaemonSet says, once for each `digest` of its
/// settings. Nothing where there is no kube-proxy.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn restart_kube_proxy(client: &Client, digest: &str) -> Result<(), Error> {
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), NAMESPACE);
    let annotations = json!({ "annotations": { (PROXY_SETTINGS): digest } });
    let change = json!({ "spec": { "template": { "metadata": annotations } } });
    match sets.patch(PROXY, &params(), &Patch::Merge(change)).await {
        Err(error) if error::code(&error) == Some(404) => Ok(()),
        patched => patched
            .map(drop)
            .map_err(|error| Error::new(format!("update DaemonSet {NAMESPACE}/{PROXY}"), error)),
    }
}

fn params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    }
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), NAMESPACE)
}
