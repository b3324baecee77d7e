//! Hosts that are not ours, or in doubt.

use super::*;
use crate::api::conditions::Reason;

#[test]
fn what_is_not_ours_is_left_alone_and_said_with_its_owner() {
    let cases: [(&str, Observed, &[&str]); 3] = [
        (
            "a kubelet",
            occupied(saying(&json!({}), Ownership::Nobody)),
            &[
                "Tatara does not manage",
                "/var/lib/kubelet",
                "kubeadm reset",
            ],
        ),
        (
            "another management cluster",
            saying(&json!({}), marked("there", "m")),
            &["default/w-0", "there", "docs/operating.md#undo"],
        ),
        (
            "a broken marker",
            saying(&json!({}), Ownership::Unreadable("{".into())),
            &["owner.json", "remove that file"],
        ),
    ];
    for (case, observed, says) in cases {
        expect(
            case,
            &plan(&observed, at(0)),
            State::Quarantined,
            &[],
            "Occupied",
            says,
        );
    }
}

#[test]
fn an_unfulfilled_claim_is_freed_and_one_in_doubt_stays() {
    let cases: [(&str, Observed, bool); 4] = [
        (
            "a kubelet",
            occupied(saying(&claim("m", true), Ownership::Nobody)),
            true,
        ),
        (
            "another's marker",
            saying(&claim("m", true), marked("there", "m")),
            true,
        ),
        (
            "another Machine's marker",
            saying(&claim("m", true), marked("here", "n")),
            true,
        ),
        (
            "a broken marker",
            saying(&claim("m", true), Ownership::Unreadable("{".into())),
            false,
        ),
    ];
    for (case, observed, is_unfulfilled) in cases {
        let begun = plan(&observed, at(0)).actions;
        assert_eq!(
            begun,
            [],
            "{case}: something ran, and where it is nobody knows"
        );
        let observed = of(UNBEGUN, observed);
        let actions: Vec<_> = is_unfulfilled
            .then(|| free_of(&observed))
            .into_iter()
            .collect();
        assert_eq!(plan(&observed, at(0)).actions, actions, "{case}");
    }
}

#[test]
fn an_orphan_is_never_reset_and_the_remedy_fits_what_is_known_of_its_machine() {
    for (owner, says) in [
        (
            Known::Unknown,
            ["does not exist here", "\"releasing\":true"],
        ),
        (Known::WithoutHost, ["restore", "\"releasing\":false"]),
        (
            Known::On("h9".into()),
            ["claims Host default/h9", "delete this Host"],
        ),
    ] {
        let mut observed = saying(&json!({}), marked("here", "m"));
        observed.owner = owner;
        expect(
            "orphan",
            &plan(&observed, at(0)),
            State::Quarantined,
            &[],
            "Orphaned",
            &says,
        );
    }
}

#[test]
fn a_host_that_was_claimed_while_its_server_was_asked_is_no_orphan() {
    let mut observed = saying(&json!({}), marked("here", "m"));
    observed.owner = Known::On(observed.host.name_any());
    let claimed = plan(&observed, at(0));
    let says = ["claimed by Machine w-0"];
    expect("now", &claimed, State::Claimed, &[], "Claimed", &says);
    let told = |finding: &Finding| (finding.condition, finding.reason());
    let in_use = (ConditionType::Clean, Reason::InUse);
    assert!(claimed.findings.iter().map(told).any(|is| is == in_use));
}

/// A Machine here has the name and the UID that the marker names, as far as a claim that somebody
/// wrote says.
type Change = fn(&mut Marker);

#[test]
fn a_server_is_reset_for_the_machine_that_its_marker_names_in_full_and_for_no_other() {
    let released = |change: fn(&mut Marker)| {
        let mut owner = marked("here", "m");
        if let Ownership::Owner(owner) = &mut owner {
            change(&mut owner.marker);
        }
        plan(&saying(&claim("m", true), owner), at(0))
    };
    let own = released(|_| ());
    assert_eq!(own.actions, [Action::Reset(marker("here", "m"))]);
    let others: [(&str, Change, &str); 4] = [
        ("namespace", |of| of.namespace = "other".into(), "Orphaned"),
        ("name", |of| of.machine = "w-1".into(), "Orphaned"),
        ("UID", |of| of.uid = "n".into(), "Orphaned"),
        (
            "management cluster",
            |of| of.management = "there".into(),
            "Occupied",
        ),
    ];
    for (case, change, reason) in others {
        let plan = released(change);
        expect(case, &plan, State::Quarantined, &[], reason, &[]);
    }
}

#[test]
fn an_orphan_with_a_control_plane_or_of_another_namespace_is_not_called_a_node_to_reset() {
    let orphan = |change: fn(&mut Owner)| {
        let mut owner = marked("here", "m");
        if let Ownership::Owner(owner) = &mut owner {
            change(owner);
        }
        plan(&saying(&json!({}), owner), at(0))
    };
    let made = orphan(|owner| owner.initialized = true);
    let says = [
        "control plane of Cluster default/a",
        "To destroy it: kubectl -n default patch host h0",
    ];
    expect("made", &made, State::Quarantined, &[], "Orphaned", &says);
    let far = orphan(|owner| owner.marker.namespace = "other".into());
    let says = ["only a Host in namespace other", "operating.md#undo"];
    expect("far", &far, State::Quarantined, &[], "Orphaned", &says);
    assert!(!finding(&far, "Clean").message().contains("patch host"));
}

