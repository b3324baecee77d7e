//! The identity of consumers: what it may do, and that it can be revoked.

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tatara::workload::{addons, manifests};

use crate::cluster_profile::passes::Profiles;
use crate::cluster_profile::world::{World, at};
use crate::support::wait::eventually;

/// The status code of listing a kind, 200 when it works.
async fn answer<K>(client: &Client) -> u16
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    match Api::<K>::all(client.clone())
        .list(&ListParams::default())
        .await
    {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn consumers_may_view_and_lose_that_when_the_token_is_deleted() {
    let world = World::alone("consumer-1").await;
    let passes = Profiles::new(world.client.clone());
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let consumer = world.consumer().await;
    // the cluster's own controller puts the rules of the role together
    eventually("the rights of consumers", async || {
        (answer::<Pod>(&consumer).await == 200).then_some(())
    })
    .await;
    assert_eq!(answer::<Secret>(&consumer).await, 403);

    let in_member: Api<Secret> = Api::namespaced(world.client.clone(), "kube-system");
    let deleted = in_member
        .delete("tatara-profile-consumer", &DeleteParams::default())
        .await;
    deleted.expect("a revoked token");
    eventually("the end of the token", async || {
        (answer::<Pod>(&consumer).await == 401).then_some(())
    })
    .await;
    // the next look at the member makes another one
    eventually("another token", async || {
        world.settle(&passes, at("10:30:00"), |_| {}).await;
        (answer::<Pod>(&world.consumer().await).await == 200).then_some(())
    })
    .await;
}

/// What `kubectl auth can-i VERB RESOURCE.GROUP/SUBRESOURCE` answers to a client.
async fn may(client: &Client, verb: &str, what: &str) -> bool {
    let (what, subresource) = what.split_once('/').unwrap_or((what, ""));
    let (resource, group) = what.split_once('.').unwrap_or((what, ""));
    let review = json!({"spec": {"resourceAttributes": {"verb": verb, "group": group,
        "resource": resource, "subresource": subresource, "namespace": "default"}}});
    let review: SelfSubjectAccessReview = serde_json::from_value(review).expect("a review");
    let reviews = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &review).await;
    review
        .expect("an answer")
        .status
        .is_some_and(|it| it.allowed)
}

/// The status code of making a Job, 201 when it works.
async fn make_job(client: &Client) -> u16 {
    let job = json!({"metadata": {"name": "by-a-consumer"}, "spec": {"suspend": true, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example.com/c:1"}]}}}});
    let job: Job = serde_json::from_value(job).expect("a Job");
    let jobs = Api::namespaced(client.clone(), "default");
    match jobs.create(&PostParams::default(), &job).await {
        Ok(_) => 201,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn consumers_may_write_what_the_example_for_writers_says_and_no_more() {
    let world = World::alone("writer-1").await;
    let passes = Profiles::new(world.client.clone());
    world.settle(&passes, at("10:00:00"), |_| {}).await;
    let consumer = world.consumer().await;
    eventually("the rights of consumers", async || {
        may(&consumer, "list", "pods").await.then_some(())
    })
    .await;
    assert_eq!(make_job(&consumer).await, 403);

    let text = include_str!("../../../templates/profile-consumer/writer.yaml");
    let documents = manifests::parse("writer.yaml", text).expect("a valid template");
    let applied = addons::apply(&world.client, documents).await;
    let applied = applied.expect("an answer");
    assert!(applied.is_complete(), "{applied:?}");
    eventually("the rights of writers", async || {
        may(&consumer, "create", "jobs.batch").await.then_some(())
    })
    .await;
    assert_eq!(make_job(&consumer).await, 201);
    for (verb, what, expected) in [
        ("delete", "jobs.batch", true),
        ("watch", "jobs.batch", true),
        ("get", "jobs.batch/status", true),
        ("create", "workloads.kueue.x-k8s.io", true),
        ("patch", "workloads.kueue.x-k8s.io/status", true),
        ("list", "pods", true),
        ("update", "jobs.batch/status", false),
        ("create", "pods", false),
        ("delete", "workloads.apps", false),
        ("get", "secrets", false),
        ("create", "clusterroles.rbac.authorization.k8s.io", false),
        ("impersonate", "users", false),
    ] {
        let answer = may(&consumer, verb, what).await;
        assert_eq!(answer, expected, "{verb} {what}");
    }
}
