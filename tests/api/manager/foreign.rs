//! Objects of other providers in the same management cluster: nothing is written to them, and nothing of ours reaches
//! them.

use serde_json::{Value, json};

use crate::manager::world::World;
use crate::support::audit::{MANAGER, Mark, Request};
use crate::support::fixtures::fixtures;
use crate::support::wait::until_true;

const OURS: &str = "metadata: {name: fence-@}\nspec:\n  versions: {kubelet: v1.36.3}\n  providerSpec: {value: {apiVersion: tatara.dev/v1alpha1, kind: SSHMachineProviderSpec}}\n";

/// The foreign manifests, and a second Machine below each of two Clusters.
fn manifests() -> Vec<Value> {
    let mut all: Vec<Value> = fixtures("foreign").into_iter().map(|(_, m)| m).collect();
    let machine = all
        .iter()
        .find(|m| m["metadata"]["name"] == "aws-controlplane-0");
    let machine = machine.expect("a Machine of the AWS provider").clone();
    for (name, cluster) in [("aws-node-0", "aws"), ("guest", "plain")] {
        let mut worker = machine.clone();
        worker["metadata"]["name"] = json!(name);
        worker["metadata"]["labels"] =
            json!({"cluster.k8s.io/cluster-name": cluster, "pool": "guest"});
        worker["spec"]["versions"] = json!({"kubelet": "v1.13.6"});
        all.push(worker);
    }
    all
}

/// A set of ours that has no Machine and wants none, and whose selector matches the guest.
const SET: &str = r"
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineSet
metadata: {name: own, labels: {cluster.k8s.io/cluster-name: plain}}
spec:
  replicas: 0
  selector: {matchLabels: {pool: guest}}
  template:
    metadata: {labels: {pool: guest, cluster.k8s.io/cluster-name: plain}}
    spec:
      versions: {kubelet: v1.36.3}
      providerSpec: {value: {apiVersion: tatara.dev/v1alpha1, kind: SSHMachineProviderSpec}}
";

/// The manager has by now looked at all that was there before.
async fn fence(world: &World, name: &str) {
    let machine = OURS.replace('@', name);
    let kinds = format!("apiVersion: cluster.k8s.io/v1alpha1\nkind: Machine\n{machine}");
    world.create(&format!("fence-{name}.yaml"), &kinds);
    let reason = ".status.conditions[?(@.type==\"InfrastructureReady\")].reason";
    let what = format!("machine/fence-{name}");
    world.until_says(&what, "ClusterLabelMissing", reason).await;
    let cluster = format!("fence-{name}");
    world.plain_cluster(&cluster, &json!([]));
    let reason = ".status.conditions[?(@.type==\"ControlPlaneInitialized\")].reason";
    world
        .until_says(&format!("cluster/{cluster}"), "WaitingForMachine", reason)
        .await;
}

/// What the manager wrote to objects of these names; Events have names of their own.
fn written(mark: &Mark, names: &[String]) -> Vec<Request> {
    let mut requests = mark.requests_of(MANAGER);
    requests.retain(|request| request.is_write() && names.contains(&request.object_ref.name));
    requests
}

