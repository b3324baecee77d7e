use serde_json::json;

use super::*;

/// As a kube-apiserver 1.36 returns it after two managers wrote.
fn profile() -> ClusterProfile {
    let profile = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {
            "name": "forge", "namespace": "metal",
            "labels": {"ours": "1", "theirs": "2"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "X", "name": "a", "uid": "ours"},
                {"apiVersion": "v1", "kind": "X", "name": "b", "uid": "theirs"}],
            "managedFields": [
                {"manager": "tatara", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:ours": {}}, "f:ownerReferences": {"k:{\"uid\":\"ours\"}": {}}},
                    "f:spec": {"f:displayName": {}, "f:clusterManager": {"f:name": {}}}}},
                {"manager": "tatara", "operation": "Apply", "subresource": "status", "fieldsV1": {
                    "f:status": {
                        "f:conditions": {"k:{\"type\":\"Joined\"}": {}},
                        "f:properties": {"k:{\"name\":\"z\"}": {}, "k:{\"name\":\"a\"}": {}},
                        "f:accessProviders": {"k:{\"name\":\"kubeconfig-secretreader\"}": {}}}}},
                {"manager": "other", "operation": "Apply", "subresource": "status", "fieldsV1": {
                    "f:status": {"f:version": {}, "f:properties": {"k:{\"name\":\"m\"}": {}}}}},
            ],
        },
        "spec": {"displayName": "forge", "clusterManager": {"name": "tatara"}},
        "status": {
            "version": {"kubernetes": "v1"},
            "conditions": [
                {"type": "Seen", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-11-21T10:00:00Z"},
                {"type": "Joined", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-11-21T10:00:00Z"}],
            "properties": [{"name": "z", "value": "1"}, {"name": "m", "value": "2"}, {"name": "a", "value": "3"}],
            "accessProviders": [{"name": "google"}, {"name": "kubeconfig-secretreader"}],
        },
    });
    serde_json::from_value(profile).expect("a profile")
}

#[test]
fn only_what_we_applied_is_ours() {
    let owned = OwnedFields::of(&profile());
    assert_eq!(owned.labels, [("ours".to_owned(), "1".to_owned())].into());
    assert_eq!(owned.owners, ["ours".to_owned()].into());
    assert_eq!(owned.display_name.as_deref(), Some("forge"));
    let names: Vec<_> = owned
        .status
        .properties
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(names, ["a", "z"]);
    assert_eq!(owned.status.conditions.len(), 1);
    assert_eq!(owned.status.access_providers.len(), 1);
    assert_eq!(owned.status.version, None);
}

#[test]
fn what_nobody_applied_for_us_is_not_ours() {
    let mut profile = profile();
    profile.metadata.managed_fields = None;
    assert_eq!(OwnedFields::of(&profile), OwnedFields::default());
}

#[test]
fn what_an_api_server_does_not_keep_is_named() {
    let mut written = OwnedFields::of(&profile());
    let mut object = profile();
    object.metadata.labels = Some(written.labels.clone());
    object
        .metadata
        .owner_references
        .iter_mut()
        .flatten()
        .for_each(|owner| owner.uid = "ours".into());
    let mut status = written.status.clone();
    let lost = |written: &OwnedFields, object: &ClusterProfile, status: &ClusterProfileStatus| {
        written.lost(Some(object), Some(status)).join(", ")
    };
    assert_eq!(lost(&written, &object, &status), "");
    status.conditions[0].last_transition_time = Time(Timestamp::UNIX_EPOCH);
    assert_eq!(lost(&written, &object, &status), "", "times are rounded");
    written.status.access_providers.clear();
    written.status.conditions[0].reason = "Rewritten".into();
    let said = lost(&written, &object, &status);
    assert_eq!(said, "status.conditions, status.accessProviders");
    object.spec.display_name = Some("another".into());
    let said = written.lost(Some(&object), None).join(", ");
    assert_eq!(said, "labels, owner or spec");
    assert_eq!(written.lost(None, None), [] as [&str; 0]);
}
