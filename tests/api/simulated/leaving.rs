//! A Machine leaves: hooks of other controllers, and the drain between them.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tatara_core::api::Machine;
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::api::names::{ANNOTATION_CORDONED, HOOK_PRE_DRAIN, HOOK_PRE_TERMINATE};

use crate::simulated::site::Site;
use crate::support::wait::eventually;

async fn annotate(machines: &Api<Machine>, name: &str, annotations: Value) {
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
    let patched = machines.patch(name, &PatchParams::default(), &patch).await;
    patched.expect("annotations");
}

fn condition(machine: &Machine, type_: ConditionType) -> Option<&Condition> {
    find(&machine.status.as_ref()?.conditions, type_)
}

/// The Machine, once its deletion waits for the hook of this owner.
async fn held_by(machines: &Api<Machine>, name: &str, owner: &str) -> Machine {
    eventually("a deletion that waits for a hook", async || {
        let machine = machines.get(name).await.expect("the Machine");
        let waits = condition(&machine, ConditionType::Deleting)?;
        let is_held = waits.reason == Reason::WaitingForHook && waits.message.contains(owner);
        is_held.then_some(machine)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn hooks_hold_a_deletion_before_and_after_its_drain() {
    let site = Site::new().await;
    site.deployment("pool", 1, json!({}));
    site.until_ready("pool", 1).await;
    let machines = site.api::<Machine>();
    let machine = site.machines("pool").await.pop().expect("a Machine");
    let name = machine.name_any();
    let node = machine.status.and_then(|status| status.node_ref);
    let node = node.and_then(|node| node.name).expect("a Node");
    let nodes: Api<Node> = Api::all(site.member().clone());
    let (before, after) = (
        format!("{HOOK_PRE_DRAIN}/copy"),
        format!("{HOOK_PRE_TERMINATE}/detach"),
    );

    let hooks = json!({ (&before): "backup", (&after): "storage" });
    annotate(&machines, &name, hooks).await;
    machines
        .delete(&name, &DeleteParams::default())
        .await
        .expect("a deletion");
    let held = held_by(&machines, &name, "owner: backup").await;
    assert_eq!(condition(&held, ConditionType::Draining), None);
    let spec = nodes.get(&node).await.expect("its Node").spec;
    assert_eq!(spec.and_then(|spec| spec.unschedulable), None);

    annotate(&machines, &name, json!({ (&before): null })).await;
    held_by(&machines, &name, "owner: storage").await;
    eventually("a drain that is over", async || {
        let held = machines.get(&name).await.expect("the Machine");
        let drain = condition(&held, ConditionType::Draining)?;
        (drain.status == "False" && drain.reason == Reason::Drained).then_some(())
    })
    .await;
    let cordoned = nodes.get(&node).await.expect("its Node");
    assert!(cordoned.annotations().contains_key(ANNOTATION_CORDONED));
    let spec = cordoned.spec.expect("a spec");
    assert_eq!(spec.unschedulable, Some(true));

    annotate(&machines, &name, json!({ (&after): null })).await;
    eventually("the end of the Machine and of its Node", async || {
        let machine = machines.get_opt(&name).await.expect("an answer");
        let node = nodes.get_opt(&node).await.expect("an answer");
        (machine.is_none() && node.is_none()).then_some(())
    })
    .await;
}
