//! As much of an API server as providers need, in memory: objects, merge patches with their preconditions, lists, and
//! watches that never say anything, for what is written is learned from the answers.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

/// Group and version, namespace, plural and name.
type Path = (String, String, String, String);

#[derive(Default)]
struct Objects {
    all: BTreeMap<Path, Value>,
    version: u64,
}

#[derive(Clone, Default)]
pub struct Api(Arc<Mutex<Objects>>);

impl Api {
    pub fn client(&self) -> Client {
        let api = self.clone();
        let answer = move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let query = head.uri.query().unwrap_or_default();
                if query.contains("watch=") {
                    return Ok::<_, kube::Error>(Response::new(Said(None)));
                }
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let (status, said) = api.answer(&head.method, head.uri.path(), body);
                let mut response = Response::new(Said(Some(said.to_string().into())));
                *response.status_mut() = status;
                Ok(response)
            }
        };
        Client::new(service_fn(answer), "default")
    }

    /// How many objects of this plural there are, as far as they are meant.
    pub fn count(&self, plural: &str, is_meant: impl Fn(&Value) -> bool) -> usize {
        let objects = self.lock();
        let of = objects.all.iter().filter(|(path, _)| path.2 == plural);
        of.filter(|(_, object)| is_meant(object)).count()
    }

    /// Makes an object, or changes it.
    pub fn put(&self, path: &str, object: Value) {
        let (method, path) = match self.answer(&Method::GET, path, Value::Null).0 {
            StatusCode::OK => (Method::PATCH, path),
            _ => (Method::POST, path.rsplit_once('/').expect("a name").0),
        };
        let (status, said) = self.answer(&method, path, object);
        assert!(status.is_success(), "{said}");
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, object) = self.answer(&Method::GET, path, Value::Null);
        assert!(status.is_success(), "{object}");
        object
    }

    fn answer(&self, method: &Method, path: &str, body: Value) -> (StatusCode, Value) {
        let mut objects = self.lock();
        let (group, namespace, plural, name) = parsed(path);
        let known = objects.all.iter().filter(|(path, _)| {
            path.0 == group && path.2 == plural && (namespace.is_empty() || path.1 == namespace)
        });
        if name.is_empty() && method == Method::GET {
            let items: Vec<_> = known.map(|(_, object)| object.clone()).collect();
            let version = objects.version.max(1).to_string();
            let list = json!({"kind": "List", "apiVersion": group,
                "metadata": {"resourceVersion": version}, "items": items});
            return (StatusCode::OK, list);
        }
        let is_new = method == Method::POST;
        let name = match (is_new, body["metadata"]["name"].as_str()) {
            (true, Some(name)) => name.to_owned(),
            _ => name,
        };
        let path = (group, namespace, plural, name);
        let known = objects.all.get(&path).cloned();
        match (method.as_str(), known) {
            ("POST", Some(_)) => failed(StatusCode::CONFLICT, "AlreadyExists"),
            ("POST", None) => (StatusCode::CREATED, objects.store(path, body)),
            (_, None) => failed(StatusCode::NOT_FOUND, "NotFound"),
            ("GET", Some(object)) => (StatusCode::OK, object),
            ("DELETE", Some(object)) => {
                objects.all.remove(&path);
                (StatusCode::OK, object)
            }
            ("PATCH", Some(mut object)) => {
                let differs = |key: &str| {
                    let expected = &body["metadata"][key];
                    !expected.is_null() && *expected != object["metadata"][key]
                };
                if differs("uid") || differs("resourceVersion") {
                    return failed(StatusCode::CONFLICT, "Conflict");
                }
                merge(&mut object, &body);
                (StatusCode::OK, objects.store(path, object))
            }
            _ => failed(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects {
    fn store(&mut self, path: Path, mut object: Value) -> Value {
        self.version += 1;
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(self.version.to_string());
        metadata["name"] = json!(path.3);
        if !path.1.is_empty() {
            metadata["namespace"] = json!(path.1);
        }
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{}", self.version));
        }
        self.all.insert(path, object.clone());
        object
    }
}

fn parsed(path: &str) -> Path {
    let parts: Vec<_> = path.trim_matches('/').split('/').collect();
    let group = if parts[0] == "api" { 2 } else { 3 };
    let (group, rest) = parts.split_at(group);
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        _ => ("", rest),
    };
    let part = |at: usize| rest.get(at).copied().unwrap_or_default().to_owned();
    (group[1..].join("/"), namespace.to_owned(), part(0), part(1))
}

fn failed(code: StatusCode, reason: &str) -> (StatusCode, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code.as_u16()});
    (code, status)
}

/// A JSON merge patch.
fn merge(into: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *into = change.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in change {
        if value.is_null() {
            into.as_object_mut().expect("an object").remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}

/// What is answered; without it nothing is, and the answer does not end.
struct Said(Option<Bytes>);

impl http_body::Body for Said {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.0 {
            None => Poll::Pending,
            Some(rest) if rest.is_empty() => Poll::Ready(None),
            Some(rest) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(rest))))),
        }
    }
}
