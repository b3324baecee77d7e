//! Drain and volumes. No disruption controller runs here: the API server decides on a budget's
//! status, which the tests write by hand.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tatara::workload::drain::drain;
use tatara::workload::drain_watch::DrainWatches;
use tatara::workload::volumes::still_attached;
use tatara_core::drain::{DrainProgress, PodRef, Skip};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::plane::Plane;
use crate::workload::objects::{from, make_namespace, make_node};

/// A running pod on the node that has the namespace's name.
async fn make_pod(client: &Client, namespace: &str, name: &str, change: Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeName": namespace,
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "registry.example.com/c:1"}],
        },
    });
    for (part, value) in change.as_object().into_iter().flatten() {
        for (field, value) in value.as_object().into_iter().flatten() {
            pod[part][field] = value.clone();
        }
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.create(&PostParams::default(), &from(pod))
        .await
        .expect("a new pod");
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let patched = pods
        .patch_status(name, &PatchParams::default(), &Patch::Merge(running))
        .await;
    patched.expect("a running pod")
}

async fn allow_disruptions(client: &Client, namespace: &str, name: &str, allowed: i32) {
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), namespace);
    let status = json!({"status": {"disruptionsAllowed": allowed, "observedGeneration": 1,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
    let patched = budgets
        .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await;
    patched.expect("a budget's status");
}

async fn make_budget(client: &Client, namespace: &str, name: &str) {
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), namespace);
    let budget = json!({"metadata": {"name": name}, "spec": {"minAvailable": 1,
        "selector": {"matchLabels": {"app": name}}}});
    budgets
        .create(&PostParams::default(), &from(budget))
        .await
        .expect("a new budget");
    allow_disruptions(client, namespace, name, 0).await;
}

/// Says that a kubelet stopped the pod.
async fn stopped(client: &Client, namespace: &str, name: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let deleted = pods
        .delete(name, &DeleteParams::default().grace_period(0))
        .await;
    deleted.expect("no pod");
}

async fn make_daemon_set(client: &Client, namespace: &str) -> Value {
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), namespace);
    let set = json!({"metadata": {"name": "agent"}, "spec": {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": {"metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "c", "image": "registry.example.com/c:1"}]}}}});
    let set = sets
        .create(&PostParams::default(), &from(set))
        .await
        .expect("a new set");
    json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent",
        "uid": set.metadata.uid, "controller": true}])
}

fn names(pods: &[PodRef]) -> Vec<&str> {
    pods.iter().map(|pod| pod.name.as_str()).collect()
}

