//! kubeadm's record of a cluster: ConfigMap `kube-system/kubeadm-config`.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::error::Error;
use crate::api::names::FIELD_MANAGER;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kubeadm-config";
const KEY: &str = "ClusterConfiguration";

/// The record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The `ClusterConfiguration`, as YAML.
    pub configuration: String,
    resource_version: Option<String>,
}

/// Reads the record; `None` if there is none.
///
/// # Errors
/// The workload cluster refuses the request or does not answer.
pub async fn read(client: &Client) -> Result<Option<Record>, Error> {
    let found = maps(client).get_opt(NAME).await;
    let found =
        found.map_err(|error| Error::new(format!("read ConfigMap {NAMESPACE}/{NAME}"), error))?;
    Ok(found.and_then(|mut map| {
        Some(Record {
            resource_version: map.resource_version(),
            configuration: map.data.as_mut()?.remove(KEY)?,
        })
    }))
}

/// Writes another `ClusterConfiguration`, if nobody has written since `record` was read.
///
/// # Errors
/// The record was changed, or the workload cluster refuses the request or does not answer.
pub async fn write(client: &Client, record: &Record, configuration: &str) -> Result<(), Error> {
    let change = json!({
        "metadata": { "resourceVersion": record.resource_version },
        "data": { KEY: configuration },
    });
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let written = maps(client)
        .patch(NAME, &params, &Patch::Merge(change))
        .await;
    written
        .map(drop)
        .map_err(|error| Error::new(format!("write ConfigMap {NAMESPACE}/{NAME}"), error))
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), NAMESPACE)
}
