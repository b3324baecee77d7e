//! A Machine that is a virtual machine leaves a Hypervisor on which nothing of it exists.

use super::virtual_machines::{decision, image, libvirt, shown, silent, told};
use super::*;
use crate::AttemptRecord;
use crate::api::conditions::ConditionType;

/// Refused so often, for this reason, while another Hypervisor could take it.
fn refused(mut observed: Observed, reason: Reason, times: u32) -> Observed {
    if let Some(machine) = &mut observed.virtual_machine {
        machine.is_elsewhere = true;
        machine.tried = AttemptRecord {
            times,
            last: Some(at(-3600)),
            refused: Some(Finding::no(
                ConditionType::InfrastructureReady,
                reason,
                "no",
            )),
            ..AttemptRecord::default()
        };
    }
    observed
}

fn unmade() -> Observed {
    told(libvirt(false), None, Some(image("ready", &json!({}))))
}

fn nowhere_else(mut observed: Observed) -> Observed {
    if let Some(machine) = &mut observed.virtual_machine {
        machine.is_elsewhere = false;
    }
    observed
}

const LEAVES: (&str, [Action; 1]) = ("LeavingHypervisor", [Action::Acquire(Acquire::Elsewhere)]);

fn assert_leaves(observed: &Observed) {
    assert_eq!(decision(observed), (LEAVES.0.into(), LEAVES.1.into()));
}

fn assert_stays(observed: &Observed) {
    let (reason, actions) = decision(observed);
    assert!(
        !actions.contains(&Action::Acquire(Acquire::Elsewhere)),
        "{reason}"
    );
}

#[test]
fn what_one_hypervisor_refuses_is_made_on_another() {
    for reason in [
        Reason::InvalidSpec,
        Reason::StorageFull,
        Reason::StorageInactive,
        Reason::NameTaken,
        Reason::GatewayOutdated,
        Reason::GatewayRefused,
    ] {
        assert_leaves(&refused(unmade(), reason, 3));
        // what fails once may be under way there; and where nothing else would take it, it is tried
        // again
        assert_stays(&refused(unmade(), reason, 2));
        assert_stays(&nowhere_else(refused(unmade(), reason, 3)));
    }
    // the room that it was to have is somebody else's now
    assert_leaves(&refused(unmade(), Reason::InsufficientCapacity, 1));
    assert_leaves(&nowhere_else(refused(
        unmade(),
        Reason::InsufficientCapacity,
        1,
    )));
}

#[test]
fn a_hypervisor_that_is_held_back_is_left_before_anything_is_made() {
    let mut observed = refused(told(libvirt(false), None, None), Reason::StorageFull, 0);
    let machine = observed.virtual_machine.as_mut().expect("a place");
    machine.tried = AttemptRecord::default();
    assert_stays(&observed);
    let machine = observed.virtual_machine.as_mut().expect("a place");
    machine.held_back = Some("in maintenance");
    assert_leaves(&observed);
    assert_stays(&nowhere_else(observed));
}

#[test]
fn an_image_that_one_hypervisor_cannot_have_is_fetched_by_another_unless_the_image_is_wrong() {
    for (code, leaves) in [
        ("FetchFailed", true),
        ("DiskFull", true),
        ("ImageTooLarge", true),
        ("ChecksumMismatch", false),
        ("ImageRefused", false),
    ] {
        let error = json!({ "error": { "code": code, "detail": "no" } });
        let failed = told(libvirt(false), None, Some(image("failed", &error)));
        let mut failed = refused(failed, Reason::ImageFailed, 3);
        let machine = failed.virtual_machine.as_mut().expect("a place");
        machine.tried.refused = None;
        if leaves {
            assert_leaves(&failed);
        } else {
            assert_stays(&failed);
        }
    }
}

#[test]
fn where_something_of_it_may_exist_it_stays() {
    // no answer says nothing of what is there
    for reason in [
        Reason::HypervisorUnreachable,
        Reason::LibvirtUnavailable,
        Reason::UnreadableAnswer,
        Reason::SpecDiffers,
    ] {
        assert_stays(&refused(unmade(), reason, 9));
    }
    assert_stays(&refused(silent(libvirt(false)), Reason::InvalidSpec, 9));
    // it is there, half made or whole
    let none = json!({});
    let half = shown("off", &json!({ "incomplete": true }));
    for machine in [half, shown("running", &none), shown("unknown", &none)] {
        let observed = told(libvirt(false), Some(machine), Some(image("ready", &none)));
        assert_stays(&refused(observed, Reason::InvalidSpec, 9));
    }
    // it was a Node, or may have begun a cluster
    assert_stays(&refused(
        had_node(unmade()),
        Reason::InsufficientCapacity,
        9,
    ));
    let begun = with_cluster(told(libvirt(true), None, None), |cluster| {
        cluster.turn = Some(Turn {
            machine: ME.into(),
            name: "cp-0".into(),
            action: TurnAction::Init,
        });
    });
    assert_stays(&refused(begun, Reason::InsufficientCapacity, 9));
}
