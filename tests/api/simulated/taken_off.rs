//! What a template says no more: it goes from the MachineSet and from the Machines that are there.

use serde_json::{Value, json};
use tatara_core::api::{Machine, MachineDeployment, MachineSet};

use crate::simulated::site::Site;
use crate::support::audit;
use crate::support::wait::eventually;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_time_limit_and_a_taint_that_are_taken_out_of_a_template_are_taken_off_its_machines() {
    let site = Site::new().await;
    site.deployment("pool", 2, json!({}));
    site.until_ready("pool", 2).await;
    let change = |deletion: Value, taints: Value| {
        let spec = json!({"deletion": deletion, "taints": taints});
        let patch = json!({"spec": {"template": {"spec": spec}}}).to_string();
        let patch = [
            "patch",
            "machinedeployment",
            "pool",
            "--type=merge",
            "-p",
            &patch,
        ];
        site.kubectl(&patch, "");
    };
    let until = async |what: &str, is_so: fn(&Machine) -> bool| {
        eventually(what, async || {
            let machines = site.machines("pool").await;
            machines.iter().all(is_so).then_some(())
        })
        .await;
    };
    change(
        json!({"hostReleaseTimeoutSeconds": 60, "nodeDrainTimeoutSeconds": 5}),
        json!([{"key": "example.com/a", "effect": "NoSchedule"}]),
    );
    until("the limits", |machine| {
        limits(machine) == [Some(60), Some(5)]
    })
    .await;
    until("the taint", |machine| machine.spec.taints.len() == 1).await;

    change(json!({"hostReleaseTimeoutSeconds": null}), json!(null));
    until("one limit", |machine| limits(machine) == [None, Some(5)]).await;
    until("no taint", |machine| machine.spec.taints.is_empty()).await;
    change(json!(null), json!(null));
    until("no limit", |machine| limits(machine) == [None, None]).await;
    let sets = site.api::<MachineSet>().list(&Default::default()).await;
    let sets = sets.expect("MachineSets").items;
    let deployment = site
        .api::<MachineDeployment>()
        .get("pool")
        .await
        .expect("it");
    let template = |of: &Value| of["spec"]["template"]["spec"].clone();
    assert_eq!(sets.len(), 1, "nothing was rolled");
    assert_eq!(template(&json!(sets[0])), template(&json!(deployment)));

    // what is equal is not written again
    site.until_quiet().await;
    let mark = site.audit();
    site.kubectl(
        &[
            "annotate",
            "machinedeployment",
            "pool",
            "example.com/look=again",
        ],
        "",
    );
    site.kubectl(
        &["annotate", "machinesets", "--all", "example.com/look=again"],
        "",
    );
    site.until_quiet().await;
    let mut written = mark.requests_of(audit::MANAGER);
    written
        .retain(|request| request.is_write() && request.object_ref.resource.starts_with("machine"));
    // the annotation of the MachineDeployment goes to its MachineSet
    assert!(written.len() <= 1, "{written:?}");
}

fn limits(machine: &Machine) -> [Option<i64>; 2] {
    let limits = machine.spec.deletion.clone().unwrap_or_default();
    [
        limits.host_release_timeout_seconds,
        limits.node_drain_timeout_seconds,
    ]
}
