//! All controllers beside API servers of a few objects, in this process, for tests of what is
//! between a plan and a server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{BoxError, service_fn};

use super::build::{self, Start};
use super::controllers::{Controllers, WakeQueues};
use super::leader::Leadership;
use crate::metrics::Metrics;
use crate::remote::Reach;
use crate::store::Stores;
use crate::workload::Connectivity;
use tatara_core::api::Cluster;

/// An API server of the objects that it was given, by path. It merges what is patched, and keeps
/// nothing that is created. Clones are the same server.
#[derive(Clone, Default)]
pub struct ApiServer(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    objects: BTreeMap<String, Value>,
    requests: Vec<(Method, String, Value)>,
}

impl ApiServer {
    /// One that has these.
    pub fn of(objects: impl IntoIterator<Item = (impl Into<String>, Value)>) -> Self {
        let server = Self::default();
        let objects = objects.into_iter().map(|(path, it)| (path.into(), it));
        server.held().objects.extend(objects);
        server
    }

    /// A client of it.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        };
        Client::new(service_fn(answer), "default")
    }

    /// What is at a path now.
    pub fn at(&self, path: &str) -> Option<Value> {
        self.held().objects.get(path).cloned()
    }

    /// The paths of the requests by this method, each with what was sent.
    pub fn requests(&self, method: &Method) -> Vec<(String, Value)> {
        let held = self.held();
        let by = held.requests.iter().filter(|(by, ..)| by == method);
        by.map(|(_, path, sent)| (path.clone(), sent.clone()))
            .collect()
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let query = request.uri().query().unwrap_or_default();
        if query.contains("watch=") {
            return std::future::pending().await;
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let sent = request.into_body().collect_bytes().await?;
        let sent = serde_json::from_slice(&sent).unwrap_or_default();
        let found = self.change(&method, &path, &sent);
        let status = if found.is_some() {
            StatusCode::OK
        } else {
            StatusCode::NOT_FOUND
        };
        let missing =
            || json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
        let said = found.unwrap_or_else(missing).to_string();
        let answer = Response::builder().status(status);
        Ok(answer.body(Body::from(said.into_bytes()))?)
    }

    fn change(&self, method: &Method, path: &str, sent: &Value) -> Option<Value> {
        let mut held = self.held();
        let request = (method.clone(), path.to_owned(), sent.clone());
        held.requests.push(request);
        match *method {
            Method::POST => Some(sent.clone()),
            Method::PATCH => {
                let object = held.objects.get_mut(path.trim_end_matches("/status"))?;
                merge(object, sent);
                Some(object.clone())
            }
            _ => held.objects.get(path).cloned(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().expect("a server")
    }
}

fn merge(into: &mut Value, change: &Value) {
    let Some(fields) = change.as_object() else {
        *into = change.clone();
        return;
    };
    for (name, field) in fields {
        if field.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(name);
            }
        } else {
            merge(&mut into[name], field);
        }
    }
}

/// Cluster `c` of namespace `n`.
pub fn cluster() -> Cluster {
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let metadata = json!({"namespace": "n", "name": "c", "uid": "c"});
    let cluster = json!({"metadata": metadata, "spec": {"clusterNetwork": network}});
    serde_json::from_value(cluster).expect("a Cluster")
}

/// The list of these Nodes.
pub fn nodes(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items})
}

/// All controllers of a manager that leads, and what wakes them.
pub struct Plane {
    /// They.
    pub controllers: Controllers,
    _woken: WakeQueues,
}

impl Plane {
    /// That of this management cluster, whose stores are empty. To be called within a runtime.
    pub fn of(management: &ApiServer) -> Self {
        let start = Start {
            client: management.client(),
            management: "management".into(),
            leadership: Leadership::unchallenged(),
            metrics: Metrics::default(),
            reach: Reach::given(false),
            media: None,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let (controllers, woken) = build::controllers(start, &[]);
        Self {
            controllers,
            _woken: woken,
        }
    }

    /// Connects the workload cluster of a Cluster, and waits until its Nodes were listed, or
    /// dropped at a limit.
    pub async fn connect(&self, cluster: &Cluster, server: &ApiServer) {
        let workloads = &self.controllers.machines.workloads;
        workloads.connect(cluster, server.client());
        let workload = workloads.get(cluster).expect("it is connected");
        while workload.connectivity() == Connectivity::Connecting {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The stores.
    pub fn stores(&self) -> &Stores {
        self.controllers.base.stores()
    }
}
