//! The management cluster as the caller reaches it, and what it refuses, in sentences with a remedy.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ListParams;
use kube::config::InferConfigError;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::api::conditions::{ConditionType, find};

/// A client with the caller's own rights: from `KUBECONFIG`, `~/.kube/config`, or inside a pod.
#[derive(Clone)]
pub struct Caller {
    /// The client.
    pub client: Client,
    /// The namespace that the caller named, else that of the kubeconfig's context.
    pub namespace: String,
    server: String,
}

/// Why the management cluster gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Nothing says where the management cluster is.
    #[error("found no usable kubeconfig; set KUBECONFIG to that of the management cluster")]
    NoKubeconfig(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be used.
    #[error("failed to make a client for {server}; check certificates and users in the kubeconfig")]
    Unusable {
        /// URL of the API server.
        server: String,
        /// What kube says.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server does not answer.
    #[error(
        "{server} does not answer; check that it runs, and that KUBECONFIG names the management cluster"
    )]
    Unreachable {
        /// URL of the API server.
        server: String,
        /// What kube says.
        #[source]
        source: Box<kube::Error>,
    },
    /// The caller is nobody there.
    #[error("{server} does not accept your credentials; renew those of the kubeconfig's user")]
    Unauthorized {
        /// URL of the API server.
        server: String,
    },
    /// The caller may not read this.
    #[error(
        "you may not read {plural} in namespace {namespace}; ask an administrator for: \
         kubectl -n {namespace} create rolebinding NAME --clusterrole={role} --user=YOU ({said})"
    )]
    Forbidden {
        /// What was asked for, such as `machines.cluster.k8s.io`.
        plural: String,
        /// Where.
        namespace: String,
        /// A built-in role that allows it.
        role: &'static str,
        /// What the API server says.
        said: String,
    },
    /// The kind is not installed.
    #[error(
        "{server} does not serve {plural}; install Tatara's definitions: \
         tatara crds | kubectl apply --server-side --field-manager=tatara -f -"
    )]
    KindMissing {
        /// URL of the API server.
        server: String,
        /// What was asked for, such as `machines.cluster.k8s.io`.
        plural: String,
    },
    /// Anything else.
    #[error("failed to read {plural} in namespace {namespace}")]
    Read {
        /// What was asked for, such as `machines.cluster.k8s.io`.
        plural: String,
        /// Where.
        namespace: String,
        /// What kube says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ApiError {
    /// Whether asking again may help: everything but a refusal.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Read { .. })
    }
}

impl Caller {
    /// Reads the kubeconfig; nothing is asked yet.
    pub async fn from_environment(namespace: Option<&str>) -> Result<Self, ApiError> {
        let config = Config::infer().await;
        let config = config.map_err(|source| ApiError::NoKubeconfig(Box::new(source)))?;
        let server = config.cluster_url.to_string();
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        match Client::try_from(config) {
            Ok(client) => Ok(Self {
                client,
                namespace,
                server,
            }),
            Err(source) => Err(ApiError::Unusable {
                server,
                source: Box::new(source),
            }),
        }
    }

    /// The object of this name. It is listed: a `get` does not tell a missing object from a missing kind.
    pub async fn find<K>(&self, name: &str) -> Result<Option<K>, ApiError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let named = ListParams::default().fields(&format!("metadata.name={name}"));
        let list = api.list(&named).await;
        let list = list.map_err(|error| self.explain::<K>(error))?;
        Ok(list.items.into_iter().next())
    }

    /// Names of all objects of a kind, in order.
    pub async fn names<K>(&self) -> Result<Vec<String>, ApiError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.map_err(|error| self.explain::<K>(error))?;
        Ok(list.items.iter().map(ResourceExt::name_any).collect())
    }

    /// What a failed request for objects of kind `K` means to the caller. A `get` must have ruled
    /// out that the object alone is missing.
    pub fn explain<K: Resource<DynamicType = ()>>(&self, error: kube::Error) -> ApiError {
        let server = self.server.trim_end_matches('/').to_owned();
        let plural = plural::<K>();
        let namespace = self.namespace.clone();
        match error {
            kube::Error::Api(status) if status.code == 401 => ApiError::Unauthorized { server },
            kube::Error::Api(status) if status.code == 403 => ApiError::Forbidden {
                // view reads every kind of ours, and no Secrets
                role: if plural == "secrets" { "edit" } else { "view" },
                plural,
                namespace,
                said: status.message,
            },
            kube::Error::Api(status) if status.code == 404 => {
                ApiError::KindMissing { server, plural }
            }
            kube::Error::HyperError(_) | kube::Error::Service(_) => ApiError::Unreachable {
                server,
                source: Box::new(error),
            },
            _ => ApiError::Read {
                plural,
                namespace,
                source: Box::new(error),
            },
        }
    }

    /// As [`Caller::explain`], for what ends a watch.
    pub fn explain_watch<K: Resource<DynamicType = ()>>(&self, error: watcher::Error) -> ApiError {
        match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => self.explain::<K>(error),
            watcher::Error::WatchError(status) => self.explain::<K>(kube::Error::Api(status)),
            watcher::Error::NoResourceVersion => ApiError::Read {
                plural: plural::<K>(),
                namespace: self.namespace.clone(),
                source: Box::new(error),
            },
        }
    }
}

/// What an object's condition Ready says.
pub fn why_not_ready(conditions: &[Condition]) -> String {
    match find(conditions, ConditionType::Ready) {
        Some(ready) if ready.message.is_empty() => ready.reason.clone(),
        Some(ready) => format!("{}: {}", ready.reason, ready.message),
        None => "no controller has reported on it yet".into(),
    }
}

fn plural<K: Resource<DynamicType = ()>>() -> String {
    match K::group(&()).as_ref() {
        "" => K::plural(&()).into_owned(),
        group => format!("{}.{group}", K::plural(&())),
    }
}
