//! A cluster is made, scaled up, rolled to another version, scaled down, and deleted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::simulated::site::{Site, ready};
use crate::support::wait::eventually;

const FROM: &str = "v1.36.3";
const TO: &str = "v1.36.4";
const A_MOMENT: Duration = Duration::from_secs(2);
/// Longer than any status is held back (docs/architecture.md, one pass).
const HELD_BACK: Duration = Duration::from_secs(20);

pub struct Life {
    client: Client,
    member: Client,
    kubeconfig: Vec<u8>,
    namespace: String,
}

impl Life {
    /// In a namespace of this name.
    pub fn new(site: &Site, namespace: &str) -> Self {
        Self {
            client: site.client(),
            member: site.member().clone(),
            kubeconfig: site.kubeconfig(),
            namespace: namespace.to_owned(),
        }
    }

    /// Lives it; what there was just before its Cluster was deleted, as text. That is waited for where it is known.
    pub async fn live(&self, expected: Option<&str>) -> String {
        self.begin().await;
        self.until_ready(2, FROM).await;
        self.patch(json!({"spec": {"replicas": 3}})).await;
        self.until_ready(3, FROM).await;
        let versions = json!({"versions": {"kubelet": TO}});
        self.patch(json!({"spec": {"template": {"spec": versions}}}))
            .await;
        self.until_ready(3, TO).await;
        self.patch(json!({"spec": {"replicas": 1}})).await;
        self.until_ready(1, TO).await;
        let end = self.until_still(expected).await;
        self.end().await;
        end
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn create<K>(&self, object: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let object = serde_json::from_value(object).expect("an object");
        let made = self
            .api::<K>()
            .create(&PostParams::default(), &object)
            .await;
        made.expect("an object");
    }

    async fn begin(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = json!({"metadata": {"name": self.namespace}});
        let namespace = serde_json::from_value(namespace).expect("a namespace");
        let made = namespaces.create(&PostParams::default(), &namespace).await;
        made.expect("a namespace");
        let kubeconfig = json!({"value": ByteString(self.kubeconfig.clone())});
        self.create::<Secret>(json!({"metadata": {"name": "a-kubeconfig"}, "data": kubeconfig}))
            .await;
        self.create::<Cluster>(
            json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "a"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}}),
        )
        .await;
        let labels = json!({"pool": "a", "cluster.k8s.io/cluster-name": "a"});
        let value =
            json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"});
        self.create::<MachineDeployment>(
            json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": {"name": "pool", "labels": {"cluster.k8s.io/cluster-name": "a"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"pool": "a"}},
                "template": {"metadata": {"labels": labels}, "spec": {
                    "versions": {"kubelet": FROM}, "providerSpec": {"value": value}}}}}),
        )
        .await;
    }

    async fn patch(&self, change: Value) {
        let deployments = self.api::<MachineDeployment>();
        let (parameters, change) = (PatchParams::default(), Patch::Merge(change));
        let patched = deployments.patch("pool", &parameters, &change);
        patched.await.expect("a MachineDeployment");
    }

    async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let api = self.api::<K>();
        let all = eventually("a list", async || {
            match api.list(&ListParams::default()).await {
                Ok(all) => Some(all),
                // its cache of this kind begins anew
                Err(kube::Error::Api(status)) if status.code == 429 => None,
                Err(error) => panic!("a list: {error}"),
            }
        });
        all.await.items
    }

    /// Waits until there are so many Machines, all Ready and of this version.
    async fn until_ready(&self, count: usize, version: &str) {
        let what = format!("{count} Machines of {version} in {}", self.namespace);
        let is_well = |machine: &Machine| {
            let versions = machine.versions();
            ready(machine) && versions.is_some_and(|versions| versions.kubelet == version)
        };
        eventually(&what, async || {
            let machines = self.all::<Machine>().await;
            (machines.len() == count && machines.iter().all(is_well)).then_some(())
        })
        .await;
    }

    /// Waits until the objects are the same for a while: that may be short where they are as expected.
    async fn until_still(&self, expected: Option<&str>) -> String {
        let (mut last, mut since) = (String::new(), Instant::now());
        eventually("objects that stay", async || {
            let now = self.objects().await;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            let is_expected = expected == Some(last.as_str());
            let enough = if is_expected { A_MOMENT } else { HELD_BACK };
            (since.elapsed() > enough).then(|| last.clone())
        })
        .await
    }

    /// All objects, without what is of one life alone.
    async fn objects(&self) -> String {
        let mut text = String::new();
        for cluster in self.all::<Cluster>().await {
            let status = cluster.status.clone().unwrap_or_default();
            note(
                &mut text,
                "Cluster",
                &cluster,
                &status.conditions,
                &json!({}),
            );
        }
        for deployment in self.all::<MachineDeployment>().await {
            let status = deployment.status.clone().unwrap_or_default();
            let counts = json!({"replicas": status.replicas, "updated": status.updated_replicas,
                "ready": status.ready_replicas, "available": status.available_replicas,
                "spec": deployment.spec.replicas});
            note(
                &mut text,
                "MachineDeployment",
                &deployment,
                &status.conditions,
                &counts,
            );
        }
        let mut sets = self.all::<MachineSet>().await;
        sets.sort_by_key(|set| set.spec.replicas);
        for set in sets {
            let status = set.status.clone().unwrap_or_default();
            let counts = json!({"replicas": status.replicas, "ready": status.ready_replicas,
                "available": status.available_replicas, "spec": set.spec.replicas,
                "versions": set.spec.template.spec.versions});
            note(&mut text, "MachineSet", &set, &status.conditions, &counts);
        }
        for machine in self.all::<Machine>().await {
            let status = machine.status.clone().unwrap_or_default();
            let id = format!("tatara://simulated/{}", machine.uid().unwrap_or_default());
            let nodes = self.nodes().await;
            let nodes = nodes.iter().filter(|node| provider_id(node) == Some(&id));
            let more = json!({"spec": machine.spec.versions, "runs": status.versions,
                "phase": status.phase, "hasItsID": machine.spec.provider_id.as_ref() == Some(&id),
                "namesNode": status.node_ref.is_some(), "nodes": nodes.count()});
            note(&mut text, "Machine", &machine, &status.conditions, &more);
        }
        text
    }

    async fn nodes(&self) -> Vec<Node> {
        let nodes: Api<Node> = Api::all(self.member.clone());
        let all = nodes.list(&ListParams::default()).await;
        all.expect("Nodes").items
    }

    /// Deletes the Cluster, and waits until nothing of it is left in either API server.
    async fn end(&self) {
        let deleted = self.api::<Cluster>().delete("a", &Default::default()).await;
        deleted.expect("a deletion");
        eventually(&format!("the end of {}", self.namespace), async || {
            let left = self.all::<Cluster>().await.len()
                + self.all::<MachineDeployment>().await.len()
                + self.all::<MachineSet>().await.len()
                + self.all::<Machine>().await.len()
                + self.nodes().await.len();
            (left == 0).then_some(())
        })
        .await;
    }
}

