//! A Machine that is a virtual machine: from a chosen Hypervisor to a server that is reached over
//! SSH.

mod ending;
mod moved;

use super::*;
use crate::api::conditions::{ConditionType, Reason};
use crate::machine::{GatewayView, Stuck, VirtualMachine};
use crate::{AttemptRecord, wire};

pub(super) fn libvirt(control_plane: bool) -> Observed {
    let value = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "LibvirtMachineProviderSpec",
        "cpus": 2,
        "memory": "2Gi",
        "rootDisk": {
            "size": "20Gi",
            "image": { "url": "https://images.example/debian.qcow2", "sha256": "a".repeat(64) },
        },
    });
    let id = json!({ "spec": { "providerID": format!("tatara://libvirt/{ME}") } });
    let mut observed = edited(observed(control_plane), &id);
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    observed.placement = Placement::None(Ok("hypervisor-a".into()));
    observed
}

pub(super) fn shown(state: &str, more: &Value) -> wire::Machine {
    let mut machine = json!({
        "id": ME,
        "state": state,
        "seed": true,
        "interfaces": [{ "mac": "52:54:00:00:00:01" }],
        "spec": {
            "name": "w-0-11111111", "labels": {}, "cpus": 2, "memoryBytes": 1, "firmware": "bios",
            "rootDisk": { "sizeBytes": 1, "pool": "default" }, "interfaces": [],
        },
    });
    merge(&mut machine, more);
    serde_json::from_value(machine).expect("a virtual machine")
}

pub(super) fn image(state: &str, more: &Value) -> wire::Image {
    let mut image = json!({ "sha256": "a".repeat(64), "pool": "default", "state": state });
    merge(&mut image, more);
    serde_json::from_value(image).expect("an image")
}

/// This Hypervisor stands on it.
pub(super) fn placed(observed: Observed, hypervisor: &str) -> Observed {
    let place = json!({ "metadata": { "annotations": { "tatara.dev/hypervisor": hypervisor } } });
    edited(observed, &place)
}

/// Placed on hypervisor-a, which tells this.
pub(super) fn told(
    mut observed: Observed,
    machine: Option<wire::Machine>,
    image: Option<wire::Image>,
) -> Observed {
    let address = machine
        .as_ref()
        .and_then(|machine| machine.address().map(str::to_owned));
    let told = GatewayView {
        machine: machine.map(Arc::new),
        image,
        is_gone: false,
    };
    observed = answered(observed, Ok(told));
    if let Placement::Held(held) = &mut observed.placement {
        held.address = address;
    }
    observed
}

/// Placed on hypervisor-a, of which this is known.
fn answered(observed: Observed, told: Result<GatewayView, Why>) -> Observed {
    let mut observed = placed(observed, "hypervisor-a");
    observed.virtual_machine = Some(VirtualMachine {
        hypervisor: "hypervisor-a".into(),
        told,
        tried: AttemptRecord::default(),
        held_back: None,
        is_elsewhere: false,
        recorded: Some("hypervisor-a".into()),
        has_keys: true,
        shown_by: None,
        unheard: None,
        is_connecting: false,
    });
    observed.placement = held(Contact::NotAsked);
    observed
}

pub(super) fn silent(observed: Observed) -> Observed {
    let refusal = Why::new(
        Reason::HypervisorUnreachable,
        "Hypervisor hypervisor-a: connection refused",
    );
    let mut observed = answered(observed, Err(refusal));
    if let Placement::Held(held) = &mut observed.placement {
        held.stuck = Some(Stuck::Silent(at(0)));
    }
    observed
}

/// The first condition that does not hold: its reason, and what is done.
pub(super) fn decision(observed: &Observed) -> (String, Vec<Action>) {
    let plan = plan(observed, at(0));
    let reason = plan
        .findings
        .iter()
        .find(|f| f.condition == "InfrastructureReady");
    (
        reason.map(|f| f.reason().to_string()).unwrap_or_default(),
        plan.actions,
    )
}

