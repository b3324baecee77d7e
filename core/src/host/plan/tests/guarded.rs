//! A host with the control plane of a Cluster that stays, whether it can be asked or not.

use super::*;
use crate::api::conditions::Reason;
use crate::host::{PowerReading, PowerState};

fn silent() -> Contact {
    Contact::Failed(ContactError {
        reason: Reason::SshUnreachable,
        message: "no answer".into(),
        transient: true,
    })
}

/// A Host with everything that an installation takes, silent since 0, with the power as its BMC
/// says.
fn with_bmc(change: &Value, policy: &str, power: PowerState, contact: Contact) -> Observed {
    let mut change = change.clone();
    let spec = [
        ("wipePolicy", json!(policy)),
        ("rootDeviceHints", json!({ "serialNumber": "S3Z9NB0K" })),
        (
            "installation",
            json!({ "iso": { "url": "http://192.0.2.1/installer.iso", "sha256": "0".repeat(64) } }),
        ),
        (
            "bmc",
            json!({ "address": "https://192.0.2.20", "credentialsRef": { "name": "bmc" }, "tls": {} }),
        ),
    ];
    for (name, value) in spec {
        change["spec"][name] = value;
    }
    let mut observed = observed(&change, contact);
    let status = json!({ "conditions": [{ "type": "Reachable", "status": "False", "reason": "SshUnreachable",
        "message": "", "lastTransitionTime": at(0).to_string() }] });
    Arc::make_mut(&mut observed.host).status = serde_json::from_value(status).expect("a status");
    observed.bmc = Some(PowerReading {
        at: at(0),
        asked_with: "0".into(),
        power: Ok(power),
    });
    observed
}

const POLICIES: [&str; 3] = ["reset", "retain", "reinstall"];

#[test]
fn the_host_of_a_control_plane_that_was_let_go_is_neither_fenced_nor_installed_when_it_is_silent_or_off()
 {
    for policy in POLICIES {
        for machine in [LEAVING, Consumer::Missing] {
            for (power, contact) in [
                (PowerState::On, silent()),
                (PowerState::Off, Contact::Off),
                (
                    PowerState::On,
                    Contact::Seen(Box::new(seen(Ownership::Nobody))),
                ),
            ] {
                let released = with_bmc(&claim("m", true), policy, power, contact);
                let mut guarded = of(machine, released);
                guarded.guards = Some("a".into());
                let plan = plan(&guarded, at(1_000));
                assert_eq!(plan.actions, [], "{policy}, {power:?}, {machine:?}");
                let available = finding(&plan, "Available");
                let is_read = matches!(guarded.contact, Contact::Seen(_));
                assert!(
                    is_read || available.reason() == "LastControlPlane",
                    "{available:?}"
                );
            }
        }
    }
}

#[test]
fn while_kubeadm_init_runs_a_silent_host_that_was_let_go_is_fenced() {
    for policy in POLICIES {
        let mut begun = with_bmc(&claim("m", true), policy, PowerState::On, silent());
        begun.may_guard = Some("a".into());
        assert_eq!(plan(&begun, at(1_000)).actions, [Action::Fence], "{policy}");
    }
}

#[test]
fn a_host_that_is_off_is_looked_at_before_it_is_installed_where_it_may_have_a_control_plane() {
    let released = with_bmc(
        &claim("m", true),
        "reinstall",
        PowerState::Off,
        Contact::Off,
    );
    let released = of(Consumer::Missing, released);
    let installs = [Action::BeginInstallation];
    assert_eq!(plan(&released, at(0)).actions, installs, "a worker's");
    let mut unknown = released.clone();
    unknown.may_guard = Some("a".into());
    let says = ["to check it before"];
    let looks = plan(&unknown, at(0));
    let on = [Action::SwitchOn];
    expect(
        "unknown",
        &looks,
        State::Quarantined,
        &on,
        "SwitchingOn",
        &says,
    );
    let mut read = released;
    read.contact = Contact::Seen(Box::new(seen(marked("here", "m"))));
    assert_eq!(plan(&read, at(0)).actions, installs, "it was looked at");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn nothing_is_done_to_a_host_with_a_control_plane_that_it_cannot_take_back(
        contact in select(vec!["marker", "nobody", "not asked", "silent", "off"]),
        releasing in any::<bool>(),
        policy in select(POLICIES.to_vec()),
        machine in select(vec![LEAVING, UNBEGUN, STAYING, Consumer::Missing]),
        guards in any::<bool>(),
        asked in any::<bool>(),
        seconds in select(vec![0, 29, 30, 1_000]),
    ) {
        let mut change = claim("m", releasing);
        if asked {
            change["metadata"]["annotations"] = json!({ (crate::api::names::ANNOTATION_REINSTALL): "S3Z9NB0K" });
        }
        let (power, contact) = match contact {
            "marker" => (PowerState::On, Contact::Seen(Box::new(seen(marked("here", "m"))))),
            "nobody" => (PowerState::On, Contact::Seen(Box::new(seen(Ownership::Nobody)))),
            "not asked" => (PowerState::On, Contact::NotAsked),
            "silent" => (PowerState::On, silent()),
            _ => (PowerState::Off, Contact::Off),
        };
        let mut observed = of(machine, with_bmc(&change, policy, power, contact));
        observed.guards = guards.then(|| "a".into());
        for action in plan(&observed, at(seconds)).actions {
            let is_harmless = match &action {
                Action::SwitchOn => true,
                // nothing was ever begun on it
                Action::Free(_) => machine == UNBEGUN,
                Action::Fence | Action::Reset(_) | Action::BeginInstallation => {
                    !guards && releasing && machine.may_release()
                }
                // a Host that nobody deletes is not let go of, and without a kubelet none is
                // stopped
                _ => false,
            };
            prop_assert!(is_harmless, "{action:?} of {observed:?}");
        }
    }
}
