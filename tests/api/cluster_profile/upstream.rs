//! The example consumer of cluster-inventory-api and its `kubeconfig-secretreader` plugin, unmodified:
//! with the rights of templates/profile-consumer/ in the management cluster, and nothing else.

use std::process::{Command, Output};

use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tatara::workload::{addons, manifests};

use crate::cluster_profile::passes::Profiles;
use crate::cluster_profile::world::{World, at};
use crate::support::programs::program;
use crate::support::wait::eventually;

/// The rights that the template gives, for an account of the inventory's namespace.
async fn give_rights(world: &World, inventory: &str) {
    let account = json!({"metadata": {"name": "my-consumer"}});
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), inventory);
    let account = serde_json::from_value(account).expect("an account");
    accounts
        .create(&PostParams::default(), &account)
        .await
        .expect("a new account");
    let template = include_str!("../../../templates/profile-consumer/role.yaml");
    let text = template
        .replace("metal", &world.name)
        .replace("inventory", inventory)
        .replace("forge", &world.name);
    let documents = manifests::parse("role.yaml", &text).expect("a valid template");
    let applied = addons::apply(&world.client, documents)
        .await
        .expect("an answer");
    assert!(applied.is_complete(), "{applied:?}");
}

async fn make_pod(world: &World) {
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), &world.name);
    eventually("the default account", async || {
        accounts.get_opt("default").await.expect("an answer")
    })
    .await;
    let pod = json!({"metadata": {"name": "found-by-consumer"}, "spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "c", "image": "registry.example.com/c:1"}]}});
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &world.name);
    let pod = serde_json::from_value(pod).expect("a pod");
    pods.create(&PostParams::default(), &pod)
        .await
        .expect("a new pod");
}

fn consume(world: &World, inventory: &str, kubeconfig: &str, settings: &str) -> Output {
    Command::new(program("profile-consumer"))
        .env("KUBECONFIG", kubeconfig)
        .args(["-clusterprofile-provider-file", settings])
        .args(["-namespace", inventory, "-clusterprofile", &world.name])
        .output()
        .expect("the consumer")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane and the upstream consumer, run by make test"]
async fn the_upstream_consumer_lists_the_members_pods_with_the_rights_of_our_template() {
    lists_pods("upstream-1", "upstream-1").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane and the upstream consumer, run by make test"]
async fn it_lists_them_as_well_where_profiles_have_a_namespace_of_their_own() {
    lists_pods("upstream-2", "profiles-2").await;
}

/// With the Cluster in a namespace of its name, and its profile in this one.
async fn lists_pods(name: &str, inventory: &str) {
    let world = World::new(name).await;
    if inventory != name {
        world.make_namespace(inventory).await;
    }
    let passes = Profiles::new(world.client.clone());
    let settle = world.settle(&passes, at("10:00:00"), |input| {
        input.namespaces = vec![inventory.to_owned()];
    });
    settle.await;
    give_rights(&world, inventory).await;
    make_pod(&world).await;

    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (kubeconfig, settings) = (path("kubeconfig"), path("providers.json"));
    let printed = world
        .plane
        .command(&["kubeconfig"], &["my-consumer", inventory])
        .output();
    std::fs::write(&kubeconfig, printed.expect("a kubeconfig").stdout).expect("a file");
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "provideClusterInfo": true,
        "command": program("profile-consumer-plugin")});
    let providers = json!({"providers": [{"name": "kubeconfig-secretreader", "execConfig": exec}]});
    std::fs::write(&settings, providers.to_string()).expect("a file");

    // the rights of the member's role are put together by its controller, a moment later
    let said = eventually("an answer to the consumer", async || {
        let output = consume(&world, inventory, &kubeconfig, &settings);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_early = said.contains("cannot list resource");
        assert!(output.status.success() || is_early, "{said}");
        output.status.success().then_some(said)
    })
    .await;
    for client in ["client-go", "controller-runtime"] {
        let line = format!("[{client}] pod: {name}/found-by-consumer");
        assert!(said.contains(&line), "{line} in {said}");
    }
}
