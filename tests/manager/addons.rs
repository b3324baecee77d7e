//! Addons of a cluster whose API is somebody else's: the management plane's own.

use serde_json::{Value, json};

use crate::world::World;

/// The source of an addon that makes ConfigMap `made`.
fn source(text: &str) -> Value {
    let made = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "made", "namespace": "addons"},
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
