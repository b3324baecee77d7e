//! The manifests as they were published in 2019, which ask for a Kubernetes that is too old.

use crate::world::{World, eventually, repository};

const OF_2019: &str = "cluster.k8s.io/cluster-name=workload-cluster-1";

#[tokio::test]
#[ignore = "needs a management plane"]
async fn each_machine_of_2019_says_which_field_asks_for_a_version_that_cannot_run() {
    let world = World::new("published").await;
    for kind in [
        "cluster",
        "machineclass",
        "machine",
        "machineset",
        "machinedeployment",
    ] {
        let file = repository(&format!("tests/fixtures/2019/{kind}.yaml"));
        world.kubectl(&["apply", "-f", &file]);
    }
    let path = "jsonpath={range .items[*]}{.metadata.name} \
        {.status.conditions[?(@.type==\"Ready\")].reason}: \
        {.status.conditions[?(@.type==\"Ready\")].message}{\"\\n\"}{end}";
    let said = || world.kubectl(&["get", "machines", "-l", OF_2019, "-o", path]);
    eventually("seven Machines that say why they wait", || {
        said().matches(" UnsupportedVersion: ").count() == 7
    })
    .await;
    for line in said().lines() {
        let (name, why) = line.split_once(" UnsupportedVersion: ").expect("a reason");
        let field = if name == "workload-cluster-1-controlplane-1" {
            "versions.kubelet"
        } else {
            "spec.versions.kubelet"
        };
        assert!(why.starts_with(field), "{line}");
        assert!(
            why.contains("1.13.6") && why.contains("v1.31 to v1.36"),
            "{line}"
        );
    }
}
