//! The identity of consumers: what it may do, and that it can be revoked.

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use tatara::controllers::cluster_profile::Publisher;

use crate::world::{World, at, eventually};

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
    let world = World::new("consumer-1").await;
    let publisher = Publisher::new(world.client.clone());
    world.settle(&publisher, at("10:00:00"), |_| {}).await;
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
        world.settle(&publisher, at("10:06:00"), |_| {}).await;
        (answer::<Pod>(&world.consumer().await).await == 200).then_some(())
    })
    .await;
}
