//! A Node that has the provider ID of another's Machine, as a kubelet sets it by itself.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Resource as _, ResourceExt};
use serde_json::json;
use tatara_core::api::Machine;

use crate::simulated::site::Site;
use crate::support::conditions::said;
use crate::support::wait::eventually;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_node_that_claims_the_provider_id_of_another_is_told_and_left_alone() {
    let site = Site::new().await;
    site.deployment("pool", 1, json!({}));
    site.until_ready("pool", 1).await;
    let machine = site.machines("pool").await.remove(0);
    let name = machine.name_any();
    let own = site.nodes().await.remove(0);
    let nodes: Api<Node> = Api::all(site.member().clone());
    let claims = json!({"metadata": {"name": "stranger"},
        "spec": {"providerID": machine.spec.provider_id}});
    let claims = serde_json::from_value(claims).expect("a Node");
    let made = nodes.create(&PostParams::default(), &claims).await;
    let stranger = made.expect("a Node");

    let machines = site.api::<Machine>();
    eventually("the finding", async || {
        let machine = machines.get(&name).await.ok()?;
        let status = machine.status.clone()?;
        let healthy = said(&status.conditions, "NodeHealthy");
        let is_own = status.node_ref?.name == own.meta().name;
        (is_own && healthy.starts_with("True/ProviderIDContested")).then_some(())
    })
    .await;
    // its deletion and its drain go on, and the other Node is no part of them
    site.scale("pool", 0);
    let deleted = machines.delete(&name, &DeleteParams::default()).await;
    deleted.ok();
    eventually("the end of the Machine", async || {
        machines.get_opt(&name).await.ok()?.is_none().then_some(())
    })
    .await;
    eventually("the end of its own Node", async || {
        let left = nodes.get_opt(&own.name_any()).await.ok()?;
        left.is_none().then_some(())
    })
    .await;
    let left = nodes.get("stranger").await.expect("the other Node");
    assert_eq!(left.resource_version(), stranger.resource_version());
}
