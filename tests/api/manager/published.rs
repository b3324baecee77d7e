//! The manifests as they were published in 2019, which ask for a Kubernetes that is too old.

use crate::manager::world::{World, repository};
use crate::support::wait::until_true;

const OF_2019: &str = "cluster.k8s.io/cluster-name=workload-cluster-1";

/// What says it: the object, its condition, and the field that the message begins with.
const WHO_SAYS_IT: [(&str, &str, &str); 3] = [
    (
        "machine/workload-cluster-1-controlplane-1",
        "Ready",
        "versions.kubelet",
    ),
    (
        "machineset/workload-cluster-1-machineset-1",
        "ScalingUp",
        "0 Machines < 3 spec.replicas; spec.template.spec.versions.kubelet",
    ),
    (
        "machinedeployment/workload-cluster-1-machineset-1",
        "Progressing",
        "spec.template.spec.versions.kubelet",
    ),
];

#[tokio::test]
#[ignore = "needs a management plane"]
async fn what_asks_for_a_version_that_cannot_run_says_which_field_and_makes_no_machine() {
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
    for (object, condition, field) in WHO_SAYS_IT {
        let path = format!(
            "jsonpath={{.status.conditions[?(@.type==\"{condition}\")].reason}}: \
             {{.status.conditions[?(@.type==\"{condition}\")].message}}"
        );
        let said = || world.kubectl(&["get", object, "-o", &path]);
        until_true(&format!("{object} that says why it waits"), || {
            said().starts_with("UnsupportedVersion: ")
        })
        .await;
        let why = said();
        let why = why.trim_start_matches("UnsupportedVersion: ");
        assert!(why.starts_with(field), "{object}: {why}");
        assert!(
            why.contains("1.13.6") && why.contains("v1.31 to v1.37"),
            "{object}: {why}"
        );
    }
    let machines = world.kubectl(&["get", "machines", "-l", OF_2019, "-o", "name"]);
    let only: Vec<&str> = machines.lines().collect();
    assert_eq!(
        only,
        ["machine.cluster.k8s.io/workload-cluster-1-controlplane-1"],
        "no Machine is made of a template that cannot run"
    );
}
