use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::api::cluster_profile::AccessCluster;
use crate::api::cluster_provider_spec::ProfileSettings;
use crate::api::conditions::{Status, find};
use crate::controllers::cluster_profile::inventories;

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().expect("a time")
}

fn access() -> AccessProvider {
    AccessProvider {
        name: "kubeconfig-secretreader".into(),
        cluster: Some(AccessCluster {
            server: "https://10.0.0.1:6443".into(),
            ..AccessCluster::default()
        }),
    }
}

/// A healthy Cluster `forge` in namespace `metal`, published nowhere yet.
fn healthy() -> Observed {
    Observed {
        cluster: ClusterFacts {
            namespace: "metal".into(),
            name: "forge".into(),
            uid: "cluster-uid".into(),
            labels: [("env".into(), "prod".into())].into(),
            deleting: false,
            held: true,
        },
        namespaces: vec!["metal".into()],
        forbidden: Vec::new(),
        access: Some(access()),
        verdict: Verdict::Healthy,
        health: "the API server is ready".into(),
        version: Some("v1.36.3".into()),
        properties: Some(vec![("cluster.clusterset.k8s.io".into(), "c1".into())]),
        skipped: Vec::new(),
        served: true,
        profiles: BTreeMap::new(),
    }
}

/// What is there after the plan was executed.
fn executed(mut observed: Observed, plan: Plan) -> Observed {
    for action in plan.actions {
        match action {
            Action::Hold => observed.cluster.held = true,
            Action::Release => observed.cluster.held = false,
            Action::Publish {
                namespace,
                object,
                status,
                ..
            } => {
                let entry = observed.profiles.entry(namespace);
                let existing = entry.or_insert_with(|| {
                    Existing::Ours(Box::new(Ours {
                        uid: "profile-uid".into(),
                        generation: 1,
                        ..Ours::default()
                    }))
                });
                let Existing::Ours(ours) = existing else {
                    panic!("wrote to a foreign profile")
                };
                if let Some(object) = object {
                    ours.owned.labels = object.labels().clone();
                    ours.owned.owners = object
                        .owner_references()
                        .iter()
                        .map(|o| o.uid.clone())
                        .collect();
                    ours.owned.display_name = object.spec.display_name;
                }
                if let Some(status) = status {
                    ours.owned.status = status;
                }
            }
            Action::Withdraw { namespace, .. } => drop(observed.profiles.remove(&namespace)),
        }
    }
    observed
}

fn published() -> Observed {
    let observed = healthy();
    let plan = plan(&observed, at("10:00:00"));
    executed(observed, plan)
}

fn change(observed: &mut Observed, namespace: &str, change: impl FnOnce(&mut Ours)) {
    let Some(Existing::Ours(ours)) = observed.profiles.get_mut(namespace) else {
        panic!("not ours")
    };
    change(ours);
}

fn status_written(plan: &Plan) -> &ClusterProfileStatus {
    match plan.actions.as_slice() {
        [
            Action::Publish {
                object: None,
                status: Some(status),
                ..
            },
        ] => status,
        other => panic!("{other:?}"),
    }
}

fn condition<'a>(status: &'a ClusterProfileStatus, name: &str) -> &'a Condition {
    find(&status.conditions, name).expect("the condition")
}

