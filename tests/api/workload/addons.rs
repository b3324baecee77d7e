//! Manifests, bootstrap tokens and ClusterProperties.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ObjectMeta;
use kube::{Api, Client};
use serde_json::json;
use tatara::workload::addons::{Outcome, apply, sentences};
use tatara::workload::{manifests, properties, tokens};

use crate::support::plane::Plane;
use crate::support::wait::eventually;
use crate::workload::objects::from;

async fn apply_text(client: &Client, text: &str) -> Outcome {
    let documents = manifests::parse("test.yaml", text).expect("valid manifests");
    apply(client, documents).await.expect("an answer")
}

/// A definition as other controllers bring it, for a group of its own.
fn definition(group: &str, kind: &str, plural: &str, version: &str, scope: &str) -> String {
    format!(
        "
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
  annotations: {{api-approved.kubernetes.io: 'unapproved, for a test'}}
spec:
  group: {group}
  scope: {scope}
  names: {{kind: {kind}, plural: {plural}}}
  versions:
  - name: {version}
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn manifests_applied_twice_write_nothing_the_second_time() {
    let plane = Plane::shared();
    let client = plane.client().await;
    // the namespace comes after what needs it, and is applied first
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: addons-1}
data: {a: b}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: addons-1}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: registry.example.com/agent:1}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: addons-1}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: addons-1}
";
    let first = apply_text(&client, text).await;
    assert_eq!(
        first,
        Outcome {
            applied: 4,
            ..Outcome::default()
        }
    );
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "addons-1");
    let sets: Api<k8s_openapi::api::apps::v1::DaemonSet> =
        Api::namespaced(client.clone(), "addons-1");
    let version = |meta: ObjectMeta| (meta.uid, meta.resource_version, meta.generation);
    let before = (
        version(maps.get("settings").await.expect("a map").metadata),
        version(sets.get("agent").await.expect("a set").metadata),
    );
    let second = apply_text(&client, text).await;
    assert!(second.is_complete());
    let after = (
        version(maps.get("settings").await.expect("a map").metadata),
        version(sets.get("agent").await.expect("a set").metadata),
    );
    assert_eq!(before, after);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_kind_that_is_not_served_yet_is_pending_and_works_once_it_is() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let object = "
apiVersion: pending.example.com/v1
kind: Widget
metadata: {name: w, namespace: default}
spec: {size: 3}
";
    let pending = apply_text(&client, object).await;
    assert_eq!((pending.applied, pending.failed.len()), (0, 0));
    assert_eq!(
        sentences(&pending.pending),
        "document 1 of test.yaml: Widget default/w: the cluster does not serve pending.example.com/v1 Widget yet"
    );
    let group = "pending.example.com";
    let both = format!(
        "{object}{}",
        definition(group, "Widget", "widgets", "v1", "Namespaced")
    );
    eventually("the new kind", async || {
        apply_text(&client, &both).await.is_complete().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn an_object_that_is_refused_is_named_and_does_not_keep_the_others_back() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: {name: refused-before, namespace: default}
---
apiVersion: v1
kind: Service
metadata: {name: refused, namespace: default}
spec: {ports: [{port: 70000}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: refused-lost, namespace: does-not-exist}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: refused-after, namespace: default}
";
    let outcome = apply_text(&client, text).await;
    assert_eq!(outcome.applied, 2);
    let failed = sentences(&outcome.failed);
    assert!(
        failed.starts_with("document 2 of test.yaml: Service default/refused: "),
        "{failed}"
    );
    assert!(
        failed.contains("spec.ports[0].port: Invalid value: 70000"),
        "{failed}"
    );
    let pending = sentences(&outcome.pending);
    assert!(
        pending.ends_with("namespaces \"does-not-exist\" not found"),
        "{pending}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_bootstrap_token_is_applied_once_and_ended_more_than_once() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let secret: Secret = from(json!({
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abcdef", "token-secret": "0123456789abcdef"},
    }));
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    tokens::apply(&client, &secret)
        .await
        .expect("an applied token");
    let version = secrets
        .get("bootstrap-token-abcdef")
        .await
        .expect("a token");
    tokens::apply(&client, &secret)
        .await
        .expect("an applied token");
    let again = secrets
        .get("bootstrap-token-abcdef")
        .await
        .expect("a token");
    assert_eq!(
        version.metadata.resource_version,
        again.metadata.resource_version
    );
    for _ in 0..2 {
        tokens::delete(&client, "bootstrap-token-abcdef")
            .await
            .expect("no token");
    }
    let gone = secrets
        .get_opt("bootstrap-token-abcdef")
        .await
        .expect("an answer");
    assert!(gone.is_none());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn cluster_properties_are_read_once_their_definition_is_there() {
    let plane = Plane::own();
    let client = plane.client().await;
    let none = properties::list(&client).await.expect("an answer");
    assert_eq!(none, properties::Properties::default());
    // the older version alone: what a member with an old About API serves
    let kind = definition(
        "about.k8s.io",
        "ClusterProperty",
        "clusterproperties",
        "v1alpha1",
        "Cluster",
    );
    let text = format!(
        "{kind}
---
apiVersion: about.k8s.io/v1alpha1
kind: ClusterProperty
metadata: {{name: region.example.com}}
spec: {{value: cellar}}
---
apiVersion: about.k8s.io/v1alpha1
kind: ClusterProperty
metadata: {{name: cluster.clusterset.k8s.io}}
spec: {{value: c1}}
"
    );
    eventually("the properties", async || {
        apply_text(&client, &text).await.is_complete().then_some(())
    })
    .await;
    let read = properties::list(&client).await.expect("an answer");
    let expected = [
        ("cluster.clusterset.k8s.io", "c1"),
        ("region.example.com", "cellar"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(read.values, expected);
}
