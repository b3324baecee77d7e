//! The end of a virtual machine, and its gateway away.

use super::*;
use crate::api::conditions::Reason;

#[test]
fn a_hypervisor_that_is_off_delays_and_says_why() {
    assert_eq!(
        decision(&silent(libvirt(false))),
        ("HypervisorUnreachable".into(), vec![])
    );
}

#[test]
fn a_machine_whose_hypervisor_is_off_is_deleted_when_the_user_s_time_is_up() {
    let deleting = deleted(silent(libvirt(false)), at(0));
    let waits = plan(&deleting, at(100));
    assert_eq!(
        waits.actions,
        [Action::Release(Release::Now)],
        "tried again and again"
    );

    let limited = edited(
        deleting,
        &json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 60 } } }),
    );
    assert_eq!(
        plan(&limited, at(59)).actions,
        [Action::Release(Release::Now)]
    );
    let given_up = [Action::Release(Release::Later), finalizer_by(&by_limit())];
    assert_eq!(plan(&limited, at(60)).actions, given_up);
}

#[test]
fn a_machine_goes_once_its_virtual_machine_is_gone() {
    let mut gone = deleted(told(libvirt(false), None, None), at(0));
    gone.placement = Placement::None(Err(Why::new(Reason::VirtualMachineGone, String::new())));
    // what is not shown may be in the making: only the gateway's answer counts
    let unanswered = plan(&gone, at(1));
    assert_eq!(unanswered.actions, [Action::Release(Release::Now)]);
    if let Some(VirtualMachine { told: Ok(told), .. }) = &mut gone.virtual_machine {
        told.is_gone = true;
    }
    let ended = [Action::Release(Release::Now), finalizer_by(&by_gateway())];
    assert_eq!(plan(&gone, at(1)).actions, ended);

    let limit = json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 60 } } });
    let mut refused = edited(gone, &limit);
    if let Some(machine) = &mut refused.virtual_machine {
        let finding = Finding::yes(
            ConditionType::Deleting,
            Reason::StorageInactive,
            "its pool is off",
        );
        machine.tried.refused = Some(finding);
    }
    assert_eq!(plan(&refused, at(59)).actions, ended, "tried again");
    let given_up = [Action::Release(Release::Later), finalizer_by(&by_limit())];
    assert_eq!(plan(&refused, at(60)).actions, given_up);
}

#[test]
fn a_virtual_machine_that_cannot_be_ended_is_left_when_the_user_s_time_is_up() {
    let running = told(libvirt(false), Some(shown("running", &json!({}))), None);
    let limit = json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 60 } } });
    let mut deleting = edited(deleted(running, at(0)), &limit);
    assert_eq!(
        plan(&deleting, at(100)).actions,
        [Action::Release(Release::Now)]
    );
    if let Some(machine) = &mut deleting.virtual_machine {
        let finding = Finding::yes(
            ConditionType::Deleting,
            Reason::LibvirtUnavailable,
            "it does not end",
        );
        machine.tried.refused = Some(finding);
    }
    assert_eq!(
        plan(&deleting, at(59)).actions,
        [Action::Release(Release::Now)]
    );
    let given_up = [Action::Release(Release::Later), finalizer_by(&by_limit())];
    assert_eq!(plan(&deleting, at(60)).actions, given_up);
}

#[test]
fn a_gateway_that_is_away_is_no_news_of_a_machine_whose_node_is_well() {
    for (ready, reason) in [
        (Some(true), "HostClaimed"),
        (Some(false), "HypervisorUnreachable"),
        (None, "HypervisorUnreachable"),
    ] {
        let mut observed = silent(libvirt(false));
        let node = NodeView { ready, ..node() };
        observed.node = Lookup::Known(Some(Arc::new(node)));
        assert_eq!(decision(&observed).0, reason, "{ready:?}");
    }
}

#[test]
fn conditions_are_written_while_a_guest_keeps_hold_of_its_seed() {
    let shown = shown(
        "running",
        &json!({ "addresses": [{ "mac": "52:54:00:00:00:01", "address": "10.0.0.5", "source": "lease" }] }),
    );
    let mut observed = told(libvirt(false), Some(shown), None);
    observed.node = Lookup::Known(Some(Arc::new(node())));
    let plan = plan(&observed, at(0));
    assert_eq!(plan.actions, [Action::Acquire(Acquire::RemoveSeed)]);
    assert!(!plan.is_quick());
}
