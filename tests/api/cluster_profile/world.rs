//! A Cluster in a namespace of its own, and passes over its profiles.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use tatara::workload::{addons, client_config, manifests};
use tatara_core::Next;
use tatara_core::api::conditions::{Finding, Reason};
use tatara_core::api::{Cluster, ClusterProfile};
use tatara_core::cluster_profile::{Input, Server};
use tatara_core::control_plane::health::Verdict;

use crate::cluster_profile::passes::{Profiles, Report};
use crate::support::plane::Plane;
use crate::support::wait::eventually;

pub struct World {
    pub plane: Arc<Plane>,
    pub client: Client,
    /// Name of the namespace and of the Cluster in it.
    pub name: String,
    server: Server,
}

impl World {
    /// Definitions, a namespace, and a Cluster in it that is as good as initialised.
    pub async fn new(name: &str) -> Self {
        Self::on(Plane::shared(), name).await
    }

    /// The same with a member of its own: of one that is shared, all have the consumers' account and its token.
    pub async fn alone(name: &str) -> Self {
        Self::on(Arc::new(Plane::own()), name).await
    }

    async fn on(plane: Arc<Plane>, name: &str) -> Self {
        let client = plane.client().await;
        let server = plane.config().await.cluster_url;
        let authority = std::fs::read_to_string(plane.dir().join("pki/ca.crt"));
        let world = Self {
            client,
            name: name.to_owned(),
            server: Server {
                url: server.to_string().trim_end_matches('/').to_owned(),
                authority_pem: authority.expect("the plane's certificate authority"),
            },
            plane,
        };
        world.define().await;
        world.make_namespace(name).await;
        let cluster = json!({
            "metadata": {"name": name, "labels": {"env": "prod"}},
            "spec": {"clusterNetwork": {
                "services": {"cidrBlocks": ["10.96.0.0/16"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                "serviceDomain": "cluster.local",
            }},
        });
        let cluster = serde_json::from_value(cluster).expect("a Cluster");
        let made = world
            .clusters()
            .create(&PostParams::default(), &cluster)
            .await;
        made.expect("a new Cluster");
        world
    }

    async fn define(&self) {
        let text = concat!(
            include_str!("../../../crds/clusters.cluster.k8s.io.yaml"),
            "\n---\n",
            include_str!(
                "../../../templates/install/if-missing/clusterprofiles.multicluster.x-k8s.io.yaml"
            ),
        );
        let documents = manifests::parse("definitions", text).expect("valid definitions");
        let applied = addons::apply(&self.client, documents)
            .await
            .expect("an answer");
        assert!(applied.is_complete(), "{applied:?}");
        eventually("both kinds", async || {
            let clusters = self.clusters().list(&Default::default()).await;
            let profiles = self.profiles(&self.name).list(&Default::default()).await;
            (clusters.is_ok() && profiles.is_ok()).then_some(())
        })
        .await;
    }

    pub async fn make_namespace(&self, name: &str) {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}));
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let made = namespaces
            .create(&PostParams::default(), &namespace.expect("a namespace"))
            .await;
        made.expect("a new namespace");
    }

    pub fn clusters(&self) -> Api<Cluster> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    pub fn profiles(&self, namespace: &str) -> Api<ClusterProfile> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub async fn profile(&self, namespace: &str) -> ClusterProfile {
        self.profiles(namespace)
            .get(&self.name)
            .await
            .expect("a profile")
    }

    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// What the manager knows of a healthy member.
    pub async fn input(&self) -> Input {
        let cluster = self.clusters().get(&self.name).await.expect("the Cluster");
        Input {
            rival: None,
            secret: None,
            cluster: Arc::new(cluster),
            namespaces: vec![self.name.clone()],
            forbidden: Vec::new(),
            server: Ok(self.server.clone()),
            verdict: Verdict::Healthy,
            health: String::new(),
            version: Some("v1.36.3".into()),
            is_connected: true,
        }
    }

    /// Passes as the manager makes them, with the Cluster read anew each time, until nothing is to be
    /// done soon. The pauses between them pass at once.
    pub async fn settle(
        &self,
        profiles: &Profiles,
        now: Timestamp,
        change: impl Fn(&mut Input),
    ) -> Report {
        let passed = Mutex::new(now);
        eventually("a pass that settles", async || {
            let now = *passed.lock().expect("a time");
            let mut input = self.input().await;
            change(&mut input);
            let report = profiles.pass(&input, now).await.expect("a pass");
            let is_refused = |found: &Finding| found.reason() == Reason::Refused;
            let pause = match report.next {
                Next::After(pause) if pause <= Duration::from_mins(1) => pause,
                _ => return Some(report),
            };
            if report.findings.iter().any(is_refused) {
                return Some(report);
            }
            *passed.lock().expect("a time") += pause;
            None
        })
        .await
    }

    /// A client with the kubeconfig that consumers find by the profile.
    pub async fn consumer(&self) -> Client {
        let secret = self
            .secrets()
            .get(&format!("{}-profile-kubeconfig", self.name))
            .await;
        let data = secret.expect("the consumers' Secret").data.expect("data");
        let text = String::from_utf8(data["value"].0.clone()).expect("text");
        let kubeconfig = Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        let config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        Client::try_from(client_config(config.expect("a configuration"))).expect("a client")
    }

    /// Requests about ClusterProfiles that the API server has answered so far, for this world's names.
    pub fn requests(&self) -> usize {
        let log =
            std::fs::read_to_string(self.plane.dir().join("audit.log")).expect("the audit log");
        let about = |line: &&str| {
            line.contains("\"resource\":\"clusterprofiles\"") && line.contains(&self.name)
        };
        log.lines().filter(about).count()
    }
}

pub fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().expect("a time")
}
