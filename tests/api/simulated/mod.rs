//! Simulated machines: the manager with its shipped rights on a real management plane, and a second real
//! kube-apiserver that the machines register their Nodes in.

mod adopted;
mod claimed;
mod hanging;
mod in_place;
mod leaving;
mod order;
mod refused;
mod roll;
mod rollout;
pub mod site;
mod taken_off;
mod told;
mod unreadable;
mod waiting;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::conditions::{ConditionType, find};
use tatara_core::api::{Cluster, Machine, MachineDeployment};

use crate::simulated::site::{Site, ready};
use crate::support::audit;
use crate::support::wait::eventually;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn simulated_machines_come_go_and_fail_and_leave_nothing_in_their_api_server() {
    let site = Site::new().await;

    site.deployment(
        "pool",
        3,
        json!({"bootMilliseconds": 50, "readyMilliseconds": 50}),
    );
    site.until_ready("pool", 3).await;
    let scale = site.api::<MachineDeployment>().get_scale("pool").await;
    let selector = scale.expect("its scale").status.and_then(|s| s.selector);
    assert_eq!(
        selector.as_deref(),
        Some("pool=pool"),
        "autoscalers read it"
    );
    let by_provider_id: BTreeMap<_, _> = site
        .nodes()
        .await
        .into_iter()
        .map(|node| {
            (
                node.spec.and_then(|spec| spec.provider_id),
                node.metadata.name,
            )
        })
        .collect();
    for machine in site.machines("pool").await {
        let uid = machine.uid().expect("a UID");
        let id = machine.spec.provider_id.clone();
        assert_eq!(id, Some(format!("tatara://simulated/{uid}")));
        let status = machine.status.expect("a status");
        assert_eq!(status.phase.as_deref(), Some("Running"));
        let stage = status.stage.expect("a stage");
        assert_eq!(
            (stage.name.as_str(), stage.clock.waits_for),
            ("Running", None)
        );
        let node = status.node_ref.and_then(|node| node.name);
        assert_eq!(by_provider_id.get(&id), Some(&node));
    }

    let mark = site.audit();
    site.scale("pool", 20);
    site.until_ready("pool", 20).await;
    let requests = mark.requests_of(audit::MANAGER);
    let mut kinds = BTreeMap::<_, usize>::new();
    for request in &requests {
        *kinds
            .entry((&request.verb, &request.object_ref.resource))
            .or_default() += 1;
    }
    let count = requests.len();
    assert!(count <= 17 * 12, "{count} for 17 Machines: {kinds:?}");

    site.scale("pool", 2);
    site.until_ready("pool", 2).await;
    eventually("two Nodes", async || {
        (site.nodes().await.len() == 2).then_some(())
    })
    .await;

    site.deployment("broken", 1, json!({"fail": "no power supply"}));
    let says = eventually("a failure", async || {
        let machine = site.machines("broken").await.pop()?;
        let status = machine.status?;
        let ready = status.conditions.iter().find(|c| c.type_ == "Ready")?;
        (ready.reason == "SimulatedFailure").then(|| ready.message.clone())
    })
    .await;
    assert_eq!(says, "no power supply");

    told::the_work_so_far_is_counted(&site);
    told::a_failure_is_counted_and_told_with_its_cluster(&site).await;

    let cluster = site.api::<Cluster>();
    cluster
        .delete("simulated", &Default::default())
        .await
        .expect("a deletion");
    eventually("the end of the Cluster", async || {
        let gone = cluster.get_opt("simulated").await.expect("an answer");
        gone.is_none().then_some(())
    })
    .await;
    let machines = site.api::<Machine>().list(&Default::default()).await;
    assert_eq!(machines.expect("a list").items.len(), 0);
    let names: Vec<_> = site
        .nodes()
        .await
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_manager_at_rest_reads_and_writes_nothing_and_its_restart_writes_nothing() {
    let mut site = Site::new().await;
    site.deployment("pool", 3, json!({}));
    site.until_ready("pool", 3).await;
    site.until_quiet().await;

    site.restart_manager();
    let mark = site.audit();
    eventually("the manager's look at its Machines", async || {
        let requests = mark.requests_of(audit::MANAGER);
        requests
            .iter()
            .any(|request| request.object_ref.resource == "machines")
            .then_some(())
    })
    .await;
    site.until_quiet().await;
    let requests = mark.requests_of(audit::MANAGER);
    let writes: Vec<_> = requests.iter().filter(|r| r.is_write()).collect();
    assert_eq!(writes.len(), 0, "{writes:?}");

    let deployment = site.api::<MachineDeployment>().get("pool").await;
    let status = deployment.expect("a MachineDeployment").status;
    assert_eq!(status.map(|status| status.available_replicas), Some(3));
    assert!(site.machines("pool").await.iter().all(ready));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_typo_in_a_running_cluster_costs_no_machine_its_readiness() {
    let mut site = Site::new().await;
    site.deployment("pool", 3, json!({}));
    site.until_ready("pool", 3).await;
    let since = async |site: &Site| -> BTreeMap<_, _> {
        let machines = site.machines("pool").await;
        let since = |machine: &Machine| condition(machine, "Ready").last_transition_time;
        machines.iter().map(|m| (m.uid(), since(m))).collect()
    };
    let before = since(&site).await;

    site.cluster(&json!({"value": {"apiVersion": "tatara.dev/v1alpha1",
        "kind": "ClusterProviderSpec", "adons": []}}));
    let says = async |site: &Site, reason: &str| {
        eventually(reason, async || {
            let machines = site.machines("pool").await;
            let say = |machine: &Machine| condition(machine, "UpToDate").reason == reason;
            machines.iter().all(say).then_some(machines)
        })
        .await
    };
    let machines = says(&site, "ClusterInvalid").await;
    let message = condition(&machines[0], "UpToDate").message;
    assert!(message.contains("adons"), "{message}");
    eventually("a Cluster that says it too", async || {
        let cluster = site.api::<Cluster>().get("simulated").await;
        let status = cluster.expect("a Cluster").status.unwrap_or_default();
        let valid = find(&status.conditions, ConditionType::ConfigurationValid);
        valid.filter(|c| c.message.contains("adons")).map(|_| ())
    })
    .await;

    // one that comes meanwhile waits, and a restart finds all as it was
    site.scale("pool", 4);
    eventually("a fourth Machine", async || {
        let machines = site.machines("pool").await;
        let waits = |m: &&Machine| {
            let ready = m
                .status
                .as_ref()
                .and_then(|s| find(&s.conditions, ConditionType::Ready));
            ready.is_some_and(|ready| ready.reason == "ClusterInvalid")
        };
        (machines.len() == 4 && machines.iter().filter(waits).count() == 1).then_some(())
    })
    .await;
    site.restart_manager();
    site.scale("pool", 3);
    eventually("three Machines", async || {
        (site.machines("pool").await.len() == 3).then_some(())
    })
    .await;
    site.until_quiet().await;
    assert_eq!(
        since(&site).await,
        before,
        "no Machine was other than Ready"
    );

    // an empty providerSpec applied over one with a value would be null
    site.cluster(
        &json!({"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec"}}),
    );
    says(&site, "VersionsEqual").await;
    assert_eq!(
        since(&site).await,
        before,
        "no Machine was other than Ready"
    );
}

fn condition(machine: &Machine, type_: &str) -> Condition {
    let status = machine.status.as_ref();
    let found = status.and_then(|status| status.conditions.iter().find(|c| c.type_ == type_));
    found.cloned().expect("a condition")
}
