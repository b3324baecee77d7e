use serde_json::{Value, json};

use super::*;
use crate::kubeadm::CONTROL_PLANE_TAINT;

fn view(change: impl FnOnce(&mut Value)) -> NodeView {
    let mut node = json!({
        "metadata": {
            "name": "w1", "uid": "u1", "creationTimestamp": "2026-11-21T00:00:00Z",
            "labels": {"role": "worker"},
            "annotations": {"flannel.alpha.coreos.com/public-ip": "10.0.0.1"},
        },
        "spec": {
            "providerID": "tatara://ssh/1",
            "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-11-21T00:00:00Z"}],
        },
        "status": {
            "conditions": [
                {"type": "MemoryPressure", "status": "False", "lastHeartbeatTime": "2026-11-21T00:00:00Z"},
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                 "lastTransitionTime": "2026-11-21T00:00:00Z", "lastHeartbeatTime": "2026-11-21T00:00:00Z"},
            ],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "images": [{"names": ["registry.k8s.io/pause:3.10"], "sizeBytes": 1}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "architecture": "", "bootID": "", "containerRuntimeVersion": "",
                "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""},
            "volumesAttached": [{"name": "csi^1", "devicePath": ""}],
            "volumesInUse": ["csi^1"],
        },
    });
    change(&mut node);
    NodeView::from_node(serde_json::from_value(node).expect("a Node"))
}

#[test]
fn a_node_is_read_into_plain_data() {
    let node = view(|_| {});
    assert_eq!((node.name.as_str(), node.uid.as_str()), ("w1", "u1"));
    assert_eq!(node.provider_id.as_deref(), Some("tatara://ssh/1"));
    assert_eq!(node.ready, Some(true));
    assert_eq!(node.ready_since, "2026-11-21T00:00:00Z".parse().ok());
    assert_eq!(node.kubelet_version, "v1.36.3");
    assert_eq!(node.volumes_attached, ["csi^1"]);
    assert_eq!(node.volumes_in_use, ["csi^1"]);
    assert_eq!(node.taints[0].time_added, None);
    assert!(!node.unschedulable && !node.deleting && !node.is_unreachable());
}

#[test]
fn a_node_whose_kubelet_fell_silent_is_unreachable_and_one_that_never_reported_is_not() {
    let silent = view(|n| {
        n["status"]["conditions"][1]["status"] = json!("Unknown");
        n["status"]["conditions"][1]["reason"] = json!("NodeStatusUnknown");
    });
    assert_eq!(silent.ready, None);
    assert!(silent.is_unreachable());
    let new = view(|n| n["status"]["conditions"] = json!([]));
    assert_eq!(new.ready, None);
    assert!(!new.is_unreachable());
}

#[test]
fn heart_beats_and_other_peoples_annotations_mean_nothing() {
    let before = view(|_| {});
    for (what, change) in [
        ("heart-beat", "/status/conditions/1/lastHeartbeatTime"),
        ("other condition", "/status/conditions/0/lastHeartbeatTime"),
        (
            "annotation",
            "/metadata/annotations/flannel.alpha.coreos.com~1public-ip",
        ),
        ("time of a taint", "/spec/taints/0/timeAdded"),
    ] {
        let after = view(|n| *n.pointer_mut(change).expect(what) = json!("2026-11-21T01:00:00Z"));
        assert!(!after.differs_meaningfully(&before), "{what}");
    }
}

#[test]
fn every_change_that_somebody_waits_for_means_something() {
    let before = view(|_| {});
    let table: [(&str, &str, Value); 9] = [
        ("Ready", "/status/conditions/1/status", json!("False")),
        (
            "its message",
            "/status/conditions/1/message",
            json!("cni plugin not initialized"),
        ),
        ("labels", "/metadata/labels", json!({})),
        ("taints", "/spec/taints", json!([])),
        (
            "cordon",
            "/spec",
            json!({"providerID": "tatara://ssh/1", "unschedulable": true,
            "taints": [{"key": "k", "effect": "NoSchedule"}]}),
        ),
        ("provider ID", "/spec/providerID", json!("tatara://ssh/2")),
        (
            "kubelet",
            "/status/nodeInfo/kubeletVersion",
            json!("v1.36.4"),
        ),
        ("addresses", "/status/addresses", json!([])),
        ("volumes", "/status/volumesAttached", json!([])),
    ];
    for (what, pointer, value) in table {
        let after = view(|n| *n.pointer_mut(pointer).expect(what) = value);
        assert!(after.differs_meaningfully(&before), "{what}");
    }
    let deleting = view(|n| n["metadata"]["deletionTimestamp"] = json!("2026-11-21T00:00:00Z"));
    assert!(deleting.differs_meaningfully(&before));
}

#[test]
fn a_node_takes_pods_that_is_ready_and_kept_from_nobody() {
    let node = |change: fn(&mut NodeView)| {
        let mut node = NodeView {
            ready: Some(true),
            ..NodeView::default()
        };
        change(&mut node);
        node.takes_pods()
    };
    let taint = |effect: &str| Taint {
        key: CONTROL_PLANE_TAINT.into(),
        effect: effect.into(),
        ..Taint::default()
    };
    assert!(node(|_| ()));
    assert!(node(|node| node.taints = vec![Taint {
        effect: "PreferNoSchedule".into(),
        ..Taint::default()
    }]));
    assert!(!node(|node| node.ready = None));
    assert!(!node(|node| node.unschedulable = true));
    for effect in ["NoSchedule", "NoExecute"] {
        let tainted = NodeView {
            ready: Some(true),
            taints: vec![taint(effect)],
            ..NodeView::default()
        };
        assert!(!tainted.takes_pods(), "{effect}");
    }
}
