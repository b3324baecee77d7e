//! Publishing: what is written, and above all when nothing is.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::discovery::{Scope, pinned_kind};
use serde_json::json;
use tatara::controllers::cluster_profile::changes;
use tatara_core::api::ClusterProfile;
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::control_plane::health::Verdict;

use crate::cluster_profile::passes::Profiles;
use crate::cluster_profile::world::{World, at};
use crate::support::wait::eventually;

const MANAGER: &str = "x-k8s.io/cluster-manager";
const MEMBER_ID: &str = "multicluster.x-k8s.io/inventory-member-id";

/// The eight checks of the conformance suite of cluster-inventory-api, read-only on an inventory.
async fn assert_conforms(world: &World, namespace: &str) {
    let kind =
        kube::core::GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile");
    let (_, served) = pinned_kind(&world.client, &kind)
        .await
        .expect("1: the kind is served");
    assert_eq!(served.scope, Scope::Namespaced, "1: and namespaced");
    let profiles = world
        .profiles(namespace)
        .list(&Default::default())
        .await
        .expect("a list")
        .items;
    assert!(!profiles.is_empty(), "2: there is a profile");
    let mut ids = BTreeSet::new();
    for profile in &profiles {
        let label = |key: &str| profile.labels().get(key).filter(|value| !value.is_empty());
        let status = profile.status.clone().unwrap_or_default();
        let manager = Some(&profile.spec.cluster_manager.name);
        assert_eq!(
            label(MANAGER),
            manager,
            "3: the manager's label is the manager's name"
        );
        assert!(
            profile
                .labels()
                .get(MEMBER_ID)
                .is_none_or(|id| !id.is_empty()),
            "4: no empty member id"
        );
        assert!(
            label(MEMBER_ID).is_some_and(|id| ids.insert(id.clone())),
            "5: a unique member id"
        );
        assert!(
            find(&status.conditions, ConditionType::ControlPlaneHealthy).is_some(),
            "6"
        );
        assert!(
            find(&status.conditions, ConditionType::Joined).is_some(),
            "7"
        );
        let version = status.version.and_then(|version| version.kubernetes);
        assert!(
            version.is_some_and(|version| !version.is_empty()),
            "8: a version"
        );
    }
}