fn told(world: &World, name: &str) -> Vec<String> {
    let of = format!("involvedObject.name={name},reason=ProviderUnknown");
    let columns = "-ojsonpath={range .items[*]}{.message}{\"\\n\"}{end}";
    let events = world.kubectl(&["get", "events", "--field-selector", &of, columns]);
    events.lines().map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn what_is_another_providers_is_never_written_to_and_no_deletion_reaches_it() {
    let mut world = World::new("foreign").await;
    let mark = world.audit();
    world.plain_cluster("plain", &json!([]));
    let all = manifests();
    let name = |m: &Value| m["metadata"]["name"].as_str().expect("a name").to_owned();
    let names: Vec<String> = all.iter().map(name).collect();
    for (i, manifest) in all.iter().enumerate() {
        world.create(&format!("foreign-{i}.yaml"), &manifest.to_string());
        if !manifest["status"].is_null() {
            let what = format!("machine/{}", name(manifest));
            let status = json!({"status": manifest["status"]}).to_string();
            world.kubectl(&[
                "patch",
                &what,
                "--subresource=status",
                "--type=merge",
                "-p",
                &status,
            ]);
        }
    }
    world.create("own.yaml", SET);
    let seen = ".status.observedGeneration";
    world.until_says("machineset/own", "1", seen).await;
    fence(&world, "made").await;

    // their own deletions
    let gone = [
        "machinedeployment/vsphere-workers",
        "machineset/metal3-workers",
        "machineclass/metal3-small",
    ];
    for what in gone {
        world.kubectl(&["delete", "--timeout=60s", what]);
    }
    for what in [
        "machine/aws-controlplane-0",
        "cluster/aws",
        "cluster/vsphere",
    ] {
        world.kubectl(&["delete", "--wait=false", what]);
    }
    // and one of ours, with another provider's Machine under its name
    world.kubectl(&["delete", "--timeout=60s", "cluster/plain"]);
    fence(&world, "deleted").await;
    let deleted = |what: &str| world.says(what, ".metadata.deletionTimestamp");
    for what in ["machine/aws-node-0", "machine/guest"] {
        assert!(world.exists(what) && deleted(what).is_empty(), "{what}");
    }
    for what in ["machine/aws-controlplane-0", "cluster/aws"] {
        assert!(
            !deleted(what).is_empty(),
            "{what} waits for its own provider"
        );
    }

    // a manager that begins anew
    world.stop_manager().await;
    world.start_manager();
    world.until_leading().await;
    fence(&world, "again").await;
    assert!(
        written(&mark, &names).is_empty(),
        "{:#?}",
        written(&mark, &names)
    );
    let events = told(&world, "kubermatic");
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(
        events[0].contains("spec.providerSpec.value has neither apiVersion nor kind")
            && events[0].contains("write apiVersion: tatara.dev/v1alpha1"),
        "{events:?}"
    );
    // the set may have been seen before its class
    let untold = |name: &&String| !["kubermatic", "metal3-workers"].contains(&name.as_str());
    for name in names.iter().filter(untold) {
        assert!(told(&world, name).is_empty(), "{name}");
    }
    // another generation, another Event
    world.patch(
        "machine/kubermatic",
        &json!({"spec": {"versions": {"kubelet": "1.33.2"}}}),
    );
    until_true("an Event on what was edited", || {
        told(&world, "kubermatic").len() == 2
    })
    .await;
    assert!(written(&mark, &names).is_empty());
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn what_an_earlier_tatara_wrote_on_anothers_objects_is_taken_off_and_nothing_else() {
    let world = World::new("taken-off").await;
    for manifest in manifests() {
        let name = manifest["metadata"]["name"].as_str().expect("a name");
        world.create(&format!("{name}.yaml"), &manifest.to_string());
    }
    let as_tatara = |what: &str, change: &Value| {
        let change = change.to_string();
        world.kubectl(&[
            "patch",
            what,
            "--field-manager=tatara",
            "--type=merge",
            "-p",
            &change,
        ]);
    };
    let machine = json!({"metadata": {
        "labels": {"cluster.k8s.io/control-plane": "true", "mine": "yes"},
        "finalizers": ["example.com/theirs", "machine.cluster.k8s.io"],
    }});
    as_tatara("machine/openstack-node-0", &machine);
    let class = json!({"metadata": {"labels": {"tatara.dev/in-use": "true"}, "finalizers": ["tatara.dev/in-use"]}});
    as_tatara("machineclass/metal3-small", &class);
    as_tatara(
        "cluster/vsphere",
        &json!({"metadata": {"finalizers": ["cluster.cluster.k8s.io"]}}),
    );
    let finalizers = ".metadata.finalizers[*]";
    world
        .until_says("machine/openstack-node-0", "example.com/theirs", finalizers)
        .await;
    world
        .until_says("machineclass/metal3-small", "", finalizers)
        .await;
    world.until_says("cluster/vsphere", "", finalizers).await;
    let labels = world.says("machine/openstack-node-0", ".metadata.labels");
    assert!(
        labels.contains("mine") && !labels.contains("control-plane"),
        "{labels}"
    );
    assert_eq!(
        world.says("machineclass/metal3-small", ".metadata.labels"),
        ""
    );
    // what its own provider wrote stays
    assert_eq!(
        world.says("machine/aws-node-0", finalizers),
        "machine.cluster.k8s.io"
    );
    for what in ["machineclass/metal3-small", "cluster/vsphere"] {
        world.kubectl(&["delete", "--timeout=60s", what]);
    }
}

#[tokio::test]
#[ignore = "needs a management plane"]
async fn an_initialised_cluster_stays_ours_whatever_its_spec_becomes() {
    let world = World::new("stays").await;
    let aws = json!({"apiVersion": "awsprovider/v1alpha1", "kind": "AWSClusterProviderSpec"});
    world.patch(
        "cluster/c",
        &json!({"spec": {"providerSpec": {"value": aws}}}),
    );
    let says = ".status.conditions[?(@.type==\"ConfigurationValid\")].reason";
    world
        .until_says("cluster/c", "InvalidConfiguration", says)
        .await;
    assert_eq!(
        world.says("cluster/c", ".metadata.finalizers[0]"),
        "cluster.cluster.k8s.io"
    );
    assert_eq!(
        world.says("machine/first", ".metadata.deletionTimestamp"),
        ""
    );
}
