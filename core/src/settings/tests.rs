use serde_json::json;

use super::*;
use crate::api::Cluster;
use crate::api::names::{
    ANNOTATION_ADDONS_DUE, ANNOTATION_SETTINGS_KEPT, ANNOTATION_SETTINGS_WRITING,
};

fn spec(max_pods: u32, verbosity: &str) -> ClusterProviderSpec {
    let arguments = json!([{ "name": "v", "value": verbosity }]);
    of_value(&json!({
        "kubeadm": { "clusterConfiguration": { "apiServer": { "extraArgs": arguments } } },
        "kubeletConfiguration": { "maxPods": max_pods },
    }))
}

fn of_value(value: &Value) -> ClusterProviderSpec {
    serde_json::from_value(value.clone()).expect("settings")
}

fn made_with(settings: &Value) -> Machine {
    recorded_as(&settings.to_string())
}

fn recorded_as(text: &str) -> Machine {
    let manifest = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": { "name": "m", "annotations": { (ANNOTATION_SETTINGS): text } },
        "spec": {},
    });
    serde_json::from_value(manifest).expect("a Machine")
}

fn joined(spec: &ClusterProviderSpec, is_control_plane: bool, first: &Machine) -> Machine {
    let recorded = recorded(first.annotations());
    made_with(&of(spec, JobKind::Join, is_control_plane, recorded))
}

const VERBOSITY: &str =
    r#"kubeadm.clusterConfiguration.apiServer.extraArgs[v].value is "2", wanted "4""#;
const PODS: &str = "kubeletConfiguration.maxPods is 110, wanted 200";

#[test]
fn a_node_made_with_what_the_cluster_says_is_not_behind() {
    let spec = spec(110, "2");
    let first = made_with(&of(&spec, JobKind::Init, true, None));
    let (worker, second) = (joined(&spec, false, &first), joined(&spec, true, &first));
    for machine in [first, worker, second] {
        assert_eq!(behind(&machine, &spec), Behind::default());
    }
}

#[test]
fn each_node_is_behind_in_what_it_was_made_with_and_catches_up() {
    let first = made_with(&of(&spec(110, "2"), JobKind::Init, true, None));
    let new = spec(200, "4");
    let both = Behind {
        static_pods: vec![VERBOSITY.into()],
        kubelet: vec![PODS.into()],
        ..Behind::default()
    };
    assert_eq!(behind(&first, &new), both);
    // it joins after the change, and gets what the cluster was made with all the same
    let second = joined(&new, true, &first);
    assert_eq!(behind(&second, &new), both);
    let late = joined(&new, false, &first);
    let pods = Behind {
        kubelet: vec![PODS.into()],
        ..Behind::default()
    };
    assert_eq!(behind(&late, &new), pods);
    for machine in [first, second, late] {
        let after = recorded_as(&followed(&machine, &new).expect("a record"));
        assert_eq!(behind(&after, &new), Behind::default());
    }
}

#[test]
fn what_was_begun_is_not_forgotten_when_the_edit_is_taken_back() {
    let old = spec(110, "2");
    let first = made_with(&of(&old, JobKind::Init, true, None));
    let verbose = spec(110, "4");
    let begun_once = recorded_as(&begun(&first, &verbose).expect("a record"));
    let back = behind(&begun_once, &old);
    assert!(back.can_follow() && !back.concerns_kubelet(), "{back:?}");
    assert!(back.is_taken_back() && !behind(&begun_once, &verbose).is_taken_back());
    // another edit meanwhile
    let more = recorded_as(&begun(&begun_once, &spec(200, "2")).expect("a record"));
    let back = behind(&more, &old);
    assert!(back.can_follow() && back.concerns_kubelet(), "{back:?}");
    let ended = recorded_as(&followed(&more, &old).expect("a record"));
    assert_eq!(behind(&ended, &old), Behind::default());
    assert_eq!(recorded(ended.annotations()), recorded(first.annotations()));
}

