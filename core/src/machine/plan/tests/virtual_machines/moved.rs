//! The annotation that names the Hypervisor can be edited; which gateway may prove that a Machine
//! is over is not a matter of one annotation.

use super::*;
use crate::api::conditions::Reason;

/// Deleted, and the gateway that was asked does not have it.
fn answered(change: impl Fn(&mut VirtualMachine)) -> Observed {
    let mut observed = deleted(told(libvirt(false), None, None), at(0));
    observed.placement = Placement::None(Err(Why::new(Reason::VirtualMachineGone, String::new())));
    with_machine(observed, |machine| {
        machine.told = Ok(GatewayView {
            is_gone: true,
            ..GatewayView::default()
        });
        change(machine);
    })
}

fn with_machine(mut observed: Observed, change: impl Fn(&mut VirtualMachine)) -> Observed {
    change(
        observed
            .virtual_machine
            .as_mut()
            .expect("a virtual machine"),
    );
    observed
}

#[test]
fn the_answer_of_another_gateway_proves_nothing() {
    let ended = [Action::Release(Release::Now), finalizer_by(&by_gateway())];
    let deleting = |reason: &str, observed: &Observed, part: &str, case: &str| {
        let plan = plan(observed, at(1));
        expect(case, &plan, &[], ("Deleting", reason, &[part]));
    };
    let set_back = "annotate --overwrite --as=system:serviceaccount:tatara-system:tatara-manager machine w-0 tatara.dev/hypervisor=hypervisor-a";
    let edited_to = |name: &'static str| {
        let other = answered(move |machine| machine.hypervisor = name.into());
        placed(other, name)
    };
    deleting(
        "HypervisorMoved",
        &edited_to("hypervisor-b"),
        set_back,
        "edited",
    );
    let removed = json!({ "metadata": { "annotations": null } });
    deleting(
        "HypervisorMoved",
        &edited(answered(|_| ()), &removed),
        set_back,
        "removed",
    );
    let shown = answered(|machine| {
        machine.recorded = None;
        machine.shown_by = Some("hypervisor-c".into());
    });
    deleting(
        "HypervisorMoved",
        &shown,
        "hypervisor=hypervisor-c",
        "of an older version, shown by another",
    );
    let twice = answered(|machine| machine.shown_by = Some("hypervisor-c".into()));
    deleting(
        "NotReset",
        &twice,
        "hypervisor-c has one",
        "a second one elsewhere",
    );
    let unheard = || {
        answered(|machine| {
            machine.recorded = None;
            machine.unheard = Some("hypervisor-c".into());
        })
    };
    deleting(
        "NotReset",
        &unheard(),
        "hypervisor-c cannot be asked",
        "of an older version, and one is away",
    );
    let says_gone = json!({ "metadata": { "annotations": { "tatara.dev/host-is-gone": ME } } });
    let by_user = plan(&edited(unheard(), &says_gone), at(1));
    assert_eq!(
        by_user.actions.first(),
        Some(&Action::Release(Release::Later)),
        "the user's word"
    );

    let recorded = answered(|machine| machine.unheard = Some("hypervisor-c".into()));
    assert_eq!(plan(&recorded, at(1)).actions, ended, "its own gateway");
    let heard = answered(|machine| machine.recorded = None);
    assert_eq!(
        plan(&heard, at(1)).actions,
        ended,
        "of an older version, all are heard"
    );
    let new = with_machine(unheard(), |machine| machine.has_keys = false);
    assert_eq!(plan(&new, at(1)).actions, ended, "it was never made");
}

#[test]
fn nothing_is_made_where_the_annotation_was_edited_or_kubeadm_was_begun() {
    let ready = Some(image("ready", &json!({})));
    let gone = told(libvirt(false), None, ready);
    assert_eq!(
        decision(&gone).1,
        [Action::Acquire(Acquire::Machine)],
        "not begun"
    );
    let unheard = with_machine(gone.clone(), |machine| {
        machine.recorded = None;
        machine.unheard = Some("hypervisor-c".into());
    });
    let moved = ("HypervisorMoved".to_owned(), vec![]);
    assert_eq!(decision(&unheard), moved, "it may be there");
    let has_left = with_machine(unheard, |machine| machine.has_keys = false);
    let make = vec![Action::Acquire(Acquire::Machine)];
    assert_eq!(
        decision(&has_left).1,
        make,
        "its last Hypervisor had nothing"
    );
    let begun = json!({ "metadata": { "annotations": { ANNOTATION_SETTINGS: "{}" } } });
    let waits = ("VirtualMachineGone".to_owned(), vec![]);
    assert_eq!(decision(&edited(gone.clone(), &begun)), waits);
    let migrated = with_machine(edited(gone.clone(), &begun), |machine| {
        machine.shown_by = Some("hypervisor-c".into());
    });
    let moved = ("HypervisorMoved".to_owned(), vec![]);
    assert_eq!(decision(&migrated), moved, "the live node, perhaps");
    let moved = placed(gone, "hypervisor-b");
    let moved = with_machine(moved, |machine| machine.hypervisor = "hypervisor-b".into());
    assert_eq!(decision(&moved), ("HypervisorMoved".to_owned(), vec![]));
}

#[test]
fn where_a_virtual_machine_of_an_older_version_is_shown_that_is_written_down_first() {
    let running = told(libvirt(false), Some(shown("running", &json!({}))), None);
    let old = with_machine(running.clone(), |machine| machine.recorded = None);
    assert_eq!(decision(&old).1, [Action::Acquire(Acquire::Record)]);
    let leaving = plan(&deleted(old.clone(), at(0)), at(1)).actions;
    assert_eq!(
        leaving,
        [
            Action::Acquire(Acquire::Record),
            Action::Release(Release::Now)
        ]
    );
    let other_keys = with_machine(old, |machine| machine.has_keys = false);
    assert_eq!(decision(&other_keys).1, []);
    assert_eq!(decision(&running).1, []);
}
