//! The end of a Cluster: its profile goes first, and consumers cannot hold it for ever.

use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tatara_core::api::conditions::{ConditionType, Reason, find};

use crate::cluster_profile::passes::{Profiles, Report};
use crate::cluster_profile::world::{World, at};
use crate::support::wait::eventually;

async fn pass(world: &World, passes: &Profiles, later: SignedDuration) -> Report {
    let now = tatara::clock::now() + later;
    passes
        .pass(&world.input().await, now)
        .await
        .expect("a pass")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_deleted_cluster_is_gone_once_its_profile_is() {
    let world = World::new("end-1").await;
    let passes = Profiles::new(world.client.clone());
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let clusters = world.clusters();
    clusters
        .delete("end-1", &DeleteParams::default())
        .await
        .expect("a deletion");
    assert!(
        clusters
            .get_opt("end-1")
            .await
            .expect("an answer")
            .is_some(),
        "held"
    );
    eventually("the end of the profile", async || {
        pass(&world, &passes, SignedDuration::ZERO).await;
        world
            .profiles("end-1")
            .get_opt("end-1")
            .await
            .expect("an answer")
            .is_none()
            .then_some(())
    })
    .await;
    let left = clusters.get_opt("end-1").await.expect("an answer");
    if left.is_some() {
        pass(&world, &passes, SignedDuration::ZERO).await;
    }
    assert!(
        clusters
            .get_opt("end-1")
            .await
            .expect("an answer")
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_consumer_that_holds_the_profile_sees_why_and_delays_the_end_for_a_bounded_time() {
    let world = World::new("end-2").await;
    let passes = Profiles::new(world.client.clone());
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let held =
        Patch::Merge(json!({"metadata": {"finalizers": ["consumer.example.com/finalizer"]}}));
    let profiles = world.profiles("end-2");
    profiles
        .patch("end-2", &PatchParams::default(), &held)
        .await
        .expect("a finalizer");
    world
        .clusters()
        .delete("end-2", &DeleteParams::default())
        .await
        .expect("a deletion");
    pass(&world, &passes, SignedDuration::ZERO).await;
    let waiting = pass(&world, &passes, SignedDuration::ZERO).await;
    assert_eq!(waiting.findings[0].reason(), Reason::Withdrawing);
    assert!(
        waiting.findings[0]
            .message()
            .contains("consumer.example.com/finalizer"),
        "{waiting:?}"
    );
    let profile = world.profile("end-2").await;
    assert!(profile.metadata.deletion_timestamp.is_some());
    let status = profile.status.clone().expect("a status");
    let joined = find(&status.conditions, ConditionType::Joined).expect("the condition");
    assert_eq!(
        (joined.status.as_str(), joined.reason.as_str()),
        ("False", "ClusterDeleting")
    );
    assert!(
        world
            .clusters()
            .get_opt("end-2")
            .await
            .expect("an answer")
            .is_some(),
        "held"
    );

    pass(&world, &passes, SignedDuration::from_secs(62)).await;
    assert!(
        world
            .clusters()
            .get_opt("end-2")
            .await
            .expect("an answer")
            .is_none()
    );
    assert_eq!(
        world.profile("end-2").await.uid(),
        profile.uid(),
        "the consumer still has it"
    );
}
