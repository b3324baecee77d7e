//! Addons of a cluster whose API is somebody else's: the management plane's own.

use serde_json::{Value, json};

use crate::manager::world::World;
use crate::support::wait::until_true;

/// The source of an addon that makes ConfigMap `made`.
fn source(text: &str) -> Value {
    source_for("addons", text)
}

fn source_for(namespace: &str, text: &str) -> Value {
    let made = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "made", "namespace": namespace},
        "data": {"text": text},
    });
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "source"},
        "data": {"made.yaml": made.to_string()},
    })
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn an_addon_is_applied_when_it_appears_and_again_when_it_changes() {
    let world = World::new("addons").await;
    world.external_cluster("ext", &json!([{"kind": "ConfigMap", "name": "source"}]));
    let reason = ".status.conditions[?(@.type==\"AddonsApplied\")].reason";
    world.until_says("cluster/ext", "Refused", reason).await;
    world.create("source.yaml", &source("one").to_string());
    world
        .until_says("configmap/made", "one", ".data.text")
        .await;
    world.until_says("cluster/ext", "Applied", reason).await;
    world.patch("configmap/source", &source("two"));
    world
        .until_says("configmap/made", "two", ".data.text")
        .await;
    world.kubectl(&["delete", "configmap/source"]);
    world.until_says("cluster/ext", "Refused", reason).await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn an_addon_that_waits_for_something_is_tried_ever_more_rarely_until_it_is_there() {
    let world = World::new("waits").await;
    world.create("source.yaml", &source_for("later", "one").to_string());
    world.external_cluster("ext", &json!([{"kind": "ConfigMap", "name": "source"}]));
    let reason = ".status.conditions[?(@.type==\"AddonsApplied\")].reason";
    world
        .until_says("cluster/ext", "WaitingForKinds", reason)
        .await;
    let looks = || world.asked(&["\"requestURI\":\"/readyz?verbose\"", "ResponseComplete"]);
    let applied = || world.asked(&["/namespaces/later/configmaps/made", "ResponseComplete"]);
    let before = (looks(), applied());
    // it is looked at every ten seconds
    until_true("three looks at the cluster", || looks() >= before.0 + 3).await;
    let times = applied() - before.1;
    assert!(times <= 6, "{times} times in three looks");
    world.kubectl(&["create", "namespace", "later"]);
    world.until_says("cluster/ext", "Applied", reason).await;
}
