//! Commands for people on a real API server. No controllers run: the statuses that they would write are written by hand.

mod describe;
mod kubeconfig;
mod resolve;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use kube::api::PostParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Host, Machine};

use crate::support::kinds::{self, apply, condition};
use crate::support::plane::Plane;

/// A namespace of its own on the shared plane, with our kinds installed.
pub struct Site {
    pub plane: Arc<Plane>,
    pub client: Client,
    namespace: &'static str,
}

impl Site {
    pub async fn new(namespace: &'static str) -> Self {
        let plane = Plane::shared();
        let client = plane.client().await;
        kinds::install(&client).await;
        kinds::make_namespace(&client, namespace).await;
        Self {
            plane,
            client,
            namespace,
        }
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    pub async fn cluster(&self, ready: &str, reason: &str) {
        let object = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "demo"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}});
        let status =
            json!({"phase": "Provisioning", "conditions": [condition("Ready", ready, reason, "")]});
        apply(&self.api::<Cluster>(), object, status).await;
    }

    pub async fn machine(&self, phase: &str, ready: &str, reason: &str, message: &str) {
        let object = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "demo-0", "labels": {"cluster.k8s.io/cluster-name": "demo"}},
            "spec": {"versions": {"kubelet": "v1.36.3", "controlPlane": "v1.36.3"}}});
        let status =
            json!({"phase": phase, "conditions": [condition("Ready", ready, reason, message)]});
        let machine = apply(&self.api::<Machine>(), object, status).await;
        let host = |name: &str, consumer: Option<Value>| {
            let mut spec = json!({"ssh": {"address": format!("{name}.test"),
                "credentialsRef": {"name": "key"}, "trustOnFirstUse": true}});
            if let Some(consumer) = consumer {
                spec["consumerRef"] = consumer;
            }
            json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
                "metadata": {"name": name}, "spec": spec})
        };
        let claim = json!({"name": "demo-0", "uid": machine.uid(), "cluster": "demo"});
        apply(
            &self.api::<Host>(),
            host("a", Some(claim)),
            json!({"state": "Claimed"}),
        )
        .await;
        apply(
            &self.api::<Host>(),
            host("b", None),
            json!({"state": "Available"}),
        )
        .await;
    }

    pub fn tatara(&self, arguments: &[&str]) -> Command {
        describe::tatara(
            &self.plane.dir().join("admin.kubeconfig"),
            self.namespace,
            arguments,
        )
    }
}

/// With this kubeconfig, and output that is read.
pub fn prepared(mut command: Command, kubeconfig: &Path) -> Command {
    command
        .env("KUBECONFIG", kubeconfig)
        .env("LC_ALL", "C.UTF-8");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("tatara");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

pub async fn make<K>(api: Api<K>, object: Value)
where
    K: Resource + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("an object");
    let made = api.create(&PostParams::default(), &object).await;
    made.expect("it is made");
}