fn provider_id(node: &Node) -> Option<&String> {
    node.spec.as_ref()?.provider_id.as_ref()
}

/// An object: what others find it by, who it is of, its conditions without their times and texts, and more.
fn note<K: Resource<DynamicType = ()>>(
    text: &mut String,
    kind: &str,
    object: &K,
    conditions: &[Condition],
    more: &Value,
) {
    // this one is written once there was trouble with the profile
    let comes_late = |one: &&Condition| one.type_ == "ProfilePublished" && one.status == "True";
    let conditions: BTreeMap<_, _> = conditions
        .iter()
        .filter(|one| !comes_late(one))
        .map(|one| (&one.type_, format!("{} {}", one.status, one.reason)))
        .collect();
    let owners = object.owner_references().iter();
    let owners: Vec<_> = owners.map(|owner| &owner.kind).collect();
    let (labels, annotations) = (object.labels(), object.annotations());
    let numbers = annotations
        .iter()
        .filter(|(key, _)| key.contains("revision"))
        .collect::<BTreeMap<_, _>>();
    let deleted = object.meta().deletion_timestamp.is_some();
    writeln!(
        text,
        "{kind} of {owners:?}, deleted {deleted}, finalizers {:?}\n  {labels:?} {numbers:?}\n  {more}\n  {conditions:?}",
        object.finalizers(),
    )
    .expect("text");
}