#[test]
fn the_way_to_a_running_virtual_machine_is_one_step_at_a_time() {
    let none = &json!({});
    let half = json!({ "receivedBytes": 120 << 20, "totalBytes": 563 << 20 });
    let addressed = json!({ "addresses": [{ "mac": "52:54:00:00:00:01", "address": "10.0.0.5", "source": "lease" }] });
    let table = [
        (
            libvirt(false),
            "Claiming",
            vec![Action::Acquire(Acquire::Place {
                name: "hypervisor-a".into(),
                instead: None,
            })],
        ),
        (
            told(libvirt(false), None, None),
            "FetchingImage",
            vec![Action::Acquire(Acquire::Image)],
        ),
        (
            told(libvirt(false), None, Some(image("fetching", &half))),
            "FetchingImage",
            vec![],
        ),
        (
            told(libvirt(false), None, Some(image("ready", none))),
            "CreatingVirtualMachine",
            vec![Action::Acquire(Acquire::Machine)],
        ),
        (
            told(libvirt(false), Some(shown("running", none)), None),
            "WaitingForAddress",
            vec![],
        ),
        (
            told(libvirt(false), Some(shown("running", &addressed)), None),
            "HostClaimed",
            vec![],
        ),
    ];
    for (observed, reason, actions) in table {
        assert_eq!(decision(&observed), (reason.to_owned(), actions));
    }
    // its sshd comes after its address; one that was logged in to before is missed
    for (seed, reason) in [(true, "WaitingForSsh"), (false, "SshUnreachable")] {
        let mut running = shown("running", &addressed);
        running.seed = seed;
        let mut observed = told(libvirt(false), Some(running), None);
        let Placement::Held(held) = &mut observed.placement else {
            panic!("it has a place")
        };
        held.contact = Contact::Unreachable {
            reason: Reason::SshUnreachable,
            message: "Connection refused".into(),
        };
        assert_eq!(decision(&observed), (reason.to_owned(), Vec::new()));
    }
    let fetching = told(libvirt(false), None, Some(image("fetching", &half)));
    let plan = plan(&fetching, at(0));
    assert!(
        plan.findings[0].message().ends_with("120 of 563 MiB"),
        "{:?}",
        plan.findings[0]
    );
}

#[test]
fn the_keys_leave_the_hypervisor_once_we_are_in() {
    let addressed = json!({ "addresses": [{ "mac": "52:54:00:00:00:01", "address": "10.0.0.5", "source": "lease" }] });
    let placed = told(libvirt(false), Some(shown("running", &addressed)), None);
    let reached = on(placed, Ownership::Nobody, Vec::new());
    assert_eq!(
        decision(&reached).1,
        [Action::Acquire(Acquire::RemoveSeed), Action::TakeHost]
    );

    let mut without = shown("running", &addressed);
    without.seed = false;
    let reached = on(
        told(libvirt(false), Some(without), None),
        Ownership::Nobody,
        Vec::new(),
    );
    assert_eq!(decision(&reached).1, [Action::TakeHost]);
}

#[test]
fn what_stopped_is_started_again_at_growing_intervals() {
    let table = [
        (
            "off",
            json!({}),
            "VirtualMachineOff",
            Action::Power(Power::On),
        ),
        (
            "crashed",
            json!({}),
            "VirtualMachineCrashed",
            Action::Power(Power::On),
        ),
        (
            "paused",
            json!({}),
            "VirtualMachinePaused",
            Action::Power(Power::Resume),
        ),
        (
            "paused",
            json!({ "stateReason": "ioerror" }),
            "StorageFull",
            Action::Power(Power::Resume),
        ),
    ];
    for (state, more, reason, action) in table {
        let mut observed = told(libvirt(false), Some(shown(state, &more)), None);
        assert_eq!(decision(&observed), (reason.to_owned(), vec![action]));
        if let Some(machine) = &mut observed.virtual_machine {
            machine.tried = AttemptRecord {
                times: 3,
                last: Some(at(-1)),
                refused: None,
                ..AttemptRecord::default()
            };
        }
        let again = plan(&observed, at(0));
        assert_eq!(again.actions, []);
        assert_eq!(again.next, Next::After(Duration::from_secs(3)));
    }
}

#[test]
fn what_was_refused_is_said_until_another_try_is_answered() {
    let ready = Some(image("ready", &json!({})));
    let mut observed = told(libvirt(false), None, ready);
    let refused = Finding::no(
        ConditionType::InfrastructureReady,
        Reason::InvalidSpec,
        "no such network",
    );
    for (seconds, actions) in [(-1, vec![]), (-60, vec![Action::Acquire(Acquire::Machine)])] {
        if let Some(machine) = &mut observed.virtual_machine {
            machine.tried = AttemptRecord {
                times: 3,
                last: Some(at(seconds)),
                refused: Some(refused.clone()),
                ..AttemptRecord::default()
            };
        }
        let plan = plan(&observed, at(0));
        assert_eq!(plan.actions, actions);
        assert!(plan.findings.contains(&refused), "{:?}", plan.findings);
    }
}

