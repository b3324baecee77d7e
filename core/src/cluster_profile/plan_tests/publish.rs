//! What is published, and when it is written.

use super::*;

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
            "accessProviders": [{"name": "kubeconfig-secretreader", "cluster": {
                "server": "https://10.0.0.1:6443",
                "certificate-authority-data": "UEVN",
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension":
                    {"name": "forge-profile-kubeconfig", "namespace": "metal", "key": "value"}}],
            }}],
        })
    );
    assert_eq!(plan.findings[0].status, Status::True);
    assert_eq!(
        plan.findings[0].message(),
        "ClusterProfile forge in namespace metal"
    );
}

#[test]
fn nothing_is_written_when_nothing_differs_nor_when_nothing_is_known() {
    assert_eq!(plan(&published(), at("11:00:00")).actions, []);
    // a restart of ours during an outage
    let blind = Observed {
        server: None,
        kubeconfig: None,
        secret: None,
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
        server: None,
        verdict: Verdict::Unhealthy,
        health: why.into(),
        version: None,
        properties: None,
        ..from
    };
    let observed = down("connection refused", published());
    let plan_1 = plan(&observed, at("11:00:00"));
    let status = status_written(&plan_1);
    assert_eq!(status.access_providers.len(), 1);
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
        server: None,
        waits_for: "its control plane is not initialised yet".into(),
        namespaces: vec!["argocd".into(), "metal".into()],
        ..healthy()
    };
    let plan = plan(&observed, at("10:00:00"));
    assert_eq!(plan.actions, []);
    assert_eq!(plan.findings[0].reason(), "WaitingForControlPlane");
    assert_eq!(
        plan.findings[0].message(),
        "not published yet: its control plane is not initialised yet"
    );
}

#[test]
fn what_a_profile_cannot_carry_is_said() {
    let mut observed = published();
    observed.skipped = vec!["long.example.com".into()];
    observed.cluster.name = "f".repeat(60);
    observed.profiles.clear();
    let message = &plan(&observed, at("10:00:00")).findings[0].message();
    assert!(message.contains(
        "left out, because their values are empty or longer than 1024 bytes: long.example.com"
    ));
    assert!(message.contains("longer than 62 characters"), "{message}");
}

#[test]
fn the_secret_of_another_cluster_is_not_published() {
    let mut taken = healthy();
    taken.secret = None;
    taken.rival = Some("forge-profile".into());
    let never = plan(&taken, at("10:00:00"));
    assert_eq!(never.actions, []);
    let finding = &never.findings[0];
    assert_eq!(finding.reason(), "SecretTaken");
    for part in [
        "forge-profile-kubeconfig",
        "Cluster forge-profile",
        "another name",
    ] {
        assert!(finding.message().contains(part), "{}", finding.message());
    }
    let mut before = published();
    before.secret = None;
    before.rival.clone_from(&taken.rival);
    let withdrawn = executed(before.clone(), plan(&before, at("10:00:01")));
    assert_eq!(withdrawn.profiles.len(), 0, "what led there is taken back");
}

#[test]
fn the_way_in_is_there_before_it_is_shown() {
    let mut observed = healthy();
    observed.cluster.held = false;
    observed.secret = None;
    observed.account_due = true;
    let first = plan(&observed, at("10:00:00"));
    let [
        Action::MakeAccount,
        Action::WriteSecret { uid: None, .. },
        Action::Hold,
        Action::Publish { .. },
    ] = first.actions.as_slice()
    else {
        panic!("{first:?}");
    };
    assert!(!first.is_settled());
    let mut rotated = executed(observed, first);
    rotated.kubeconfig = Some(kubeconfig("another"));
    let second = plan(&rotated, at("10:05:00"));
    assert_eq!(second.actions.len(), 1, "nothing of the profile differs");
    let rotated = executed(rotated, second);
    assert!(plan(&rotated, at("10:05:00")).is_settled());
}

#[test]
fn a_look_at_the_member_that_finds_nothing_new_is_repeated_in_time_and_says_nothing() {
    let observed = Observed {
        account_due: true,
        asks: Next::After(std::time::Duration::from_mins(5)),
        unchanged: true,
        profiles: Default::default(),
        ..published()
    };
    let again = plan(&observed, at("10:05:00"));
    assert_eq!(again.actions, [Action::MakeAccount]);
    assert!(again.is_settled() && again.findings.is_empty());
    assert_eq!(again.next, observed.asks);
}

#[test]
fn what_was_refused_is_said_instead_of_what_was_hoped_for() {
    let mut plan = plan(&healthy(), at("10:00:00"));
    let refused = Finding::no(CONDITION, Reason::Refused, "no");
    plan.learn(None);
    assert_eq!(plan.findings[0].status, Status::True);
    plan.learn(Some(refused.clone()));
    assert_eq!(plan.findings, [refused]);
}

#[test]
fn what_consumers_may_be_refused_is_said_while_the_profile_is_published() {
    let mut observed = published();
    observed.problem = Some("failed to make the account of its consumers: no".into());
    let said = &plan(&observed, at("10:00:01")).findings[0];
    assert_eq!(
        (said.status, said.reason()),
        (Status::True, Reason::Published)
    );
    let expected = "refused to them: failed to make the account of its consumers: no";
    assert!(said.message().ends_with(expected), "{}", said.message());
}