fn version_of(profile: &ClusterProfile) -> Option<String> {
    profile.resource_version()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_published_cluster_conforms_and_neither_passes_nor_restarts_nor_re_applies_are_events() {
    let world = World::new("publish-1").await;
    let passes = Profiles::new(world.client.clone());
    let report = world.settle(&passes, at("10:00:00"), |_| {}).await;
    assert_eq!(report.findings[0].reason(), Reason::Published, "{report:?}");
    assert_conforms(&world, "publish-1").await;
    let profile = world.profile("publish-1").await;
    let access = profile.status.clone().expect("a status").access_providers;
    let access = serde_json::to_value(&access[0]).expect("JSON");
    assert_eq!(access["name"], "kubeconfig-secretreader");
    assert_eq!(
        access["cluster"]["extensions"],
        json!([{"name": "client.authentication.k8s.io/exec", "extension":
            {"name": "publish-1-profile-kubeconfig", "namespace": "publish-1", "key": "value"}}])
    );

    let before = world.requests();
    let again = passes
        .pass(&world.input().await, at("10:01:00"))
        .await
        .expect("a pass");
    assert_eq!(again.findings, []);
    assert_eq!(
        world.requests(),
        before,
        "a pass with nothing new makes no request"
    );

    // a restart that knows nothing yet, then one that knows all
    let restarted = Profiles::new(world.client.clone());
    let report = world.settle(&restarted, at("10:02:00"), |input| {
        input.verdict = Verdict::Undecided;
        input.version = None;
        input.is_connected = false;
    });
    report.await;
    world.settle(&restarted, at("10:03:00"), |_| {}).await;
    assert_eq!(
        version_of(&world.profile("publish-1").await),
        version_of(&profile)
    );

    // what we sent, sent again
    let status = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": "publish-1"}, "status": profile.status});
    let params = PatchParams::apply("tatara");
    let applied = world
        .profiles("publish-1")
        .patch_status("publish-1", &params, &Patch::Apply(status))
        .await;
    assert_eq!(
        version_of(&applied.expect("an applied status")),
        version_of(&profile)
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn an_outage_and_a_second_writer_leave_each_others_parts_alone() {
    let world = World::new("publish-2").await;
    let passes = Profiles::new(world.client.clone());
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let theirs = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": "publish-2"}, "status": {"properties": [{"name": "theirs.example.com", "value": "1"}]}});
    let params = PatchParams::apply("somebody");
    let applied = world
        .profiles("publish-2")
        .patch_status("publish-2", &params, &Patch::Apply(theirs))
        .await;
    let way_in = applied
        .expect("an applied status")
        .status
        .expect("a status")
        .access_providers;
    let restarted = Profiles::new(world.client.clone());
    world
        .settle(&restarted, at("11:00:00"), |input| {
            input.verdict = Verdict::Unhealthy;
            input.health = "the API server does not answer".into();
            input.version = Some("v1.36.4".into());
            input.is_connected = false;
        })
        .await;
    let status = world.profile("publish-2").await.status.expect("a status");
    let healthy =
        find(&status.conditions, ConditionType::ControlPlaneHealthy).expect("the condition");
    assert_eq!(
        (healthy.status.as_str(), healthy.last_transition_time.0),
        ("False", at("11:00:00"))
    );
    assert_eq!(status.access_providers, way_in);
    assert_eq!(status.properties[0].name, "theirs.example.com");
    assert_eq!(
        status.version.and_then(|v| v.kubernetes).as_deref(),
        Some("v1.36.4")
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_foreign_profile_stays_as_it_is_and_a_missing_namespace_is_named() {
    let world = World::new("publish-3").await;
    world.make_namespace("publish-3-theirs").await;
    let foreign: ClusterProfile = serde_json::from_value(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": "publish-3"}, "spec": {"clusterManager": {"name": "fleet"}}}))
    .expect("a profile");
    let theirs = world.profiles("publish-3-theirs");
    let before = theirs
        .create(&PostParams::default(), &foreign)
        .await
        .expect("their profile");
    let passes = Profiles::new(world.client.clone());
    let both = ["publish-3", "publish-3-theirs"].map(str::to_owned);
    let report = world
        .settle(&passes, at("10:00:00"), |input| {
            input.namespaces = both.to_vec();
        })
        .await;
    assert_eq!(
        report.findings[0].reason(),
        Reason::ForeignProfile,
        "{report:?}"
    );
    assert_eq!(
        version_of(&world.profile("publish-3-theirs").await),
        version_of(&before)
    );
    world.profile("publish-3").await;

    let missing = ["publish-3", "publish-3-missing"].map(str::to_owned);
    let report = world
        .settle(&passes, at("10:00:00"), |input| {
            input.namespaces = missing.to_vec();
        })
        .await;
    assert_eq!(report.findings[0].reason(), Reason::Refused);
    assert_eq!(
        report.findings[0].message(),
        "ClusterProfile publish-3-missing/publish-3: namespaces \"publish-3-missing\" not found"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_profile_that_somebody_changes_or_deletes_is_repaired() {
    let world = World::new("publish-4").await;
    let passes = Profiles::new(world.client.clone());
    // the manager wakes what comes out; here it is enough that it is remembered
    let (client, memory) = (world.client.clone(), passes.memory.clone());
    let watching = tokio::spawn(async move {
        changes(&client, &memory).for_each(async |_| {}).await;
    });
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let first = world.profile("publish-4").await;
    // a label of ours gets another value, by force
    let label = Patch::Merge(json!({"metadata": {"labels": {"env": "test"}}}));
    let profiles = world.profiles("publish-4");
    profiles
        .patch("publish-4", &PatchParams::default(), &label)
        .await
        .expect("a change");
    let repaired = eventually("the label", async || {
        world.settle(&passes, at("10:00:00"), |_| {}).await;
        let profile = world.profile("publish-4").await;
        (profile.labels()["env"] == "prod").then_some(profile)
    })
    .await;
    assert_eq!(repaired.uid(), first.uid());
    profiles
        .delete("publish-4", &DeleteParams::default())
        .await
        .expect("a deletion");
    eventually("another profile", async || {
        world.settle(&passes, at("10:00:00"), |_| {}).await;
        let profile = profiles.get_opt("publish-4").await.expect("an answer")?;
        (profile.uid() != first.uid()).then_some(())
    })
    .await;
    watching.abort();
}
