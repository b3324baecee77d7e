//! Reads what is known of a Cluster and its records, and writes one of these by compare-and-swap.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::super::caller::{ApiError, Caller};
use super::error::Error;
use super::known::{CaSecret, Known};
use super::wish::of_side;
use tatara_core::api::Cluster;
use tatara_core::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN, MANAGER_ACCOUNT};
use tatara_core::control_plane::turn::{Marks, Side};

/// Field manager of these changes.
const FIELD_MANAGER: &str = "tatara-cluster";

/// What is known now: the Secret is read before the Cluster, as the manager does it. Of the Secret
/// its metadata alone.
pub async fn read(caller: &Caller, name: &str) -> Result<Known, Error> {
    let secret = secret(caller, name).await?;
    let cluster = caller.find::<Cluster>(name).await?;
    let cluster = cluster.ok_or_else(|| Error::NotFound {
        namespace: caller.namespace.clone(),
        name: name.to_owned(),
    })?;
    Ok(Known {
        cluster,
        secret,
        machines: caller.list("").await?,
        hosts: caller.list("").await?,
    })
}

async fn secret(caller: &Caller, name: &str) -> Result<CaSecret, ApiError> {
    let api: Api<Secret> = Api::namespaced(caller.client.clone(), &caller.namespace);
    match api.get_metadata_opt(&format!("{name}-ca")).await {
        Ok(Some(secret)) => Ok(CaSecret::Seen(Box::new(secret.metadata))),
        Ok(None) => Ok(CaSecret::Missing),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(CaSecret::Hidden(status.message)),
        Err(error) => Err(caller.explain::<Secret>(error)),
    }
}

/// Writes one of the two, if it is still the object that was read, at the version that was read.
/// False: it is not. The caller has the manager's account where that is needed.
pub async fn write(caller: &Caller, known: &Known, side: Side, to: &Marks) -> Result<bool, Error> {
    let both = known.marks();
    let from = of_side(&both, side);
    let name = known.name();
    let written = match (side, &known.secret) {
        (Side::Cluster, _) => {
            let metadata = &known.cluster.metadata;
            swap::<Cluster>(caller, name, metadata, from, to).await
        }
        (Side::Secret, CaSecret::Seen(metadata)) => {
            swap::<Secret>(caller, &format!("{name}-ca"), metadata, from, to).await
        }
        (Side::Secret, CaSecret::Missing | CaSecret::Hidden(_)) => return Ok(false),
    };
    let object = match side {
        Side::Cluster => format!("Cluster {name}"),
        Side::Secret => format!("Secret {name}-ca"),
    };
    match written {
        Ok(()) => Ok(true),
        Err(kube::Error::Api(status)) if is_other(&status) => Ok(false),
        Err(kube::Error::Api(status)) => Err(refusal(caller, object, &status)),
        Err(error) => Err(match side {
            Side::Cluster => caller.explain::<Cluster>(error),
            Side::Secret => caller.explain::<Secret>(error),
        }
        .into()),
    }
}

async fn swap<K>(
    caller: &Caller,
    name: &str,
    read: &ObjectMeta,
    from: &Marks,
    to: &Marks,
) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let metadata = json!({
        "uid": read.uid,
        "resourceVersion": read.resource_version,
        "annotations": change(from, to),
    });
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let api: Api<K> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    api.patch_metadata(name, &parameters, &patch)
        .await
        .map(drop)
}

/// What differs: a turn is only ever removed.
fn change(from: &Marks, to: &Marks) -> Value {
    let mut annotations = Map::new();
    if from.turn != to.turn {
        annotations.insert(ANNOTATION_TURN.into(), Value::Null);
    }
    if from.initialized != to.initialized {
        annotations.insert(ANNOTATION_INITIALIZED.into(), json!(to.initialized));
    }
    Value::Object(annotations)
}

/// Whether the object is not the one that was read any more.
fn is_other(status: &kube::core::Status) -> bool {
    let is_uid = status.code == 422 && status.message.contains("metadata.uid");
    is_uid || matches!(status.code, 404 | 409)
}

fn refusal(caller: &Caller, object: String, status: &kube::core::Status) -> Error {
    let said = status.message.clone();
    if status.code != 403 {
        return Error::Rejected { object, said };
    }
    if said.contains("impersonate") {
        let mut parts = MANAGER_ACCOUNT.split(':').skip(2);
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (home, account) = (part(), part());
        return Error::Impersonation {
            home,
            account,
            said,
        };
    }
    Error::Forbidden {
        namespace: caller.namespace.clone(),
        object,
        said,
    }
}