#[test]
fn what_a_running_node_keeps_stays_behind() {
    let old = of_value(&json!({}));
    let first = made_with(&of(&old, JobKind::Init, true, None));
    let new = of_value(&json!({
        "kubeadm": {
            "clusterConfiguration": {
                "apiServer": { "certSANs": ["api.example"], "extraArgs": [{ "name": "v", "value": "4" }] },
                "dns": { "imageTag": "v1.13.0" },
                "etcd": { "local": { "extraArgs": [{ "name": "heartbeat-interval", "value": "500" }] } },
            },
            "initConfiguration": { "patches": { "directory": "/etc/patches" } },
        },
    }));
    let found = behind(&first, &new);
    assert_eq!(found.kept.len(), 3, "{found:?}");
    assert_eq!(found.static_pods.len(), 2, "{found:?}");
    let after = behind(
        &recorded_as(&followed(&first, &new).expect("a record")),
        &new,
    );
    assert_eq!(after.kept, found.kept);
    assert!(!after.can_follow(), "{after:?}");
}

#[test]
fn an_edit_whose_writing_broke_off_is_taken_back_too() {
    let (old, new) = (spec(110, "2"), spec(200, "4"));
    let (from, to) = (of_cluster(&old), of_cluster(&new));
    let mut broken_off = cluster(Some(&from), None);
    let writing = json!([to]).to_string();
    broken_off
        .annotations_mut()
        .insert(ANNOTATION_SETTINGS_WRITING.into(), writing);
    for (spec, to) in [(&new, &to), (&old, &from)] {
        let follow = RecordStep::Follow {
            from: vec![from.clone(), of_cluster(&new)],
            to: to.clone(),
        };
        assert_eq!(record_step(&broken_off, spec, None), follow);
        assert_eq!(OfCluster::of(&broken_off, spec).rollout, Rollout::Waits);
    }
}

#[test]
fn nothing_follows_while_control_planes_are_replaced_by_a_newer_version() {
    let spec = spec(110, "2");
    let mut moves = cluster(Some(&of_cluster(&spec)), None);
    let due = (ANNOTATION_ADDONS_DUE.to_owned(), "v1.36.3".to_owned());
    moves.annotations_mut().extend([due]);
    let seen = OfCluster::of(&moves, &spec);
    assert_eq!((seen.rollout, seen.number), (Rollout::Waits, 2));
}

#[test]
fn taints_are_of_nodes_that_are_made_later() {
    let made = of_value(&json!({}));
    let taints = json!({ "nodeRegistration": { "taints": [] } });
    let edited = of_value(&json!({
        "kubeadm": { "initConfiguration": taints, "joinConfiguration": taints },
    }));
    let more = of_value(&json!({
        "kubeadm": { "joinConfiguration": { "nodeRegistration": { "taints": [], "imagePullPolicy": "Never" } } },
    }));
    let first = made_with(&of(&made, JobKind::Init, true, None));
    for machine in [
        &first,
        &joined(&made, true, &first),
        &joined(&made, false, &first),
    ] {
        assert_eq!(behind(machine, &edited), Behind::default());
    }
    let kept = behind(&joined(&made, false, &first), &more).kept;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].contains("imagePullPolicy"), "{kept:?}");
}

#[test]
fn the_version_is_no_setting() {
    let repeats = |version: &str| {
        let configuration = json!({ "kubernetesVersion": version });
        of_value(&json!({ "kubeadm": { "clusterConfiguration": configuration } }))
    };
    let recorded = json!({ (CLUSTER): { "kubernetesVersion": "v1.35.4" } });
    let machine = made_with(&recorded);
    assert_eq!(behind(&machine, &repeats("v1.36.3")), Behind::default());
    assert_eq!(
        of_cluster(&repeats("v1.36.3")),
        of_cluster(&repeats("v1.35.4"))
    );
}

#[test]
fn a_gate_that_kubeadm_does_not_know_any_more_leaves_nothing_to_replace() {
    let gates = json!({ "featureGates": { "ControlPlaneKubeletLocalMode": true } });
    let gone = of_value(&json!({ "kubeadm": { "clusterConfiguration": gates } }));
    let mut machine = made_with(&of(&gone, JobKind::Init, true, None));
    for (version, kept) in [("v1.35.4", 1), ("v1.36.3", 0)] {
        let versions = json!({ "kubelet": version, "controlPlane": version });
        machine.spec.versions = Some(serde_json::from_value(versions).expect("versions"));
        let behind = behind(&machine, &of_value(&json!({})));
        assert_eq!(behind.kept.len(), kept, "{version}: {behind:?}");
    }
}