#[test]
fn a_creation_that_was_cut_is_finished_by_the_same_request() {
    let cut = shown("off", &json!({ "incomplete": true }));
    let observed = told(libvirt(false), Some(cut), Some(image("ready", &json!({}))));
    assert_eq!(decision(&observed).1, [Action::Acquire(Acquire::Machine)]);
}

#[test]
fn an_address_that_was_given_out_goes_before_one_that_was_overheard() {
    let address = |mac: u8, address: &str, source: &str| json!({ "mac": format!("52:54:00:00:00:0{mac}"), "address": address, "source": source });
    let table = [
        (
            vec![
                address(1, "10.0.0.9", "arp"),
                address(1, "10.0.0.5", "lease"),
            ],
            Some("10.0.0.5"),
        ),
        (
            vec![
                address(1, "fe80::1", "agent"),
                address(1, "fd00::5", "agent"),
            ],
            Some("fd00::5"),
        ),
        (
            vec![
                address(1, "fd00::5", "agent"),
                address(1, "10.0.0.5", "agent"),
            ],
            Some("10.0.0.5"),
        ),
        (vec![address(3, "10.244.0.1", "agent")], None),
        // the first card that has one
        (vec![address(2, "10.9.0.1", "lease")], Some("10.9.0.1")),
        (
            vec![
                address(2, "10.9.0.1", "lease"),
                address(1, "10.0.0.5", "agent"),
            ],
            Some("10.0.0.5"),
        ),
    ];
    let cards = json!([{ "mac": "52:54:00:00:00:01" }, { "mac": "52:54:00:00:00:02" }]);
    for (addresses, expected) in table {
        let addressed = json!({ "interfaces": cards, "addresses": addresses });
        let machine = shown("running", &addressed);
        assert_eq!(machine.address(), expected);
    }
}

#[test]
fn what_was_asked_for_is_looked_at_again_though_no_event_comes() {
    // it can fail as it did before within one look of the gateway, which tells of nothing then
    let failed = image("failed", &json!({}));
    let table = [
        told(libvirt(false), None, None),
        told(libvirt(false), None, Some(failed)),
        told(libvirt(false), None, Some(image("ready", &json!({})))),
        told(libvirt(false), Some(shown("off", &json!({}))), None),
        told(libvirt(false), Some(shown("crashed", &json!({}))), None),
        told(libvirt(false), Some(shown("paused", &json!({}))), None),
    ];
    for observed in table {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.actions.len(), 1, "{:?}", plan.actions);
        assert_eq!(
            plan.next,
            Next::After(Duration::from_secs(1)),
            "{:?}",
            plan.actions
        );
    }
}

#[test]
fn an_image_that_failed_says_why_and_is_fetched_again() {
    let error =
        |code: &str| json!({ "error": { "code": code, "detail": "is not what was asked for" } });
    for (code, reason) in [
        ("ChecksumMismatch", "ImageChecksumDiffers"),
        ("DiskFull", "StorageFull"),
        ("FetchFailed", "ImageFailed"),
    ] {
        let failed = told(libvirt(false), None, Some(image("failed", &error(code))));
        assert_eq!(
            decision(&failed),
            (reason.to_owned(), vec![Action::Acquire(Acquire::Image)])
        );
        let plan = plan(&failed, at(0));
        let message = &plan.findings[0].message();
        assert!(message.contains("is not what was asked for"), "{message}");
        // once it has a place its spec cannot be corrected, and a full disk is no fault of the spec
        let again = message.contains("delete machine w-0, and apply it again");
        assert_eq!(again, reason != "StorageFull", "{message}");
    }
}

#[test]
fn a_virtual_machine_that_was_deleted_is_made_again_only_before_it_could_be_a_node() {
    let before = told(libvirt(false), None, Some(image("ready", &json!({}))));
    assert_eq!(decision(&before).1, [Action::Acquire(Acquire::Machine)]);

    let after = had_node(before.clone());
    assert_eq!(decision(&after), ("VirtualMachineGone".into(), vec![]));

    let initializing = with_cluster(told(libvirt(true), None, None), |cluster| {
        cluster.turn = Some(Turn {
            machine: ME.into(),
            name: "cp-0".into(),
            action: TurnAction::Init,
        });
    });
    assert_eq!(
        decision(&initializing),
        ("VirtualMachineGone".into(), vec![])
    );
}
