//! Claims that go: a host is freed, released, or left.

use super::*;
use crate::api::conditions::Reason;

#[test]
fn a_host_is_freed_when_it_was_reset_and_its_machine_is_gone_or_when_nothing_ever_started() {
    let clean = || saying(&claim("m", true), Ownership::Nobody);
    let reset = || with_unit(clean(), JobKind::Reset, UnitState::Succeeded);
    let gone = of(Consumer::Missing, reset());
    let unbegun = of(UNBEGUN, clean());
    let mut kept = claim("m", true);
    kept["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    let deleted = of(UNBEGUN, saying(&kept, Ownership::Nobody));
    let free = |observed: &Observed| vec![free_of(observed)];
    let cases = [
        ("reset, its Machine is not gone", reset(), vec![], "Freeing"),
        (
            "reset, its Machine is gone",
            gone.clone(),
            free(&gone),
            "Freeing",
        ),
        ("never started", unbegun.clone(), free(&unbegun), "Freeing"),
        ("never started, and deleted", deleted, vec![], "Freeing"),
        ("its disk is lost", clean(), vec![], "NotReset"),
        (
            "its disk is lost, its Machine gone",
            of(Consumer::Missing, clean()),
            vec![],
            "NotReset",
        ),
    ];
    for (case, observed, actions, reason) in cases {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.actions, actions, "{case}");
        assert_eq!(finding(&plan, "Available").reason(), reason, "{case}");
    }
}

#[test]
fn nothing_is_reset_that_its_machine_did_not_release_or_that_has_a_control_plane() {
    let ours = || saying(&claim("m", true), marked("here", "m"));
    let mut guarded = ours();
    guarded.guards = Some("a".into());
    let mut twice = ours();
    twice.rivals = vec!["h9".into()];
    let name = json!({ "spec": { "consumerRef": { "name": "w-9", "uid": "m", "cluster": "a", "releasing": true } } });
    let cases = [
        ("set by hand", of(STAYING, ours()), "NotReleased"),
        ("a control plane", guarded.clone(), "LastControlPlane"),
        (
            "and its Machine is gone",
            of(Consumer::Missing, guarded),
            "LastControlPlane",
        ),
        ("claimed twice", twice, "ClaimedTwice"),
        (
            "another name",
            saying(&name, marked("here", "m")),
            "Orphaned",
        ),
    ];
    for (case, observed, reason) in cases {
        for policy in ["reset", "retain", "reinstall"] {
            let mut observed = observed.clone();
            let host = Arc::make_mut(&mut observed.host);
            let policy: crate::api::installation::WipePolicy =
                serde_json::from_value(policy.into()).expect("a policy");
            host.spec.wipe_policy = policy;
            let plan = plan(&observed, at(0));
            assert_eq!(plan.actions, [], "{case}");
            assert_eq!(finding(&plan, "Available").reason(), reason, "{case}");
        }
    }
}

#[test]
fn a_host_with_the_claim_of_another_can_be_deleted_without_a_write_to_its_server() {
    let copied = |owner: Ownership, releasing: bool| {
        let mut change = claim("m", releasing);
        change["metadata"] =
            json!({ "deletionTimestamp": at(0).to_string(), "finalizers": [FINALIZER_IN_USE] });
        saying(&change, owner)
    };
    let twice = |mut observed: Observed| {
        observed.rivals = vec!["h9".into()];
        observed
    };
    let nobody = || Ownership::Nobody;
    let reset = with_unit(copied(nobody(), true), JobKind::Reset, UnitState::Succeeded);
    let waits = of(UNBEGUN, copied(nobody(), false));
    let goes = vec![Action::LetGo];
    let cases = [
        (
            "copied",
            twice(of(STAYING, copied(nobody(), false))),
            goes.clone(),
        ),
        (
            "copied, another's server",
            twice(copied(marked("here", "n"), false)),
            goes.clone(),
        ),
        (
            "its Machine is gone",
            of(Consumer::Missing, copied(nobody(), false)),
            goes.clone(),
        ),
        ("its disk is lost", copied(nobody(), false), goes),
        (
            "the marker is that Machine's",
            twice(copied(marked("here", "m"), false)),
            vec![],
        ),
        ("just claimed", waits, vec![]),
        ("its Machine still has to read it", reset, vec![]),
    ];
    for (case, observed, actions) in cases {
        assert_eq!(plan(&observed, at(0)).actions, actions, "{case}");
    }
}

#[test]
fn a_copied_host_goes_while_another_stands_for_its_server_whatever_that_says() {
    let mut change = claim("m", false);
    change["metadata"] =
        json!({ "deletionTimestamp": at(0).to_string(), "finalizers": [FINALIZER_IN_USE] });
    let silent = ContactError {
        reason: Reason::SshUnreachable,
        message: "no answer".into(),
        transient: true,
    };
    let contacts = [
        (
            "our marker",
            Contact::Seen(Box::new(seen(marked("here", "m")))),
        ),
        (
            "a broken marker",
            Contact::Seen(Box::new(seen(Ownership::Unreadable("{".into())))),
        ),
        ("silent", Contact::Failed(silent)),
        ("not asked", Contact::NotAsked),
        ("off", Contact::Off),
    ];
    for (case, contact) in contacts {
        let mut copied = of(STAYING, observed(&change, contact));
        copied.rivals = vec!["h9".into()];
        assert_eq!(
            plan(&copied, at(0)).actions,
            [],
            "{case}: nobody else stands for it"
        );
        copied.stands_in = Some("h9".into());
        let leave = [Action::LeaveTo("h9".into())];
        assert_eq!(plan(&copied, at(0)).actions, leave, "{case}");
        let mut kept = copied.clone();
        Arc::make_mut(&mut kept.host).metadata.deletion_timestamp = None;
        assert_eq!(plan(&kept, at(0)).actions, [], "{case}: not deleted");
    }
}

#[test]
fn a_control_plane_that_nobody_recorded_is_recorded_and_not_reset() {
    let mut made = marked("here", "m");
    if let Ownership::Owner(owner) = &mut made {
        owner.initialized = true;
    }
    let mut answer = seen(made);
    answer.authority = Some("sha256:ca".into());
    let proof = InitProof::of_host("here", Some("sha256:ca"), &answer).expect("a proof");
    for (change, reason) in [(claim("m", false), "MachineGone"), (json!({}), "Orphaned")] {
        let contact = Contact::Seen(Box::new(answer.clone()));
        let mut found = of(Consumer::Missing, observed(&change, contact));
        found.guards = Some("a".into());
        found.unrecorded = Some(proof.clone());
        let plan = plan(&found, at(0));
        let record = Action::RecordInitialized(proof.clone());
        assert_eq!(plan.actions, [record], "{reason}");
        assert_eq!(finding(&plan, "Available").reason(), reason);
    }
}

#[test]
fn a_claim_whose_machine_is_gone_says_how_to_get_the_host_back() {
    let mut observed = observed(&claim("m", false), Contact::NotAsked);
    observed.consumer = Consumer::Missing;
    let says = ["Machine w-0", "patch host h0", "\"releasing\":true"];
    expect(
        "gone",
        &plan(&observed, at(0)),
        State::Claimed,
        &[],
        "MachineGone",
        &says,
    );
}
