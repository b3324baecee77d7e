//! Where a kubeconfig of a user leads the manager, which is shipped without leave to go to its own machine.

use std::net::TcpListener;

use kube::config::Kubeconfig;
use serde_json::json;

use crate::manager::world::World;
use crate::support::wait::until_true;

const MESSAGE: &str = ".status.conditions[?(@.type==\"ControlPlaneHealthy\")].message";

/// The kubeconfig of the plane, with another server.
fn leading_to(world: &World, server: &str) -> String {
    let kubeconfig = Kubeconfig::read_from(world.kubeconfig()).expect("a kubeconfig");
    let mut kubeconfig = serde_json::to_value(kubeconfig).expect("JSON");
    kubeconfig["clusters"][0]["cluster"]["server"] = json!(server);
    kubeconfig.to_string()
}

/// Waits until the Cluster says that an address is refused, and ends with this.
async fn until_refused(world: &World, cluster: &str, remedy: &str) {
    until_true(&format!("{remedy:?} in {MESSAGE} of {cluster}"), || {
        let said = world.says(cluster, MESSAGE);
        let refused = "): 127.0.0.1 is refused: it is a loopback address, as the manager sees it; ";
        said.contains(refused) && said.contains(remedy) && !said.contains("firewall")
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_kubeconfig_leads_the_manager_to_nothing_on_its_own_machine() {
    let mut world = World::new("reach").await;
    world.stop_manager().await;
    world.start_guarded_manager();
    world.until_leading().await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let given = leading_to(&world, &format!("https://{address}"));
    let from = format!("--from-literal=value={given}");
    world.kubectl(&["create", "secret", "generic", "ext-kubeconfig", &from]);
    world.plain_cluster("ext", &json!([]));
    let field =
        "Correct clusters[].cluster.server of the kubeconfig in Secret ext-kubeconfig, key value";
    until_refused(&world, "cluster/ext", field).await;
    // a Cluster may name such an address as its endpoint as well
    let field = "That address is spec.providerSpec.value.controlPlaneEndpoint.host of Cluster c:";
    until_refused(&world, "cluster/c", field).await;
    assert!(listener.accept().is_err(), "nobody came");
    // with leave it comes
    world.stop_manager().await;
    world.start_manager();
    until_true("a connection", || listener.accept().is_ok()).await;
}
