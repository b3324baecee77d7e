//! What is written of a plan into the Machine's status.

use super::super::super::status::status;
use super::super::claim::chosen;
use super::*;
use crate::api::conditions::Reason;

#[test]
fn what_can_never_run_says_so_under_the_names_that_the_cluster_autoscaler_knows() {
    let mut wrong = worker();
    wrong.spec = Err(Why::new(
        Reason::InvalidConfiguration,
        "hostSelecter: unknown field",
    ));
    let old = wrong.machine.status.clone().unwrap_or_default();
    let failed = status(&wrong, &plan(&wrong, at(0)), &old, at(0));
    let reason = Some("InvalidConfiguration");
    assert_eq!(failed.failure_reason.as_deref(), reason);
    assert_eq!(failed.error_reason.as_deref(), reason);
    let message = failed.failure_message.clone().expect("a message");
    assert!(message.contains("hostSelecter"), "{message}");

    // and no more once it can
    let mended = worker();
    let now = status(&mended, &plan(&mended, at(1)), &failed, at(1));
    assert_eq!((now.failure_reason, now.failure_message), (None, None));
}

#[test]
fn a_provider_id_comes_with_a_place_and_with_nothing_else() {
    let change = chosen(&worker(), "host-a");
    assert_eq!(change["spec"]["providerID"], format!("tatara://ssh/{ME}"));
    assert_eq!(
        change["metadata"]["annotations"][crate::api::names::ANNOTATION_HOST],
        "host-a"
    );
    // none is free: nothing is chosen, so the cluster-autoscaler does not count the Machine as
    // there
    let mut waits = edited(worker(), &json!({ "metadata": { "finalizers": [] } }));
    waits.placement = Placement::None(Err(Why::new(Reason::NoHostAvailable, "none")));
    assert_eq!(plan(&waits, at(0)).actions, [Action::Adopt { host: None }]);
}

#[test]
fn the_conditions_of_a_machine_health_check_stay() {
    let machine = worker();
    let mut old = machine.machine.status.clone().unwrap_or_default();
    let failed = json!({ "type": "HealthCheckSucceeded", "status": "False", "reason": "NodeStartupTimeout",
        "message": "", "lastTransitionTime": "2026-11-24T08:00:00Z" });
    let failed = serde_json::from_value(failed).expect("a condition");
    old.conditions.push(failed);
    let new = status(&machine, &plan(&machine, at(0)), &old, at(0));
    let kept = new
        .conditions
        .iter()
        .map(|condition| condition.type_.as_str());
    assert!(
        kept.into_iter()
            .any(|type_| type_ == "HealthCheckSucceeded")
    );
}