async fn pass(client: &Client, node: &str, unreachable: bool) -> DrainProgress {
    let now = tatara::clock::now();
    drain(client, node, unreachable, now).await.expect("a pass")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_drain_evicts_names_the_budget_that_holds_a_pod_and_ends_when_it_lets_go() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let node = "drain-1";
    make_node(&client, node, "").await;
    make_namespace(&client, node).await;
    make_budget(&client, node, "web").await;
    let owners = make_daemon_set(&client, node).await;
    make_pod(
        &client,
        node,
        "web-1",
        json!({"metadata": {"labels": {"app": "web"}}}),
    )
    .await;
    make_pod(&client, node, "free-1", json!({})).await;
    make_pod(
        &client,
        node,
        "agent-1",
        json!({"metadata": {"ownerReferences": owners}}),
    )
    .await;
    let stay = json!({"metadata": {"labels": {"tatara.dev/drain": "skip"}}});
    make_pod(&client, node, "stay-1", stay).await;
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
    make_pod(&client, node, "static-1", mirror).await;

    let began = Instant::now();
    let progress = pass(&client, node, false).await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "a refusal is an answer, not a wait"
    );
    assert_eq!(names(&progress.evicted), ["free-1"]);
    let blocked = &progress.blocked[0];
    assert_eq!(
        (blocked.pod.name.as_str(), blocked.budgets[0].name.as_str()),
        ("web-1", "web")
    );
    assert!(
        blocked.message.contains("disruption budget web"),
        "{}",
        blocked.message
    );
    let said = progress.to_string();
    assert!(
        said.starts_with(
            "2 pods left: eviction of drain-1/web-1 is blocked by PodDisruptionBudget drain-1/web (0 disruptions \
             allowed); drain-1/free-1 was evicted and is terminating. Let the budget allow"
        ),
        "{said}"
    );
    let mut skipped: Vec<_> = progress
        .skipped
        .iter()
        .map(|(p, why)| (p.name.as_str(), *why))
        .collect();
    skipped.sort_by_key(|(name, _)| *name);
    let expected = [
        ("agent-1", Skip::DaemonSet),
        ("static-1", Skip::Static),
        ("stay-1", Skip::Label),
    ];
    assert_eq!(skipped, expected);

    let progress = pass(&client, node, false).await;
    assert_eq!(progress.waiting[0].0.name, "free-1");
    assert!(
        progress
            .to_string()
            .contains("drain-1/free-1 is terminating"),
        "{progress}"
    );
    stopped(&client, node, "free-1").await;
    allow_disruptions(&client, node, "web", 1).await;
    let progress = pass(&client, node, false).await;
    assert_eq!(names(&progress.evicted), ["web-1"]);
    stopped(&client, node, "web-1").await;
    let progress = pass(&client, node, false).await;
    assert!(progress.is_done(), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn on_an_unreachable_node_budgets_hold_and_overdue_pods_do_not() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let node = "drain-2";
    make_node(&client, node, "").await;
    make_namespace(&client, node).await;
    make_budget(&client, node, "web").await;
    make_pod(
        &client,
        node,
        "web-1",
        json!({"metadata": {"labels": {"app": "web"}}}),
    )
    .await;
    make_pod(&client, node, "free-1", json!({})).await;
    let progress = pass(&client, node, true).await;
    assert_eq!(names(&progress.evicted), ["free-1"]);
    assert_eq!(progress.blocked.len(), 1, "{progress}");
    let pods: Api<Pod> = Api::namespaced(client.clone(), node);
    let evicted = pods.get("free-1").await.expect("nobody confirms its end");
    assert_eq!(evicted.metadata.deletion_grace_period_seconds, Some(1));
    let killed_at = evicted.metadata.deletion_timestamp.expect("a time").0;
    let later: Timestamp = killed_at + Duration::from_secs(2);
    let progress = drain(&client, node, true, later).await.expect("a pass");
    assert_eq!(progress.skipped[0].1, Skip::Unconfirmed);
    assert_eq!(progress.left(), 1, "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn volumes_are_waited_for_unless_a_pod_that_stays_uses_them() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let node = "volumes-1";
    make_node(&client, node, "").await;
    make_namespace(&client, node).await;
    let owners = make_daemon_set(&client, node).await;
    for name in ["volumes-data", "volumes-cache"] {
        let volume = json!({"metadata": {"name": name}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": node, "name": name},
            "csi": {"driver": "csi.example.com", "volumeHandle": name}}});
        let claim = json!({"metadata": {"name": name}, "spec": {"volumeName": name, "storageClassName": "",
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let attachment = json!({"metadata": {"name": name}, "spec": {"attacher": "csi.example.com",
            "nodeName": node, "source": {"persistentVolumeName": name}}});
        let volumes = Api::<PersistentVolume>::all(client.clone());
        volumes
            .create(&PostParams::default(), &from(volume))
            .await
            .expect("a volume");
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), node);
        claims
            .create(&PostParams::default(), &from(claim))
            .await
            .expect("a claim");
        let attachments = Api::<VolumeAttachment>::all(client.clone());
        attachments
            .create(&PostParams::default(), &from(attachment))
            .await
            .expect("an attachment");
    }
    let uses_cache =
        json!([{"name": "v", "persistentVolumeClaim": {"claimName": "volumes-cache"}}]);
    let agent = json!({"metadata": {"ownerReferences": owners}, "spec": {"volumes": uses_cache}});
    make_pod(&client, node, "agent-1", agent).await;
    let names = ["volumes-data", "volumes-cache"];
    let reported = names.map(|name| json!({"name": format!("kubernetes.io/csi/csi.example.com^{name}"), "devicePath": ""}));
    let status = Patch::Merge(json!({"status": {"volumesAttached": reported}}));
    let nodes = Api::<Node>::all(client.clone());
    nodes
        .patch_status(node, &PatchParams::default(), &status)
        .await
        .expect("a status");

    let now = tatara::clock::now();
    let attached = || still_attached(&client, node, now);
    assert_eq!(attached().await.expect("an answer"), ["volumes-data"]);
    let attachments = Api::<VolumeAttachment>::all(client.clone());
    attachments
        .delete("volumes-data", &DeleteParams::default())
        .await
        .expect("a detachment");
    // the node's own report comes last
    assert_eq!(
        attached().await.expect("an answer"),
        ["kubernetes.io/csi/csi.example.com^volumes-data"]
    );
    let status = Patch::Merge(json!({"status": {"volumesAttached": [reported[1]]}}));
    nodes
        .patch_status(node, &PatchParams::default(), &status)
        .await
        .expect("a status");
    assert_eq!(attached().await.expect("an answer"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn the_end_of_a_pod_is_heard_also_when_it_came_before_the_watch() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let node = "drain-heard";
    make_node(&client, node, "").await;
    make_namespace(&client, node).await;
    let watches = DrainWatches::new(TaskTracker::new(), CancellationToken::new());
    for (name, is_late) in [("web-1", false), ("web-2", true)] {
        make_pod(&client, node, name, json!({})).await;
        let progress = pass(&client, node, false).await;
        assert_eq!(names(&progress.evicted), [name]);
        if is_late {
            stopped(&client, node, name).await;
        }
        let (told, heard) = tokio::sync::oneshot::channel();
        let look_again = Box::new(move || told.send(()).expect("a listener"));
        watches.start("uid", client.clone(), node, progress.version, look_again);
        if !is_late {
            stopped(&client, node, name).await;
        }
        let heard = tokio::time::timeout(Duration::from_mins(1), heard).await;
        heard.expect("in time").expect("an event");
        assert!(pass(&client, node, false).await.is_done());
    }
}
