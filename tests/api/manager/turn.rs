//! The control-plane turn on a Cluster and on its CA Secret, with policies away: what one of the two loses is written
//! again, and a contradiction stops everything. The holder is a Machine that does not exist, so that nothing moves.

use serde_json::{Value, json};

use crate::manager::world::World;
use crate::support::wait::until_true;

const TURN: &str = r".metadata.annotations.tatara\.dev/control-plane-turn";
const RECORD: &str = r".metadata.annotations.tatara\.dev/control-plane-initialized";
const GONE: &str = r".metadata.annotations.tatara\.dev/host-is-gone";
const REASON: &str = r#".status.conditions[?(@.type=="ControlPlaneInitialized")].reason"#;
const MESSAGE: &str = r#".status.conditions[?(@.type=="ControlPlaneInitialized")].message"#;

fn turn(uid: &str) -> String {
    format!(r#"{{"machine":"{uid}","name":"machine-{uid}","action":"init"}}"#)
}

/// The policies are the first line only. That they are away takes effect a moment later.
async fn without_policies(world: &World) {
    let policy = "validatingadmissionpolicybinding/tatara-control-plane-turn";
    world.kubectl(&["delete", policy]);
    let spoil = "tatara.dev/control-plane-turn=rubbish";
    let spoil = [
        "annotate",
        "--overwrite",
        "--dry-run=server",
        "cluster/d",
        spoil,
    ];
    until_true("an end of the policy", || {
        world.kubectl_says(&spoil).contains("annotated")
    })
    .await;
}

fn annotate(world: &World, what: &str, key: &str, value: &Value) {
    let key = format!("tatara.dev/{key}");
    world.patch(
        what,
        &json!({ "metadata": { "annotations": { key: value } } }),
    );
}

/// Deletes a Secret, whoever holds it, and creates it from what a file would have: no annotations.
fn made_again(world: &World, name: &str) {
    let secret = world.kubectl(&["get", "secret", name, "-o", "json"]);
    let mut secret: Value = serde_json::from_str(&secret).expect("JSON");
    secret["metadata"] = json!({ "name": name });
    let what = format!("secret/{name}");
    world.kubectl(&["delete", &what, "--wait=false"]);
    world.patch(&what, &json!({ "metadata": { "finalizers": null } }));
    world.create("secret.yaml", &secret.to_string());
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_turn_outlives_edits_and_replacement_of_the_cluster_or_of_its_ca_secret() {
    let world = World::new("turn").await;
    world.plain_cluster("d", &json!([]));
    let held = ".metadata.finalizers[*]";
    world
        .until_says("secret/d-ca", "tatara.dev/in-use", held)
        .await;

    // An older release wrote it on the Cluster only.
    annotate(
        &world,
        "cluster/d",
        "control-plane-turn",
        &json!(turn("u1")),
    );
    world.until_says("secret/d-ca", &turn("u1"), TURN).await;
    world
        .until_says("cluster/d", "TurnHolderGone", REASON)
        .await;

    // With the policies, a manifest from before is refused; without, the Secret says it still.
    let manifest = world.manifests().join("d.yaml");
    let replace = ["replace", "-f", manifest.to_str().expect("text")];
    let refused = world.kubectl_says(&replace);
    assert!(
        refused.contains("only the manager changes or removes it"),
        "{refused}"
    );
    without_policies(&world).await;
    world.kubectl(&replace);
    assert_eq!(world.says("cluster/d", TURN), "");
    assert_eq!(world.says("secret/d-ca", TURN), turn("u1"));

    // Another holder on the Cluster is a contradiction, with both names and the remedy.
    annotate(
        &world,
        "cluster/d",
        "control-plane-turn",
        &json!(turn("u2")),
    );
    world.until_says("cluster/d", "TurnInDoubt", REASON).await;
    let message = world.says("cluster/d", MESSAGE);
    for part in [
        "Machine machine-u1 (uid u1)",
        "Machine machine-u2 (uid u2)",
        "tatara.dev/host-is-gone=UID",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(world.says("secret/d-ca", TURN), turn("u1"));
    // By the user's act the Machine that does not exist has it no more; the act is used up.
    annotate(&world, "cluster/d", "host-is-gone", &json!("u2"));
    for field in [TURN, GONE] {
        world.until_says("cluster/d", "", field).await;
    }
    world
        .until_says("cluster/d", "TurnHolderGone", REASON)
        .await;
    assert_eq!(world.says("secret/d-ca", TURN), turn("u1"));
    annotate(&world, "cluster/d", "control-plane-turn", &json!("rubbish"));
    let rubbish = "\"rubbish\", which names no Machine";
    until_true("words about rubbish", || {
        world.says("cluster/d", MESSAGE).contains(rubbish)
    })
    .await;
    annotate(&world, "cluster/d", "control-plane-turn", &Value::Null);
    world
        .until_says("cluster/d", "TurnHolderGone", REASON)
        .await;

    // The Secret is edited, and made again from a file: the Cluster says it still.
    annotate(
        &world,
        "cluster/d",
        "control-plane-turn",
        &json!(turn("u1")),
    );
    annotate(&world, "secret/d-ca", "control-plane-turn", &Value::Null);
    world.until_says("secret/d-ca", &turn("u1"), TURN).await;
    made_again(&world, "d-ca");
    world.until_says("secret/d-ca", &turn("u1"), TURN).await;

    // The record of init is copied as well, and ends the turn on both.
    annotate(
        &world,
        "cluster/d",
        "control-plane-initialized",
        &json!("u1"),
    );
    world.until_says("secret/d-ca", "u1", RECORD).await;
    for what in ["cluster/d", "secret/d-ca"] {
        world.until_says(what, "", TURN).await;
    }
    world.until_says("cluster/d", "Initialized", REASON).await;
}
