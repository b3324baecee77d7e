use super::*;
use crate::api::names::{ANNOTATION_ADDONS_DUE, ANNOTATION_SETTINGS_WRITING};
use crate::kubeadm::Compared;
use crate::machine::live::record::{Fit, Recorded, compared, due, fits, is_read, may_update};

fn cluster_with(annotations: &Value) -> Cluster {
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let manifest = json!({ "metadata": { "name": "a", "annotations": annotations },
        "spec": { "clusterNetwork": network } });
    serde_json::from_value(manifest).expect("a Cluster")
}

fn version(text: &str) -> Recorded {
    Recorded::Version(text.parse().expect("a version"))
}

/// A worker whose host is prepared, in a Cluster with a control plane.
fn joins() -> Observed {
    with_cluster(prepared(worker(), &[]), |cluster| {
        cluster.initialized_by = Some(OTHER.into());
    })
}

#[test]
#[allow(clippy::large_stack_arrays)] // a table
fn a_worker_joins_only_by_a_record_that_is_read_and_fits() {
    let external = || with_cluster(joins(), |cluster| cluster.external = true);
    let fresh = worker;
    for (case, observed, job, record, expected) in [
        ("fits", joins(), JobKind::Join, version("v1.36.1"), "yes"),
        (
            "older",
            joins(),
            JobKind::Join,
            version("v1.35.4"),
            "differs",
        ),
        (
            "missing",
            joins(),
            JobKind::Join,
            Recorded::Missing,
            "waits",
        ),
        (
            "external",
            external(),
            JobKind::Join,
            Recorded::Missing,
            "yes",
        ),
        (
            "no API",
            joins(),
            JobKind::Join,
            Recorded::Unconnected,
            "waits",
        ),
        (
            "unread",
            joins(),
            JobKind::Join,
            Recorded::Unread("no".into()),
            "waits",
        ),
        (
            "again",
            joins(),
            JobKind::Prepare,
            Recorded::Unconnected,
            "waits",
        ),
        (
            "first",
            fresh(),
            JobKind::Prepare,
            Recorded::Unconnected,
            "yes",
        ),
    ] {
        let fit = match fits(&observed, job, record) {
            Fit::Yes => "yes",
            Fit::NotYet(_) => "waits",
            Fit::Differs(_) => "differs",
        };
        assert_eq!(fit, expected, "{case}");
    }
}

#[test]
fn the_record_is_read_before_each_join_and_where_nothing_is_known_of_it() {
    assert!(is_read(&joins(), JobKind::Join));
    assert!(is_read(&joins(), JobKind::Prepare));
    assert!(!is_read(&worker(), JobKind::Prepare), "the first one");
    let known = with_cluster(joins(), |cluster| {
        cluster.recorded = "v1.36.3".parse().ok();
    });
    assert!(!is_read(&known, JobKind::Prepare));
    assert!(!is_read(&joins(), JobKind::Kubelet));
}

#[test]
fn settings_are_not_compared_while_an_edit_of_them_is_written() {
    let writing = json!({ (ANNOTATION_SETTINGS_WRITING): "[{}]" });
    let (_, while_written) = compared(&cluster_with(&writing));
    assert_eq!(while_written, Compared::Fixed);
    let settings = json!({ "kubeadm.clusterConfiguration": { "imageRepository": "r" } });
    let settled = json!({ (ANNOTATION_SETTINGS): settings.to_string() });
    let (recorded, settled) = compared(&cluster_with(&settled));
    assert_eq!(settled, Compared::WithSettings);
    assert_eq!(recorded["imageRepository"], "r");
}

#[test]
fn what_cannot_be_told_of_the_record_holds_an_update() {
    assert_eq!(may_update(Ok(None)), Ok(None));
    let why = reason(may_update(Err("no".into())));
    assert_eq!(why, Some(Reason::WaitingForControlPlane));
}

#[test]
fn the_cluster_says_to_which_version_the_addons_follow() {
    assert_eq!(due(&cluster_with(&Value::Null)), None);
    let cluster = cluster_with(&json!({ (ANNOTATION_ADDONS_DUE): "v1.37.2" }));
    assert_eq!(due(&cluster), Some("v1.37.2".into()));
}