#[test]
fn a_healthy_cluster_is_held_and_published_with_all_that_consumers_read() {
    let mut observed = healthy();
    observed.cluster.held = false;
    let plan = plan(&observed, at("10:00:00"));
    let [
        Action::Hold,
        Action::Publish {
            namespace,
            uid: None,
            object: Some(object),
            status: Some(status),
        },
    ] = plan.actions.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(namespace, "metal");
    assert_eq!(
        serde_json::to_value(object).expect("JSON"),
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {
                "name": "forge",
                "namespace": "metal",
                "labels": {
                    "env": "prod",
                    "cluster.k8s.io/cluster-name": "forge",
                    "tatara.dev/cluster-namespace": "metal",
                    "x-k8s.io/cluster-manager": "tatara",
                    "multicluster.x-k8s.io/inventory-member-id": "cluster-uid",
                },
                "ownerReferences": [{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
                    "name": "forge", "uid": "cluster-uid"}],
            },
            "spec": {"displayName": "forge", "clusterManager": {"name": "tatara"}},
        })
    );
    assert_eq!(
        serde_json::to_value(status).expect("JSON"),
        json!({
            "conditions": [
                {"type": "ControlPlaneHealthy", "status": "True", "reason": "ReadyzPassed", "message": "",
                 "lastTransitionTime": "2026-11-21T10:00:00Z", "observedGeneration": 1},
                {"type": "Joined", "status": "True", "reason": "Managed", "message": "",
                 "lastTransitionTime": "2026-11-21T10:00:00Z", "observedGeneration": 1},
            ],
            "version": {"kubernetes": "v1.36.3"},
            "properties": [{"name": "cluster.clusterset.k8s.io", "value": "c1"}],
            "accessProviders": [{"name": "kubeconfig-secretreader", "cluster": {"server": "https://10.0.0.1:6443"}}],
        })
    );
    assert_eq!(plan.findings[0].status, Status::True);
    assert_eq!(
        plan.findings[0].message,
        "ClusterProfile forge in namespace metal"
    );
}

#[test]
fn nothing_is_written_when_nothing_differs_nor_when_nothing_is_known() {
    assert_eq!(plan(&published(), at("11:00:00")).actions, []);
    // a restart of ours during an outage
    let blind = Observed {
        access: None,
        verdict: Verdict::Undecided,
        version: None,
        properties: None,
        ..published()
    };
    assert_eq!(plan(&blind, at("11:00:00")).actions, []);
}

#[test]
fn an_outage_changes_one_condition_and_keeps_the_way_in() {
    let down = |why: &str, from: Observed| Observed {
        access: None,
        verdict: Verdict::Unhealthy,
        health: why.into(),
        version: None,
        properties: None,
        ..from
    };
    let observed = down("connection refused", published());
    let plan_1 = plan(&observed, at("11:00:00"));
    let status = status_written(&plan_1);
    assert_eq!(status.access_providers, [access()]);
    assert_eq!(status.properties.len(), 1);
    assert_eq!(
        status
            .version
            .as_ref()
            .and_then(|v| v.kubernetes.as_deref()),
        Some("v1.36.3")
    );
    let healthy = condition(status, "ControlPlaneHealthy");
    assert_eq!(
        (healthy.status.as_str(), healthy.reason.as_str()),
        ("False", "ReadyzFailed")
    );
    assert_eq!(healthy.last_transition_time.0, at("11:00:00"));
    assert_eq!(
        condition(status, "Joined").last_transition_time.0,
        at("10:00:00")
    );
    // another wording of the same is no news
    let observed = down("no answer within 5 s", executed(observed, plan_1));
    assert_eq!(plan(&observed, at("11:00:10")).actions, []);
    // back again
    let observed = Observed {
        profiles: observed.profiles,
        ..self::healthy()
    };
    let plan_2 = plan(&observed, at("11:01:00"));
    let healthy = condition(status_written(&plan_2), "ControlPlaneHealthy");
    assert_eq!(
        (healthy.status.as_str(), healthy.message.as_str()),
        ("True", "")
    );
}

