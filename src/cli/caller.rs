//! Client of the management cluster with the caller's credentials, and its errors: cause, then
//! remedy.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ListParams;
use kube::config::InferConfigError;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use tatara_core::api::conditions::{ConditionType, find};

/// A client with the caller's credentials: from `KUBECONFIG`, `~/.kube/config`, or the pod's
/// service account.
#[derive(Clone)]
pub struct Caller {
    /// Client of the management cluster.
    pub client: Client,
    /// The namespace from the command line, otherwise that of the kubeconfig's context.
    pub namespace: String,
    /// URL of its API server.
    pub server: String,
    config: Box<Config>,
}

/// Why a request to the management cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There is no usable kubeconfig.
    #[error(
        "found no usable kubeconfig; set KUBECONFIG to the kubeconfig of the management cluster"
    )]
    NoKubeconfig(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be used.
    #[error(
        "failed to create a client for {server}; check the certificates and the user in the kubeconfig"
    )]
    Unusable {
        /// URL of the API server.
        server: String,
        /// Error of the `kube` library.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server does not answer.
    #[error(
        "{server} does not answer; check that it is running and that KUBECONFIG names the management cluster"
    )]
    Unreachable {
        /// URL of the API server.
        server: String,
        /// Error of the `kube` library.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server does not accept the credentials (401).
    #[error(
        "{server} does not accept your credentials; renew the credentials of the kubeconfig's user"
    )]
    Unauthorized {
        /// URL of the API server.
        server: String,
    },
    /// The caller lacks the permission (403).
    #[error(
        "you are not allowed to read {plural} in namespace {namespace}; ask an administrator to run: \
         kubectl -n {namespace} create rolebinding NAME --clusterrole={role} --user=YOU ({said})"
    )]
    Forbidden {
        /// The requested resource, such as `machines.cluster.k8s.io`.
        plural: String,
        /// Namespace of the request.
        namespace: String,
        /// A built-in role that grants the permission.
        role: &'static str,
        /// Message of the API server.
        said: String,
    },
    /// The CustomResourceDefinition is not installed.
    #[error(
        "{server} does not serve {plural}; install Tatara's CustomResourceDefinitions: \
         tatara crds | kubectl apply --server-side --field-manager=tatara -f -"
    )]
    KindMissing {
        /// URL of the API server.
        server: String,
        /// The requested resource, such as `machines.cluster.k8s.io`.
        plural: String,
    },
    /// Any other failure.
    #[error("failed to read {plural} in namespace {namespace}")]
    Read {
        /// The requested resource, such as `machines.cluster.k8s.io`.
        plural: String,
        /// Namespace of the request.
        namespace: String,
        /// Error of the `kube` library.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ApiError {
    /// Whether the same request may succeed later: all failures but refusals.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Read { .. })
    }
}

impl Caller {
    /// Reads the kubeconfig. Sends no request.
    ///
    /// # Errors
    /// There is no usable kubeconfig.
    pub async fn from_environment(namespace: Option<&str>) -> Result<Self, ApiError> {
        let config = Config::infer().await;
        let config = config.map_err(|source| ApiError::NoKubeconfig(Box::new(source)))?;
        Self::with(config, namespace)
    }

    /// The same caller in the name of another account, which the API server has to permit.
    ///
    /// # Errors
    /// The kubeconfig cannot be used for that.
    pub fn in_the_name_of(&self, account: &str) -> Result<Self, ApiError> {
        let mut config = Config::clone(&self.config);
        config.auth_info.impersonate = Some(account.to_owned());
        // those of the account
        config.auth_info.impersonate_groups = None;
        config.auth_info.impersonate_uid = None;
        config.auth_info.impersonate_user_extra = None;
        Self::with(config, Some(&self.namespace))
    }

    fn with(config: Config, namespace: Option<&str>) -> Result<Self, ApiError> {
        let server = config.cluster_url.to_string();
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        match Client::try_from(config.clone()) {
            Ok(client) => Ok(Self {
                client,
                namespace,
                server,
                config: Box::new(config),
            }),
            Err(source) => Err(ApiError::Unusable {
                server,
                source: Box::new(source),
            }),
        }
    }

    /// The object of this name. It is listed: a `get` answers 404 for a missing object and for a
    /// missing kind.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses the request.
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

    /// All objects of a kind with these labels.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses the request.
    pub async fn list<K>(&self, labels: &str) -> Result<Vec<K>, ApiError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let list = api.list(&ListParams::default().labels(labels)).await;
        let list = list.map_err(|error| self.explain::<K>(error))?;
        Ok(list.items)
    }

    /// Names of all objects of a kind, sorted.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses the request.
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

    /// The error of a failed request for objects of kind `K`. With a `get`, the caller has excluded
    /// that only the object is missing.
    pub fn explain<K: Resource<DynamicType = ()>>(&self, error: kube::Error) -> ApiError {
        let server = self.server.trim_end_matches('/').to_owned();
        let plural = plural::<K>();
        let namespace = self.namespace.clone();
        match error {
            kube::Error::Api(status) if status.code == 401 => ApiError::Unauthorized { server },
            kube::Error::Api(status) if status.code == 403 => ApiError::Forbidden {
                // the role view may read all our kinds, but not Secrets
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

    /// Like [`Caller::explain`], for the error of a watch.
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

/// Reason and message of an object's condition Ready.
pub fn why_not_ready(conditions: &[Condition]) -> String {
    match find(conditions, ConditionType::Ready) {
        Some(ready) if ready.message.is_empty() => ready.reason.clone(),
        Some(ready) => format!("{}: {}", ready.reason, ready.message),
        None => "no controller has reported a condition yet".into(),
    }
}

fn plural<K: Resource<DynamicType = ()>>() -> String {
    match K::group(&()).as_ref() {
        "" => K::plural(&()).into_owned(),
        group => format!("{}.{group}", K::plural(&())),
    }
}
