//! Control-plane Machines that a MachineDeployment adopts, on a real API server with simulated machines.

use kube::ResourceExt;
use serde_json::{Value, json};
use tatara_core::api::{Machine, MachineDeployment};

use crate::simulated::site::Site;
use crate::support::conditions::said;
use crate::support::wait::eventually;

const POOL: &str = "planes";

fn provider_spec(boot: u32) -> Value {
    json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec", "bootMilliseconds": boot,
    })
}

/// What the API server has: a control plane goes to no older version.
fn versions(site: &Site) -> Value {
    json!({ "kubelet": site.version(), "controlPlane": site.version() })
}

/// A Machine that somebody created, with the label of the deployment.
fn by_hand(site: &Site, name: &str, boot: u32) {
    let machine = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": { "name": name, "namespace": "default", "labels": {
            "cluster.k8s.io/cluster-name": "simulated", "pool": POOL,
        } },
        "spec": { "versions": versions(site), "providerSpec": { "value": provider_spec(boot) } },
    });
    site.apply(&machine.to_string());
}

fn deployment(site: &Site, replicas: u32) -> String {
    let labels = json!({ "pool": POOL });
    json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "metadata": { "name": POOL, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "simulated" } },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": {
                "versions": versions(site), "providerSpec": { "value": provider_spec(5) },
            } },
        },
    })
    .to_string()
}

async fn progressing(site: &Site, starts: &str) -> String {
    eventually(starts, async || {
        let found = site.api::<MachineDeployment>().get(POOL).await.expect("it");
        let status = found.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == found.metadata.generation;
        let said = said(&status.conditions, "Progressing");
        (is_seen && said.starts_with(starts)).then_some(said)
    })
    .await
}

fn owner(machine: &Machine) -> Option<&str> {
    let owner = machine.owner_references().first()?;
    Some(&owner.name)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_control_plane_is_adopted_before_any_is_created_and_keeps_its_name() {
    let site = Site::new().await;
    by_hand(&site, "first", 5);
    site.until_ready(POOL, 1).await;
    let uid = site.machines(POOL).await[0].uid();
    site.apply(&deployment(&site, 3));
    site.until_ready(POOL, 3).await;
    progressing(&site, "True/Complete").await;
    let machines = site.machines(POOL).await;
    let set = owner(&machines[0]).expect("an owner").to_owned();
    for machine in &machines {
        assert_eq!(owner(machine), Some(&*set), "{}", machine.name_any());
    }
    let first = machines
        .iter()
        .find(|machine| machine.name_any() == "first");
    let first = first.expect("it is there");
    assert_eq!(first.uid(), uid);
    for label in [
        "cluster.k8s.io/deployment-name",
        "cluster.k8s.io/set-name",
        "machine-template-hash",
    ] {
        assert!(first.labels().contains_key(label), "{:?}", first.labels());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn one_that_differs_is_named_and_nothing_is_created_until_somebody_decides() {
    let site = Site::new().await;
    by_hand(&site, "other", 7);
    site.until_ready(POOL, 1).await;
    site.apply(&deployment(&site, 3));
    let message = progressing(&site, "False/NotAdopted").await;
    for part in ["Machine other", "providerSpec.value.bootMilliseconds"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(site.machines(POOL).await.len(), 1);
    // it is no longer meant
    site.kubectl(&["label", "machine", "other", "pool-"], "");
    site.until_ready(POOL, 3).await;
    assert!(
        !site
            .machines(POOL)
            .await
            .iter()
            .any(|machine| machine.name_any() == "other")
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn the_last_control_plane_is_not_scaled_away() {
    let site = Site::new().await;
    let arguments = ["apply", "--server-side", "-f", "-"];
    assert!(
        !site.try_kubectl(&arguments, &deployment(&site, 0)),
        "admission"
    );
    site.apply(&deployment(&site, 1));
    site.until_ready(POOL, 1).await;
    let scaled = site.try_kubectl(&["scale", "machinedeployment", POOL, "--replicas=0"], "");
    assert!(!scaled, "admission sees the scale subresource as well");
    let versions =
        json!({ "spec": { "template": { "spec": { "versions": { "controlPlane": null } } } } });
    let patch = versions.to_string();
    let arguments = [
        "patch",
        "machinedeployment",
        POOL,
        "--type=merge",
        "-p",
        &patch,
    ];
    assert!(
        !site.try_kubectl(&arguments, ""),
        "a control plane becomes no worker"
    );
}