#[test]
fn a_member_that_changes_is_followed_in_version_properties_and_labels() {
    let mut observed = published();
    observed.version = Some("v1.36.4".into());
    observed.properties = Some(Vec::new());
    let plan_1 = plan(&observed, at("11:00:00"));
    let status = status_written(&plan_1);
    assert_eq!(status.properties, []);
    assert_eq!(
        status
            .version
            .as_ref()
            .and_then(|v| v.kubernetes.as_deref()),
        Some("v1.36.4")
    );
    let mut observed = published();
    observed.cluster.labels = [("team".into(), "a".into())].into();
    let plan_2 = plan(&observed, at("11:00:00"));
    let [
        Action::Publish {
            uid: Some(uid),
            object: Some(object),
            status: None,
            ..
        },
    ] = plan_2.actions.as_slice()
    else {
        panic!("{plan_2:?}");
    };
    assert_eq!(uid, "profile-uid");
    assert_eq!(object.metadata.uid.as_deref(), Some("profile-uid"));
    assert_eq!(object.labels().get("env"), None);
    assert_eq!(object.labels().get("team").map(String::as_str), Some("a"));
}

#[test]
fn the_member_id_is_the_users_else_the_one_before_else_the_clusters_uid() {
    let id = |plan: &Plan| match plan.actions.as_slice() {
        [
            Action::Publish {
                object: Some(object),
                ..
            },
        ] => object.labels()["multicluster.x-k8s.io/inventory-member-id"].clone(),
        other => panic!("{other:?}"),
    };
    let mut given = published();
    let label = (
        "multicluster.x-k8s.io/inventory-member-id".into(),
        "mine".into(),
    );
    given.cluster.labels.extend([label]);
    assert_eq!(id(&plan(&given, at("11:00:00"))), "mine");
    let mut restored = published();
    restored.cluster.uid = "another-uid".into();
    assert_eq!(id(&plan(&restored, at("11:00:00"))), "cluster-uid");
}

#[test]
fn without_a_way_in_nothing_is_published_first() {
    let observed = Observed {
        access: None,
        ..healthy()
    };
    let plan = plan(&observed, at("10:00:00"));
    assert_eq!(plan.actions, []);
    assert_eq!(plan.findings[0].reason, "WaitingForControlPlane");
}

#[test]
fn a_foreign_profile_and_a_forbidden_namespace_are_named_and_the_others_go_on() {
    let mut observed = Observed {
        namespaces: vec!["argocd".into(), "kueue-system".into()],
        forbidden: vec!["secret-place".into()],
        ..healthy()
    };
    let foreign = Existing::Foreign("that of the cluster manager open-cluster-management".into());
    observed.profiles.insert("argocd".into(), foreign);
    let plan = plan(&observed, at("10:00:00"));
    let [
        Action::Publish {
            namespace,
            object: Some(object),
            ..
        },
    ] = plan.actions.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(namespace, "kueue-system");
    assert_eq!(
        object.owner_references(),
        [],
        "an owner in another namespace is invalid"
    );
    let finding = &plan.findings[0];
    assert_eq!(
        (finding.status, finding.reason),
        (Status::False, "ForeignProfile")
    );
    assert_eq!(
        finding.message,
        "ClusterProfile argocd/forge is that of the cluster manager open-cluster-management and is left \
         alone; delete it there, or name another namespace in spec.providerSpec.value.profile.namespaces; \
         spec.providerSpec.value.profile.namespaces names secret-place, which the manager's \
         --profile-namespaces does not; add it there, or leave it out here"
    );
}

#[test]
fn a_namespace_that_is_asked_for_no_more_loses_its_profile() {
    let observed = Observed {
        namespaces: vec!["argocd".into()],
        ..published()
    };
    let plan = plan(&observed, at("11:00:00"));
    let [
        Action::Publish { .. },
        Action::Publish {
            status: Some(status),
            ..
        },
        Action::Withdraw { namespace, uid },
    ] = plan.actions.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(condition(status, "Joined").reason, "Withdrawn");
    assert_eq!((namespace.as_str(), uid.as_str()), ("metal", "profile-uid"));
}