#[test]
fn the_data_of_etcd_does_not_move() {
    let local = |local: Value| {
        of_value(&json!({ "kubeadm": { "clusterConfiguration": { "etcd": { "local": local } } } }))
    };
    let from = of_cluster(&local(json!({ "dataDir": "/data/etcd" })));
    let default = of_cluster(&local(json!({})));
    let named = local(json!({ "dataDir": "/var/lib/etcd/" }));
    let same = record_step(&cluster(Some(&default), None), &named, None);
    assert!(matches!(same, RecordStep::Follow { .. }), "{same:?}");
    for moved in [json!({ "dataDir": "/elsewhere" }), json!({})] {
        let step = record_step(&cluster(Some(&from), None), &local(moved), None);
        assert!(
            matches!(&step, RecordStep::Refuse(why) if why.contains("was /data/etcd")),
            "{step:?}"
        );
    }
}

#[test]
fn nothing_is_said_of_a_node_that_nothing_is_known_of() {
    let mut machine = made_with(&json!("not an object"));
    assert_eq!(behind(&machine, &spec(1, "1")), Behind::default());
    machine.metadata.annotations = None;
    assert_eq!(behind(&machine, &spec(1, "1")), Behind::default());
    assert_eq!(begun(&machine, &spec(1, "1")), None);
}

/// A Cluster with a record, and settings that it keeps.
fn cluster(recorded: Option<&Settings>, kept: Option<String>) -> Cluster {
    let record = recorded.map(|recorded| text(recorded, 2));
    let manifest = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "metadata": { "name": "c", "annotations": {} },
        "spec": { "clusterNetwork": {
            "pods": { "cidrBlocks": [] }, "services": { "cidrBlocks": [] }, "serviceDomain": "cluster.local",
        } },
    });
    let mut cluster: Cluster = serde_json::from_value(manifest).expect("a Cluster");
    let annotations = cluster.annotations_mut();
    annotations.extend(record.map(|record| (ANNOTATION_SETTINGS.to_owned(), record)));
    annotations.extend(kept.map(|kept| (ANNOTATION_SETTINGS_KEPT.to_owned(), kept)));
    cluster
}

#[test]
fn an_edit_is_followed_unless_an_earlier_release_left_it() {
    let (old, new) = (spec(110, "2"), spec(200, "4"));
    let (from, to) = (of_cluster(&old), of_cluster(&new));
    let first = made_with(&of(&old, JobKind::Init, true, None));
    let made = || recorded(first.annotations());
    let take = |kept| RecordStep::Take {
        settings: from.clone(),
        kept,
    };
    let none = cluster(None, None);
    assert_eq!(record_step(&none, &old, None), RecordStep::Keep);
    assert_eq!(record_step(&none, &old, made()), take(None));
    let kept = Some(digest_of(&to));
    assert_eq!(record_step(&none, &new, made()), take(kept.clone()));

    let differences = vec![VERBOSITY.to_owned(), PODS.to_owned()];
    let follow = RecordStep::Follow {
        from: vec![from.clone()],
        to: to.clone(),
    };
    let table = [
        (cluster(Some(&to), None), RecordStep::Keep, Rollout::Goes),
        (cluster(Some(&from), None), follow.clone(), Rollout::Waits),
        (
            cluster(Some(&from), kept),
            RecordStep::Leave(differences),
            Rollout::Left,
        ),
        // edited once more
        (
            cluster(Some(&from), Some("other".into())),
            follow,
            Rollout::Waits,
        ),
    ];
    for (cluster, step, rollout) in table {
        assert_eq!(record_step(&cluster, &new, made()), step);
        assert_eq!(OfCluster::of(&cluster, &new).rollout, rollout);
    }
    assert_eq!(OfCluster::of(&none, &new).rollout, Rollout::Unknown);
}
