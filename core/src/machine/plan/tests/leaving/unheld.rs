//! Leaving without the claim that it took, or with one that is in doubt.

use super::*;
use crate::api::conditions::Reason;

/// What it wrote down and did not claim, as far as anybody knows: the same stands on it after a
/// restore to before the claim, while its node may run there.
#[test]
fn a_machine_leaves_the_host_that_it_chose_only_once_that_host_shows_nothing_of_it() {
    let silent = Unheld::Asked(Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no answer".into(),
    });
    let waits = plan(&lost(worker(), silent), at(0));
    let says = ["no answer", "never moves to another host"];
    expect(
        "silent",
        &waits,
        &[],
        ("InfrastructureReady", "HostLost", &says),
    );
    let empty = Unheld::Asked(Contact::Seen(Box::new(unmarked(Vec::new()))));
    let moves = plan(&lost(worker(), empty), at(0));
    let proof = Proof::of_host(&marker("", ME), false, &unmarked(Vec::new())).expect("nothing");
    let another = Action::Acquire(Acquire::Place {
        name: "host-b".into(),
        instead: Clean::from(&proof),
    });
    expect(
        "empty",
        &moves,
        &[another],
        ("InfrastructureReady", "Claiming", &[]),
    );
}

#[test]
fn a_machine_without_its_claim_does_nothing_and_says_how_it_gets_it_back() {
    let asked = |seen| Unheld::Asked(says(seen));
    let silent = Unheld::Asked(Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no answer".into(),
    });
    let marked = || {
        let mut seen = unmarked(Vec::new());
        seen.owner = own(&worker());
        seen
    };
    let with_turn = || with_cluster(control_plane(), |c| c.turn = Some(turn_of(ME)));
    let cases = [
        (
            "its Host is deleted",
            lost(running(worker()), Unheld::Missing),
            "does not exist",
        ),
        (
            "its Host is silent",
            lost(running(worker()), silent),
            "no answer",
        ),
        (
            "its marker is there",
            lost(running(worker()), asked(marked())),
            "was not reset",
        ),
        (
            "its disk is lost",
            lost(running(worker()), asked(unmarked(Vec::new()))),
            "disk was replaced",
        ),
        (
            "in init",
            lost(with_turn(), Unheld::Missing),
            "does not exist",
        ),
    ];
    let mut unrecorded = without_place(running(worker()));
    unrecorded.chosen = None;
    let cases = cases
        .into_iter()
        .chain([("no record", unrecorded, "not recorded")]);
    for (case, observed, why) in cases {
        // the command ends with its patch, so that it can be pasted
        let patch = [
            "kubectl -n default patch host ",
            "\"consumerRef\":{",
            "}}}'; this Machine then continues",
        ];
        let parts = [&[why][..], &patch, &["tatara machine declare-gone "]].concat();
        let says = ("InfrastructureReady", "HostLost", &parts[..]);
        expect(case, &plan(&observed, at(0)), &[], says);
        let says = ("Deleting", "NotReset", &parts[..]);
        expect(case, &plan(&deleting(observed), at(1)), &[], says);
    }
}

fn without_place(mut observed: Observed) -> Observed {
    observed.placement = Placement::None(Ok("host-b".into()));
    observed
}

#[test]
fn a_machine_whose_host_was_reset_under_another_claim_goes() {
    let asked = Unheld::Asked(says(reset_of(ME)));
    let observed = deleting(lost(running(worker()), asked));
    assert_eq!(plan(&observed, at(1)).actions, over(&by_reset()));
}

#[test]
fn the_users_word_ends_a_machine_whose_host_cannot_say_anything() {
    let word =
        |uid: &str| json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): uid } } });
    let gone = |observed: Observed, uid: &str| plan(&deleting(edited(observed, &word(uid))), at(1));
    let proof = Proof::of_user(
        ME,
        HostIsGone {
            value: ME,
            counts: true,
        },
    )
    .expect("counts");
    let lost_host = lost(running(worker()), Unheld::Missing);
    assert_eq!(gone(lost_host.clone(), ME).actions, over(&proof));
    let says = ("Deleting", "NotReset", &[][..]);
    expect("of another", &gone(lost_host, OTHER), &[], says);
    // a Host that is there is let go first, so that it is reset when it answers
    assert_eq!(
        gone(running(worker()), ME).actions,
        [Action::Release(Release::Now)]
    );
    assert_eq!(gone(released(running(worker())), ME).actions, over(&proof));
    let turn = with_cluster(control_plane(), |c| c.turn = Some(turn_of(ME)));
    let ended = [turn_by(&proof), finalizer_by(&proof)];
    assert_eq!(gone(lost(turn, Unheld::Missing), ME).actions, ended);
}