#[test]
fn a_profile_that_somebody_deletes_is_made_again_when_it_is_gone() {
    let mut observed = published();
    change(&mut observed, "metal", |ours| {
        ours.deleted_at = Some(at("10:59:00"));
    });
    let plan_1 = plan(&observed, at("11:00:00"));
    assert_eq!(
        (plan_1.actions.len(), plan_1.findings[0].reason),
        (0, "BeingDeleted")
    );
    observed.profiles.clear();
    assert_eq!(plan(&observed, at("11:00:00")).actions.len(), 1);
}

#[test]
fn a_cluster_that_goes_takes_its_profile_along_first() {
    let mut observed = published();
    observed.cluster.deleting = true;
    let plan_1 = plan(&observed, at("12:00:00"));
    let [
        Action::Publish {
            object: None,
            status: Some(status),
            ..
        },
        Action::Withdraw { .. },
    ] = plan_1.actions.as_slice()
    else {
        panic!("{plan_1:?}");
    };
    let joined = condition(status, "Joined");
    assert_eq!(
        (joined.status.as_str(), joined.reason.as_str()),
        ("False", "ClusterDeleting")
    );
    assert_eq!(condition(status, "ControlPlaneHealthy").status, "True");
    assert_eq!(status.access_providers, [access()]);
    let observed = executed(observed, plan_1);
    assert_eq!(plan(&observed, at("12:00:00")).actions, [Action::Release]);
    let released = Observed {
        cluster: ClusterFacts {
            held: false,
            ..observed.cluster.clone()
        },
        ..observed
    };
    assert_eq!(plan(&released, at("12:00:00")), Plan::default());
}

#[test]
fn finalizers_of_consumers_delay_the_end_of_a_cluster_for_a_minute_and_no_longer() {
    let mut observed = published();
    observed.cluster.deleting = true;
    change(&mut observed, "metal", |ours| {
        ours.deleted_at = Some(at("12:00:00"));
        ours.finalizers = vec!["clusterinventory.projectsveltos.io/finalizer".into()];
    });
    let waiting = plan(&observed, at("12:00:20"));
    assert_eq!(waiting.actions, []);
    assert_eq!(waiting.next, Some(Duration::from_secs(40)));
    assert_eq!(
        waiting.findings[0].message,
        "ClusterProfile metal/forge goes first, which the finalizers \
         clusterinventory.projectsveltos.io/finalizer of its consumers hold; waiting at most 60 s"
    );
    assert_eq!(plan(&observed, at("12:01:00")).actions, [Action::Release]);
}

#[test]
fn without_its_definition_a_cluster_says_so_and_can_still_go() {
    let mut observed = Observed {
        served: false,
        ..healthy()
    };
    let plan_1 = plan(&observed, at("10:00:00"));
    assert_eq!(
        (plan_1.actions.len(), plan_1.findings[0].reason),
        (0, "DefinitionMissing")
    );
    observed.cluster.deleting = true;
    assert_eq!(plan(&observed, at("10:00:00")).actions, [Action::Release]);
}

#[test]
fn what_a_profile_cannot_carry_is_said() {
    let mut observed = published();
    observed.skipped = vec!["long.example.com".into()];
    observed.cluster.name = "f".repeat(60);
    observed.profiles.clear();
    let message = &plan(&observed, at("10:00:00")).findings[0].message;
    assert!(message.contains(
        "left out, for their values are empty or longer than 1024 bytes: long.example.com"
    ));
    assert!(message.contains("longer than 62 characters"), "{message}");
}

#[test]
fn inventories_are_the_clusters_own_unless_others_are_asked_for_and_allowed() {
    let asked = |names: &[&str]| {
        let settings = ProfileSettings {
            namespaces: names.iter().map(ToString::to_string).collect(),
        };
        inventories(&settings, "metal", &["argocd".into()])
    };
    assert_eq!(asked(&[]), (vec!["metal".into()], vec![]));
    assert_eq!(
        asked(&["kueue-system", "metal", "argocd", "argocd"]),
        (
            vec!["argocd".into(), "metal".into()],
            vec!["kueue-system".into()]
        )
    );
}
