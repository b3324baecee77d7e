//! Hosts that cannot be used: another's, silent, or none.

use super::*;

#[test]
fn a_host_that_is_not_ours_is_left_alone_and_the_condition_says_whose_it_is() {
    let foreign = |marker: Marker| {
        Ownership::Owner(Owner {
            marker,
            initialized: false,
            joined: false,
        })
    };
    let mut elsewhere = marker("w-0", ME);
    elsewhere.management = "another".into();
    let kubelet = crate::node::Finding::from(
        "finding: kubelet: /var/lib/kubelet is not empty; remedy: remove it".to_owned(),
    );
    let mut occupied = on(worker(), Ownership::Nobody, Vec::new());
    if let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut occupied.placement
    {
        seen.occupied = vec![kubelet];
    }
    let cases: [(&str, Observed, &[&str]); 4] = [
        (
            "another Machine",
            on(worker(), foreign(marker("w-9", OTHER)), Vec::new()),
            &["default/w-9", OTHER],
        ),
        (
            "same UID, another management cluster",
            on(worker(), foreign(elsewhere), Vec::new()),
            &["management cluster another"],
        ),
        (
            "no marker, a kubelet",
            occupied,
            &[
                "a Kubernetes node that Tatara does not manage",
                "/var/lib/kubelet",
            ],
        ),
        (
            "a broken marker",
            on(worker(), Ownership::Unreadable("{".into()), Vec::new()),
            &["owner.json", "cannot be read"],
        ),
    ];
    for (case, observed, parts) in cases {
        let plan = plan(&observed, at(0));
        expect(case, &plan, &[], ("HostClean", "Occupied", parts));
        assert_ne!(plan.next, Next::OnChange, "{case}: a host tells nobody");
    }
}

#[test]
fn a_host_that_cannot_be_asked_is_asked_again_and_nothing_is_done_to_it() {
    for (reason, message) in [
        (
            Reason::CredentialMissing,
            "Secret fleet-key does not exist in namespace default; create it",
        ),
        (
            Reason::CredentialMalformed,
            "Secret fleet-key has no ssh-privatekey",
        ),
        (Reason::HostKeyChanged, "the host shows another key"),
        (Reason::SshUnreachable, "no answer from 192.0.2.11:22"),
    ] {
        let mut observed = worker();
        observed.placement = held(Contact::Unreachable {
            reason,
            message: message.into(),
        });
        let plan = plan(&observed, at(0));
        let reason = reason.as_str();
        expect(
            reason,
            &plan,
            &[],
            ("InfrastructureReady", reason, &[message]),
        );
        assert_ne!(
            plan.next,
            Next::OnChange,
            "nothing else tells when it answers"
        );
    }
}

#[test]
fn no_host_says_how_many_there_are_and_why_none_fits() {
    let mut observed = worker();
    observed.placement = Placement::None(Err(Why::new(
        Reason::NoHostAvailable,
        "4 hosts match the selector: 3 claimed, 1 in maintenance",
    )));
    let says = (
        "InfrastructureReady",
        "NoHostAvailable",
        &["3 claimed, 1 in maintenance"][..],
    );
    expect("none", &plan(&observed, at(0)), &[], says);
}

#[test]
fn a_machine_of_ours_that_was_made_foreign_still_lets_its_host_go() {
    let change = json!({ "metadata": { "finalizers": [FINALIZER_MACHINE] } });
    let mut observed = edited(running(worker()), &change);
    observed.spec = Err(Why::new(
        Reason::InvalidConfiguration,
        "spec.providerSpec.value is vsphere/v1 VM, which is not Tatara's",
    ));
    let says = ("UpToDate", "InvalidConfiguration", &["not Tatara's"][..]);
    expect("alive", &plan(&observed, at(0)), &[], says);
    let leaving = plan(&deleted(observed, at(0)), at(1));
    assert!(leaving.actions.contains(&Action::Release(Release::Now)));
}
