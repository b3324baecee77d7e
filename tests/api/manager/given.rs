//! The Secrets that people give for a Cluster: noticed when they come, change, or are mended.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::manager::world::World;

const HEALTHY: &str = ".status.conditions[?(@.type==\"ControlPlaneHealthy\")]";
const INITIALIZED: &str = ".status.conditions[?(@.type==\"ControlPlaneInitialized\")].reason";
const CERTIFICATES: &str = ".status.conditions[?(@.type==\"CertificatesReady\")].reason";

/// The kubeconfig of the plane, with another token in place of its certificate.
fn stranger(world: &World) -> String {
    let kubeconfig = Kubeconfig::read_from(world.kubeconfig()).expect("a kubeconfig");
    let mut kubeconfig = serde_json::to_value(kubeconfig).expect("JSON");
    kubeconfig["users"][0]["user"] = json!({"token": "of-nobody"});
    kubeconfig.to_string()
}

fn value(text: &str) -> Value {
    json!({"stringData": {"value": text}})
}

/// The ClusterProfile of `ext` names the server of the given kubeconfig, its authority, and the consumers' own Secret.
async fn assert_published(world: &World) {
    let given = Kubeconfig::read_from(world.kubeconfig()).expect("a kubeconfig");
    let given = given.clusters[0].cluster.clone().expect("a cluster");
    let cluster = ".status.accessProviders[?(@.name==\"kubeconfig-secretreader\")].cluster";
    let server = given.server.expect("a server");
    let field = format!("{cluster}.server");
    world
        .until_says("clusterprofile/ext", &server, &field)
        .await;
    let pem = |data: &str| {
        let pem = STANDARD.decode(data).expect("base64");
        String::from_utf8_lossy(&pem).replace(['\r', '\n'], "")
    };
    let shown = world.says(
        "clusterprofile/ext",
        &format!("{cluster}.certificate-authority-data"),
    );
    let own = given.certificate_authority_data.expect("an authority");
    assert_eq!(pem(&shown), pem(&own));
    let secret = world.says(
        "clusterprofile/ext",
        &format!("{cluster}.extensions[0].extension.name"),
    );
    assert_eq!(secret, "ext-profile-kubeconfig");
    let published = ".status.conditions[?(@.type==\"ProfilePublished\")].reason";
    world
        .until_says("cluster/ext", "Published", published)
        .await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_kubeconfig_that_comes_or_changes_is_used_at_once() {
    let world = World::new("given").await;
    world.plain_cluster("ext", &json!([]));
    world
        .until_says("cluster/ext", "WaitingForMachine", INITIALIZED)
        .await;
    // it comes after the Cluster, and nobody knows its user
    let old = stranger(&world);
    let from = format!("--from-literal=value={old}");
    world.kubectl(&["create", "secret", "generic", "ext-kubeconfig", &from]);
    world
        .until_says("cluster/ext", "ExternalControlPlane", INITIALIZED)
        .await;
    let message = format!("{HEALTHY}.message");
    let refused = "the API server does not accept the credentials in Secret";
    world.until_begins("cluster/ext", refused, &message).await;
    // it is rotated
    let admin = std::fs::read_to_string(world.kubeconfig()).expect("a kubeconfig");
    world.patch("secret/ext-kubeconfig", &value(&admin));
    let reason = format!("{HEALTHY}.reason");
    world
        .until_says("cluster/ext", "ReadyzPassed", &reason)
        .await;
    // consumers of its ClusterProfile are sent where the kubeconfig says, and verify what it verifies
    assert_published(&world).await;
    // it is broken, then gone; the control plane is somebody else's all the same
    let configuration = ".status.conditions[?(@.type==\"ConfigurationValid\")].message";
    world.patch("secret/ext-kubeconfig", &value("- no kubeconfig"));
    let broken = "Secret ext-kubeconfig: it cannot be read as a kubeconfig: ";
    world
        .until_begins("cluster/ext", broken, configuration)
        .await;
    world.patch(
        "secret/ext-kubeconfig",
        &json!({"metadata": {"finalizers": []}}),
    );
    world.kubectl(&["delete", "--wait=false", "secret/ext-kubeconfig"]);
    world.patch(
        "secret/ext-kubeconfig",
        &json!({"metadata": {"finalizers": []}}),
    );
    let gone = "Secret ext-kubeconfig, by which the control plane is reached, is missing; create it again with the kubeconfig under the key value";
    world.until_says("cluster/ext", gone, configuration).await;
    assert_eq!(
        world.says("cluster/ext", INITIALIZED),
        "ExternalControlPlane"
    );
    assert_published(&world).await;
    let from = format!("--from-literal=value={admin}");
    world.kubectl(&["create", "secret", "generic", "ext-kubeconfig", &from]);
    world.until_says("cluster/ext", "", configuration).await;
    let held = ".metadata.finalizers[*]";
    world
        .until_says("secret/ext-kubeconfig", "tatara.dev/in-use", held)
        .await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_given_ca_is_used_when_it_is_mended_and_again_by_the_next_cluster_of_its_name() {
    let world = World::new("again").await;
    let given: Value =
        serde_json::from_str(&world.kubectl(&["get", "secret/c-ca", "-o", "json"])).expect("JSON");
    let ca = |data: &Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "again-ca"}, "data": data});
    world.create(
        "again-ca.yaml",
        &ca(&json!({"tls.crt": "", "tls.key": ""})).to_string(),
    );
    world.plain_cluster("again", &json!([]));
    world
        .until_says("cluster/again", "Malformed", CERTIFICATES)
        .await;
    world.patch("secret/again-ca", &json!({"data": given["data"]}));
    world
        .until_says("cluster/again", "Present", CERTIFICATES)
        .await;
    assert_eq!(
        world.says("secret/again-ca", ".data"),
        world.says("secret/c-ca", ".data")
    );
    // as the Machine that made its control plane records it
    let record = "tatara.dev/control-plane-initialized=6f1c0f0e-6a3c-4a7e-9a59-3f0b8f6a2d11";
    for what in ["secret/again-ca", "cluster/again"] {
        world.kubectl(&["annotate", what, record]);
    }
    world.kubectl(&["delete", "--timeout=60s", "cluster/again"]);
    assert_eq!(world.says("secret/again-ca", ".metadata.annotations"), "");
    assert_eq!(world.says("secret/again-ca", ".metadata.finalizers"), "");
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_ca_in_place_of_the_control_planes_is_noticed_by_a_manager_that_never_saw_the_former_one()
{
    let mut world = World::new("replaced").await;
    world.until_says("cluster/c", "Present", CERTIFICATES).await;
    world.plain_cluster("other", &json!([]));
    world
        .until_says("cluster/other", "Present", CERTIFICATES)
        .await;
    let data = |world: &World, what: &str| -> Value {
        let secret = world.kubectl(&["get", what, "-o", "json"]);
        serde_json::from_str::<Value>(&secret).expect("JSON")["data"].clone()
    };
    let (own, other) = (data(&world, "secret/c-ca"), data(&world, "secret/other-ca"));
    let kubeconfig = data(&world, "secret/c-kubeconfig");
    world.stop_manager().await;
    world.patch("secret/c-ca", &json!({ "data": other }));
    world.start_manager();
    world
        .until_says("cluster/c", "Replaced", CERTIFICATES)
        .await;
    assert_eq!(data(&world, "secret/c-kubeconfig"), kubeconfig);
    world.patch("secret/c-ca", &json!({ "data": own }));
    world.until_says("cluster/c", "Present", CERTIFICATES).await;
}
