use http::Method;
use std::sync::Arc;

use super::super::observe;
use super::*;
use crate::manager::plane_tests::{ApiServer, Plane, nodes};
use tatara_core::api::Machine;
use tatara_core::api::names::{ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_WRITING, LABEL_CLUSTER};

const CLUSTER: &str = "/apis/cluster.k8s.io/v1alpha1/namespaces/n/clusters/c";
const RECORD: &str = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config";

/// As kubeadm keeps it of that Cluster, whose user set another image repository.
const DOCUMENT: &str = "apiServer:
  certSANs: [10.0.0.100]
apiVersion: kubeadm.k8s.io/v1beta4
controlPlaneEndpoint: 10.0.0.100:6443
imageRepository: registry.example
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
networking: {dnsDomain: cluster.local, podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
";

fn cluster(annotations: &Value) -> Value {
    let settings = json!({"kubeadm.clusterConfiguration": {"imageRepository": "registry.example"}});
    let mut all = json!({(ANNOTATION_SETTINGS): settings.to_string()});
    for (name, value) in annotations.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "metadata": {"namespace": "n", "name": "c", "uid": "c", "resourceVersion": "1", "annotations": all},
        "spec": {
            "clusterNetwork": {
                "services": {"cidrBlocks": ["10.96.0.0/16"]}, "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                "serviceDomain": "cluster.local",
            },
            "providerSpec": {"value": {
                "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec",
                "controlPlaneEndpoint": {"host": "10.0.0.100"},
                "kubeadm": {"clusterConfiguration": {"imageRepository": "registry.example"}},
            }},
        },
    })
}

/// What is done before a control plane joins, or is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    TheTurn,
    Join,
    Update,
}

/// What the record is afterwards, and the Events of the Cluster.
struct Came {
    text: String,
    writes: usize,
    events: Vec<Value>,
}

/// A control-plane Machine of v1.36.3 finds this record; the API server has these annotations on
/// the Cluster by then.
async fn came(before: Before, document: &str, live: &Value) -> Came {
    let management = ApiServer::of([(CLUSTER, cluster(live))]);
    let record = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "kube-system", "name": "kubeadm-config", "resourceVersion": "7"},
        "data": {"ClusterConfiguration": document},
    });
    let workload = ApiServer::of([(RECORD, record), ("/api/v1/nodes", nodes(&[]))]);
    let plane = Plane::of(&management);
    let cluster: Cluster = serde_json::from_value(cluster(&json!({}))).expect("a Cluster");
    plane.stores().clusters.hold(cluster.clone());
    plane.connect(&cluster, &workload).await;
    let machine = json!({
        "metadata": {"namespace": "n", "name": "cp-1", "uid": "cp-1", "labels": {(LABEL_CLUSTER): "c"}},
        "spec": {"versions": {"kubelet": "v1.36.3", "controlPlane": "v1.36.3"}},
    });
    let machine: Machine = serde_json::from_value(machine).expect("a Machine");
    plane.stores().machines.hold(machine.clone());
    let controller = &plane.controllers.machines;
    let observed = observe::observe(controller, Arc::new(machine)).await;
    let mut observed = observed.expect("a Machine");
    if let Some(cluster) = &mut observed.cluster {
        cluster.etcd = Lookup::Known(Arc::default());
    }
    let finding = match before {
        Before::TheTurn => refuses(controller, &observed, &cluster).await,
        Before::Join => prepare(controller, &observed, &cluster, &Members::default()).await,
        Before::Update => before_update(controller, &observed, &cluster).await,
    };
    let finding = finding.unwrap_or_else(|error| panic!("{before:?}: {error}"));
    assert_eq!(finding, None, "{before:?}");
    let kept = workload.at(RECORD).expect("a record");
    let events = management.requests(&Method::POST).into_iter();
    Came {
        text: kept["data"]["ClusterConfiguration"].to_string(),
        writes: workload.requests(&Method::PATCH).len(),
        events: events.map(|(_, event)| event).collect(),
    }
}

#[tokio::test]
async fn what_a_workload_cluster_edits_in_the_record_is_set_back_before_it_is_used_and_told_on_the_cluster()
 {
    let writing =
        json!({(ANNOTATION_SETTINGS_WRITING): r#"[{"kubeadm.clusterConfiguration":{}}]"#});
    let network = ("podSubnet: 10.244.0.0/16", "podSubnet: 10.9.0.0/16");
    let repository = ("registry.example", "registry.evil");
    // what somebody edited, what the Cluster has by then, and what is told
    let table = [
        (("", ""), &json!({}), None),
        (
            network,
            &json!({}),
            Some("networking.podSubnet is \"10.9.0.0/16\", wanted \"10.244.0.0/16\""),
        ),
        (
            repository,
            &json!({}),
            Some("imageRepository is \"registry.evil\", wanted \"registry.example\""),
        ),
        // an edit of the Cluster is on its way there
        (repository, &writing, None),
    ];
    for before in [Before::Join, Before::Update] {
        for ((ours, theirs), live, told) in &table {
            let edited = DOCUMENT.replacen(ours, theirs, 1);
            let came = Box::pin(came(before, &edited, live)).await;
            let label = format!("{before:?} {theirs}: {}", came.text);
            assert_eq!(came.writes, usize::from(told.is_some()), "{label}");
            assert_eq!(came.events.len(), came.writes, "{label}");
            let Some(told) = told else { continue };
            assert!(!came.text.contains(theirs), "{label}");
            let event = &came.events[0];
            assert_eq!(event["reason"], "SettingsSetBack", "{label}");
            assert_eq!(event["regarding"]["kind"], "Cluster", "{label}");
            let note = event["note"].as_str().unwrap_or_default();
            assert!(note.contains(told), "{label}: {note}");
        }
    }
}

#[tokio::test]
async fn what_is_edited_is_set_back_as_the_version_of_a_join_is_written_and_not_before_its_turn() {
    let edited =
        DOCUMENT
            .replacen("v1.36.3", "v1.35.4", 1)
            .replacen("cluster.local", "other.local", 1);
    let joins = Box::pin(came(Before::Join, &edited, &json!({}))).await;
    assert_eq!((joins.writes, joins.events.len()), (1, 1), "{}", joins.text);
    let parts = [
        joins.text.contains("v1.36.3"),
        joins.text.contains("other.local"),
    ];
    assert_eq!(parts, [true, false], "{}", joins.text);
    let waits = Box::pin(came(Before::TheTurn, &edited, &json!({}))).await;
    assert_eq!((waits.writes, waits.events.len()), (0, 0), "{}", waits.text);
}