#[test]
fn a_host_says_what_its_server_shows_of_the_machine_that_runs_on_it() {
    let lost = of(STAYING, saying(&claim("m", false), Ownership::Nobody));
    let lost = plan(&lost, at(0));
    expect("lost", &lost, State::Claimed, &[], "Claimed", &[]);
    let clean = finding(&lost, "Clean");
    assert_eq!(
        (clean.status, clean.reason()),
        (Status::False, Reason::MarkerMissing)
    );
    for (owner, says) in [
        (marked("here", "m"), "keep this one"),
        (marked("here", "n"), "Delete this Host only if"),
        (Ownership::Nobody, "Delete this Host only if"),
    ] {
        let mut twice = of(STAYING, saying(&claim("m", false), owner));
        twice.rivals = vec!["h9".into()];
        let twice = plan(&twice, at(0));
        expect(
            says,
            &twice,
            State::Quarantined,
            &[],
            "ClaimedTwice",
            &[says],
        );
    }
    let staying = claim("m", false);
    let mut deleted = claim("m", false);
    deleted["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    for (claim, marked, says) in [
        (&staying, None, "does not answer: wait for it"),
        (
            &staying,
            Some("h9"),
            "Machine w-0 runs on Host h9 (its server has the Machine's marker): kubectl -n default delete host h0",
        ),
        (
            &deleted,
            Some("h9"),
            "this one is removed once it answers without the marker; if it is off for good: kubectl -n default patch host h0",
        ),
    ] {
        let mut twice = of(STAYING, observed(claim, Contact::Off));
        twice.rivals = vec!["h9".into()];
        twice.marked_rival = marked.map(str::to_owned);
        let twice = plan(&twice, at(0));
        let state = State::Quarantined;
        expect(says, &twice, state, &[], "ClaimedTwice", &[says]);
    }
}

#[test]
fn a_deleted_host_that_does_not_answer_says_what_it_waits_for() {
    let mut change = claim("m", true);
    change["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    for (consumer, says, is_first) in [
        (LEAVING, "is removed once it is reset;", true),
        (
            Consumer::Missing,
            "is removed once it answers and is reset; if the server is off for good: kubectl -n default patch host h0",
            false,
        ),
    ] {
        let error = ContactError {
            reason: Reason::SshUnreachable,
            message: "no answer".into(),
            transient: true,
        };
        let silent = of(consumer, observed(&change, Contact::Failed(error)));
        let message = finding(&plan(&silent, at(0)), "Available").message();
        assert!(message.contains(says), "{message}");
        assert_eq!(message.contains("first delete the Machine"), is_first);
    }
}

#[test]
fn an_orphan_behind_another_claim_is_registered_anew_and_not_patched() {
    let again = [
        "consumerRef names Machine w-0",
        "delete host h0",
        "apply -f",
    ];
    let free = [
        "consumerRef names Machine w-0",
        "delete machine w-0",
        "live node",
    ];
    let cases = [
        (Known::Unknown, Consumer::Missing, again),
        (Known::WithoutHost, STAYING, again),
        (Known::Unknown, UNBEGUN, free),
    ];
    for (owner, consumer, says) in cases {
        let mut observed = of(consumer, saying(&claim("m", false), marked("here", "n")));
        observed.owner = owner;
        let plan = plan(&observed, at(0));
        expect("orphan", &plan, State::Quarantined, &[], "Orphaned", &says);
        let patches = |finding: &Finding| finding.message().contains("patch host");
        assert!(!plan.findings.iter().any(patches));
    }
}

#[test]
fn a_server_that_two_hosts_speak_for_is_not_handed_out_and_no_reset_is_proposed() {
    for owner in [Ownership::Nobody, marked("here", "m")] {
        let mut observed = saying(&json!({}), owner);
        observed.duplicates.address = vec!["default/h9".into()];
        let says = ["192.0.2.10", "default/h9", "delete one of them"];
        expect(
            "twin",
            &plan(&observed, at(0)),
            State::Quarantined,
            &[],
            "DuplicateAddress",
            &says,
        );
    }
}

#[test]
fn the_marker_of_an_orphan_stays_in_its_status_until_it_is_none_any_more() {
    let status = |observed: &Observed| {
        crate::host::status::status(&observed.host, observed, &plan(observed, at(0)))
    };
    let orphan = saying(&json!({}), marked("here", "m"));
    let told = status(&orphan).expect("a status").marker;
    let uid = told.as_ref().map(|marker| marker.uid.as_str());
    assert_eq!(uid, Some("m"));
    let before = json!({"status": {"marker": told}});
    let unreachable = Contact::Failed(ContactError {
        reason: Reason::SshUnreachable,
        message: "no route".into(),
        transient: true,
    });
    let silent = status(&observed(&before, unreachable)).expect("a status");
    assert_eq!(silent.marker, told);
    let clean = status(&saying(&before, Ownership::Nobody)).expect("a status");
    assert_eq!(clean.marker, None);
}