#[test]
fn several_hosts_with_its_claim_stop_everything_about_a_machine() {
    let twice = |mut observed: Observed| {
        observed.claims = vec!["host-a".into(), "host-b".into()];
        observed
    };
    let parts = ["host-a, host-b", "Delete all but"];
    for observed in [worker(), running(worker()), prepared(control_plane(), &[])] {
        let says = ("InfrastructureReady", "ClaimedTwice", &parts[..]);
        expect("stays", &plan(&twice(observed.clone()), at(0)), &[], says);
        let says = ("Deleting", "ClaimedTwice", &parts[..]);
        expect("goes", &plan(&twice(deleting(observed)), at(0)), &[], says);
    }
}

#[test]
fn a_claim_that_was_moved_is_not_followed() {
    for observed in [worker(), running(worker()), prepared(control_plane(), &[])] {
        let mut moved = on_host(observed);
        moved.chosen = Some(HostChoice {
            host: "host-b".into(),
            now: Unheld::Held,
        });
        let parts = [
            "Host host-a has the claim",
            "the server of Host host-b has its marker",
            "annotate --overwrite machine",
            "restore the claim of host-b: kubectl -n default patch host host-b",
        ];
        let says = ("InfrastructureReady", "ClaimMoved", &parts[..]);
        expect("stays", &plan(&moved, at(0)), &[], says);
        let says = ("Deleting", "ClaimMoved", &parts[..]);
        expect("goes", &plan(&deleting(moved), at(0)), &[], says);
    }
}

fn on_host(mut observed: Observed) -> Observed {
    if matches!(observed.placement, Placement::None(_)) {
        observed.placement = held(says(unmarked(Vec::new())));
    }
    observed
}

#[test]
fn nothing_is_begun_again_on_a_host_that_lost_its_disk() {
    let turn = with_cluster(control_plane(), |c| c.turn = Some(turn_of(ME)));
    let blank = on(turn, Ownership::Nobody, Vec::new());
    let says = ("HostClean", "MarkerMissing", &["disk was replaced"][..]);
    expect("in init", &plan(&blank, at(0)), &[], says);
}

#[test]
fn the_recorded_control_plane_is_guarded_whatever_its_spec_says_now() {
    let stripped = json!({ "spec": { "versions": { "controlPlane": null } } });
    let made = with_cluster(deleting(running(control_plane())), |cluster| {
        cluster.initialized_by = Some(ME.into());
    });
    let says = ("Deleting", "LastControlPlane", &[][..]);
    let edited_record = with_cluster(made.clone(), |cluster| {
        cluster.initialized_by = Some(OTHER.into());
        cluster.initialized_by_secret = Some(ME.into());
    });
    let edited_record = plan(&edited_record, at(1_000_000));
    expect(
        "the record on the Cluster was edited",
        &edited_record,
        &[],
        says,
    );
    let stripped = edited(made, &stripped);
    expect("stripped", &plan(&stripped, at(1_000_000)), &[], says);
    let with_workers = with_cluster(stripped, |cluster| cluster.deleting = true);
    let says = ("Deleting", "WaitingForWorkers", &[][..]);
    expect("workers left", &plan(&with_workers, at(1)), &[], says);
}

#[test]
fn a_provider_id_of_another_machine_is_not_believed() {
    let id = json!({ "spec": { "providerID": format!("tatara://ssh/{OTHER}") } });
    let parts = [OTHER, "without spec.providerID"];
    let says = ("InfrastructureReady", "ProviderIDNotOwn", &parts[..]);
    expect("copied", &plan(&edited(worker(), &id), at(0)), &[], says);
}
