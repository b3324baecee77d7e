//! Strategy `InPlace` on a real API server, with simulated machines: they move between MachineSets, and none is made or deleted.

use std::collections::BTreeSet;

use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::{Machine, MachineDeployment};

use crate::simulated::site::Site;
use crate::support::audit;
use crate::support::conditions::said;
use crate::support::wait::eventually;

fn names(machines: &[Machine]) -> BTreeSet<String> {
    machines.iter().map(ResourceExt::name_any).collect()
}

/// The version that its kubelet reports.
fn runs(machine: &Machine) -> Option<&str> {
    let versions = machine.status.as_ref()?.versions.as_ref()?;
    Some(&versions.kubelet)
}

async fn complete(site: &Site) {
    eventually("the end of the rollout", async || {
        let pool = site
            .api::<MachineDeployment>()
            .get("pool")
            .await
            .expect("it");
        let status = pool.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == pool.metadata.generation;
        let progressing = said(&status.conditions, "Progressing");
        (is_seen && progressing.starts_with("True/Complete")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn machines_move_to_the_new_template_and_a_killed_manager_costs_none() {
    let mut site = Site::new().await;
    site.deployment("pool", 6, json!({ "updateMilliseconds": 400 }));
    site.until_ready("pool", 6).await;
    site.until_quiet().await;
    let before = names(&site.machines("pool").await);

    let mark = site.audit();
    let patch = json!({ "spec": {
        "strategy": { "type": "InPlace", "inPlace": { "maxUnavailable": 2 } },
        "template": { "spec": { "versions": { "kubelet": "v1.36.2" } } },
    } });
    site.patch("machinedeployment", "pool", &patch);
    for wanted in [1, 3, 5] {
        eventually("Machines that moved", async || {
            let machines = site.machines("pool").await;
            let is_new =
                |machine: &&Machine| machine.versions().is_some_and(|v| v.kubelet == "v1.36.2");
            (machines.iter().filter(is_new).count() >= wanted).then_some(())
        })
        .await;
        site.restart_manager();
    }
    complete(&site).await;
    let after = site.machines("pool").await;
    assert_eq!(names(&after), before);
    assert!(after.iter().all(|machine| runs(machine) == Some("v1.36.2")));
    let owners: BTreeSet<_> = after
        .iter()
        .map(|m| m.owner_references()[0].name.clone())
        .collect();
    assert_eq!(owners.len(), 1, "{owners:?}");
    site.until_quiet().await;
    let requests = mark.requests_of(audit::MANAGER);
    let verbs = requests
        .iter()
        .filter(|request| request.object_ref.resource == "machines");
    let made_or_deleted: Vec<_> = verbs
        .filter(|request| ["create", "delete"].contains(&request.verb.as_str()))
        .collect();
    assert_eq!(made_or_deleted.len(), 0, "{made_or_deleted:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn what_a_running_machine_cannot_become_is_refused_and_named() {
    let site = Site::new().await;
    site.deployment("pool", 2, json!({}));
    site.until_ready("pool", 2).await;
    let before = names(&site.machines("pool").await);
    let value = json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec", "bootMilliseconds": 7 });
    let patch = json!({ "spec": {
        "strategy": { "type": "InPlace" },
        "template": { "spec": { "providerSpec": { "value": value } } },
    } });
    site.patch("machinedeployment", "pool", &patch);
    let message = eventually("the refusal", async || {
        let pool = site
            .api::<MachineDeployment>()
            .get("pool")
            .await
            .expect("it");
        let progressing = said(&pool.status.unwrap_or_default().conditions, "Progressing");
        progressing
            .starts_with("False/NeedsReplacement")
            .then_some(progressing)
    })
    .await;
    assert!(
        message.contains("providerSpec.bootMilliseconds"),
        "{message}"
    );
    assert!(
        message.contains("spec.strategy.type to RollingUpdate"),
        "{message}"
    );
    assert_eq!(names(&site.machines("pool").await), before);
}
