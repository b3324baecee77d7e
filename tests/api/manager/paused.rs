//! The annotation `cluster.k8s.io/paused` holds still all that is below an object.

use serde_json::json;

use crate::manager::world::World;
use crate::support::wait::until_true;

#[tokio::test]
#[ignore = "needs a management plane"]
async fn below_a_paused_cluster_no_machine_is_made_or_deleted_until_it_goes_on() {
    let world = World::new("paused").await;
    let count = || {
        let names = world.kubectl(&["get", "machines", "-l", "pool=workers", "-o", "name"]);
        names.lines().count()
    };
    let sets = world.kubectl(&["get", "machinesets", "-o", "name"]);
    let set = sets.replace("machineset.cluster.k8s.io/", "machineset/");
    world.kubectl(&["annotate", "cluster/c", "cluster.k8s.io/paused="]);
    let why = ".status.conditions[?(@.type==\"Paused\")].message";
    let says = "Cluster c has the annotation cluster.k8s.io/paused";
    for below in [set.as_str(), "machinedeployment/workers"] {
        world.until_begins(below, says, why).await;
    }
    world.kubectl(&["scale", "machinedeployment/workers", "--replicas=3"]);
    // a set of its own stays as it is, whatever it is told
    world.kubectl(&["scale", &set, "--replicas=3"]);
    let generation = world.says(&set, ".metadata.generation");
    let seen = ".status.observedGeneration";
    world.until_says(&set, &generation, seen).await;
    assert_eq!(count(), 1);
    world.kubectl(&["annotate", "cluster/c", "cluster.k8s.io/paused-"]);
    until_true("three workers", || count() == 3).await;
    // the same from the deployment
    world.patch(
        "machinedeployment/workers",
        &json!({"metadata": {"annotations": {"cluster.k8s.io/paused": ""}}}),
    );
    let says = "MachineDeployment workers has the annotation cluster.k8s.io/paused";
    world.until_says(&set, says, why).await;
    let worker = world.worker().await;
    let worker = worker.lines().next().expect("a Machine").to_owned();
    let reason = ".status.conditions[?(@.type==\"Paused\")].reason";
    world.until_says(&worker, "Paused", reason).await;
}
