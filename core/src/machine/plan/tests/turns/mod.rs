//! The turn on Cluster and CA Secret: what is written next in every case, and that no order of
//! writes, crashes, edits and restores of one of the two makes two Machines run `kubeadm init`.

mod orders;

use crate::api::conditions::ConditionType;
use proptest::prelude::*;

use super::*;
use crate::control_plane::turn::{
    Both, Doubt, Holder, Marks, Side, Step, give_back, record, record_found, settle, take,
};

fn holder(of: &str) -> Holder {
    match of {
        "nobody" => Holder::Nobody,
        "rubbish" => Holder::Unreadable("rubbish".into()),
        uid => Holder::Of(turn_of(uid)),
    }
}

fn both(secret: &str, cluster: &str) -> Both {
    let marks = |turn| Marks {
        turn: holder(turn),
        initialized: None,
    };
    Both {
        secret: marks(secret),
        cluster: marks(cluster),
        no_secret: false,
    }
}

/// `S: ME` writes the turn of ME on the Secret, `C: nobody` takes it off the Cluster.
fn said(step: &Step) -> String {
    match step {
        Step::Write(side, marks) => {
            let side = if *side == Side::Secret { "S" } else { "C" };
            let turn = match &marks.turn {
                Holder::Of(turn) => turn.machine.clone(),
                Holder::Nobody => "nobody".into(),
                Holder::Unreadable(_) => panic!("rubbish is written"),
            };
            format!("{side}: {turn}")
        }
        Step::Done => "done".into(),
        Step::Blocked(turn) => format!("blocked by {}", turn.machine),
        Step::Initialized(by) => format!("made by {by}"),
        Step::NotInitialized => "not made".into(),
        Step::InDoubt(Doubt::TwoHolders(..)) => "two holders".into(),
        Step::InDoubt(Doubt::Unreadable(..)) => "unreadable".into(),
        Step::InDoubt(_) => "record in doubt".into(),
        Step::NoSecret => "no Secret".into(),
        Step::NotHeld => "not held".into(),
    }
}

#[test]
fn every_case_has_one_next_write_or_an_answer() {
    let me = format!("S: {ME}");
    let repaired = format!("C: {ME}");
    let copied = format!("S: {OTHER}");
    let other = format!("blocked by {OTHER}");
    // Secret, Cluster → taking, giving back, settling
    let cases = [
        ("nobody", "nobody", &*me, "done", "done"),
        ("nobody", ME, &me, &me, &me),
        ("nobody", OTHER, &copied, "done", &copied),
        ("nobody", "rubbish", "unreadable", "done", "done"),
        (ME, "nobody", &repaired, "S: nobody", "done"),
        (ME, ME, "done", "C: nobody", "done"),
        (ME, OTHER, "two holders", "S: nobody", "done"),
        (ME, "rubbish", "unreadable", "S: nobody", "done"),
        (OTHER, "nobody", &other, "done", "done"),
        (OTHER, ME, "two holders", "C: nobody", "done"),
        (OTHER, OTHER, &other, "done", "done"),
        (OTHER, "rubbish", "unreadable", "done", "done"),
        ("rubbish", "nobody", "unreadable", "done", "done"),
        ("rubbish", ME, "unreadable", "C: nobody", "done"),
        ("rubbish", OTHER, "unreadable", "done", "done"),
        ("rubbish", "rubbish", "unreadable", "done", "done"),
    ];
    for (secret, cluster, taking, giving_back, settling) in cases {
        let both = both(secret, cluster);
        let case = format!("Secret {secret}, Cluster {cluster}");
        assert_eq!(said(&take(&both, &turn_of(ME))), taking, "taking: {case}");
        assert_eq!(
            said(&give_back(&both, ME)),
            giving_back,
            "giving back: {case}"
        );
        assert_eq!(said(&settle(&both)), settling, "settling: {case}");
        let without = Both {
            secret: Marks::default(),
            no_secret: true,
            ..both
        };
        assert_eq!(said(&take(&without, &turn_of(ME))), "no Secret", "{case}");
        assert_eq!(settle(&without), Step::Done, "{case}");
        let clears = if cluster == ME { "C: nobody" } else { "done" };
        assert_eq!(said(&give_back(&without, ME)), clears, "no Secret: {case}");
    }
}

#[test]
fn the_record_is_kept_on_both_ends_the_turn_and_contradictions_stop_everything() {
    let with = |mut both: Both, secret: Option<&str>, cluster: Option<&str>| {
        both.secret.initialized = secret.map(str::to_owned);
        both.cluster.initialized = cluster.map(str::to_owned);
        both
    };
    let take_me = |both: &Both| take(both, &turn_of(ME));
    // Recording: Secret, Cluster and turn, Secret.
    let mut now = both(ME, ME);
    let mut steps = Vec::new();
    while let Step::Write(side, marks) = record(&now, ME) {
        assert_ne!(said(&take(&now, &turn_of(OTHER))), "done", "{now:?}");
        steps.push(side);
        match side {
            Side::Secret => now.secret = marks,
            Side::Cluster => now.cluster = marks,
        }
    }
    assert_eq!(steps, [Side::Secret, Side::Cluster, Side::Secret]);
    assert_eq!(now, with(both("nobody", "nobody"), Some(ME), Some(ME)));
    assert_eq!(take_me(&now), Step::Initialized(ME.into()));
    // What a crash left is completed without the Machine.
    let left = with(both(ME, "nobody"), Some(ME), Some(ME));
    assert_eq!(said(&settle(&left)), "S: nobody");
    let only_cluster = with(both("nobody", "nobody"), None, Some(ME));
    assert!(
        matches!(settle(&only_cluster), Step::Write(Side::Secret, marks) if marks.initialized.as_deref() == Some(ME))
    );
    // The turn of another is not ended.
    let others = with(both(OTHER, OTHER), Some(ME), Some(ME));
    assert_eq!(record(&others, ME), Step::Done);
    // Nor is a later one of the same Machine, whose record was lost and comes again.
    let mut updating = with(both(ME, ME), Some(ME), Some(ME));
    for marks in [&mut updating.secret, &mut updating.cluster] {
        marks.turn = Holder::Of(Turn {
            action: TurnAction::Upgrade,
            ..turn_of(ME)
        });
    }
    assert_eq!(record(&updating, ME), Step::Done);
    let lost = with(updating, Some(ME), None);
    assert!(
        matches!(record(&lost, ME), Step::Write(Side::Cluster, marks) if marks.has_turn_of(ME))
    );
    for (secret, cluster) in [
        (Some(OTHER), None),
        (None, Some(OTHER)),
        (Some(ME), Some(OTHER)),
    ] {
        let both = with(both(ME, ME), secret, cluster);
        assert_eq!(record(&both, ME), Step::Initialized(OTHER.into()));
    }
    let restored = with(both("nobody", "nobody"), Some(OTHER), None);
    assert_eq!(
        take_me(&restored),
        Step::InDoubt(Doubt::RecordOnSecretOnly(OTHER.into()))
    );
    assert_eq!(settle(&restored), Step::Done, "a person decides");
    let two = with(both("nobody", "nobody"), Some(OTHER), Some(ME));
    assert_eq!(
        take_me(&two),
        Step::InDoubt(Doubt::TwoRecords(OTHER.into(), ME.into()))
    );
}

#[test]
fn the_words_of_a_doubt_name_both_holders_and_the_commands() {
    use super::super::doubt::ClusterName;
    let cluster = ClusterName {
        namespace: "team",
        name: "a",
    };
    let says = |doubt: Doubt, reason: &str, parts: &[&str]| {
        let finding = doubt.finding(ConditionType::BootstrapReady, cluster);
        assert_eq!(finding.reason(), reason);
        for part in parts {
            assert!(
                finding.message().contains(part),
                "{part} in: {}",
                finding.message()
            );
        }
    };
    says(
        Doubt::TwoHolders(turn_of(ME), turn_of(OTHER)),
        "TurnInDoubt",
        &[
            ME,
            OTHER,
            "Secret a-ca",
            "Cluster a",
            "tatara cluster resolve a -n team",
            "kubectl -n team annotate cluster a tatara.dev/host-is-gone=UID",
        ],
    );
    says(
        Doubt::Unreadable(Side::Secret, "rubbish".into()),
        "TurnInDoubt",
        &[
            "\"rubbish\"",
            "of secret a-ca is",
            "tatara cluster resolve a -n team shows what is recorded",
        ],
    );
    says(
        Doubt::Unreadable(Side::Cluster, "rubbish".into()),
        "TurnInDoubt",
        &["of cluster a is", "tatara cluster resolve a -n team"],
    );
    says(
        Doubt::RecordOnSecretOnly(ME.into()),
        "ControlPlaneInDoubt",
        &[
            "also if the host of that Machine is off: tatara cluster resolve a -n team --made-by-uid",
            "delete the Cluster, which resets all of its hosts, and apply it again",
        ],
    );
}

#[test]
fn what_a_host_proves_is_recorded_unless_another_machine_may_run_init() {
    let end = |mut both: Both| loop {
        match record_found(&both, OTHER) {
            Step::Write(Side::Secret, marks) => both.secret = marks,
            Step::Write(Side::Cluster, marks) => both.cluster = marks,
            step => return (said(&step), both),
        }
    };
    for (secret, cluster, says) in [
        ("nobody", "nobody", "done"),
        (OTHER, OTHER, "done"),
        (OTHER, "nobody", "done"),
        ("nobody", OTHER, "done"),
        (ME, ME, &*format!("blocked by {ME}")),
        ("nobody", ME, &format!("blocked by {ME}")),
        (OTHER, ME, "two holders"),
        ("rubbish", "nobody", "unreadable"),
    ] {
        let case = format!("{secret}/{cluster}");
        let (step, both) = end(both(secret, cluster));
        assert_eq!(step, says, "{case}");
        let record = (says == "done").then(|| OTHER.to_owned());
        for marks in [&both.secret, &both.cluster] {
            assert_eq!(marks.initialized, record, "{case}");
            assert!(record.is_none() || marks.turn == Holder::Nobody, "{case}");
        }
    }
    let mut restored = both("nobody", "nobody");
    restored.secret.initialized = Some(OTHER.into());
    let (step, both) = end(restored.clone());
    assert_eq!(
        (&*step, both.cluster.initialized.as_deref()),
        ("done", Some(OTHER))
    );
    restored.secret.initialized = Some(ME.into());
    assert_eq!(end(restored).0, format!("made by {ME}"), "another made one");
}

#[test]
fn a_later_turn_is_taken_in_a_control_plane_that_exists_and_the_secret_decides() {
    let later = |uid: &str, action| {
        Holder::Of(Turn {
            action,
            ..turn_of(uid)
        })
    };
    let (join, leave) = (TurnAction::Join, TurnAction::Remove);
    let wanted = Turn {
        action: join,
        ..turn_of(ME)
    };
    let blocked = format!("blocked by {OTHER}");
    let (secret, cluster) = (format!("S: {ME}"), format!("C: {ME}"));
    let copied = format!("S: {OTHER}");
    let nobody = || Holder::Nobody;
    let unmade = both("nobody", "nobody");
    assert_eq!(said(&take(&unmade, &wanted)), "not made");
    // Secret, Cluster
    let cases = [
        (nobody(), nobody(), &*secret),
        (later(ME, join), nobody(), &cluster),
        (later(ME, join), later(ME, join), "done"),
        (later(ME, join), later(OTHER, join), &cluster),
        (later(OTHER, join), nobody(), &blocked),
        (later(OTHER, leave), later(ME, join), &blocked),
        (nobody(), later(OTHER, join), &copied),
        (nobody(), later(ME, join), &secret),
        // what it has for one action is its own for the next
        (later(ME, leave), later(ME, leave), &secret),
        // the turn of an init that is recorded is free
        (holder(OTHER), holder(OTHER), &secret),
        (holder(OTHER), later(OTHER, join), &secret),
    ];
    for (on_secret, on_cluster, expected) in cases {
        let mut both = both("nobody", "nobody");
        (both.secret.turn, both.cluster.turn) = (on_secret, on_cluster);
        both.secret.initialized = Some(OTHER.into());
        both.cluster.initialized = Some(OTHER.into());
        assert_eq!(said(&take(&both, &wanted)), expected, "{both:?}");
        let settled = settle(&both);
        let ends_later = matches!(&settled, Step::Write(_, marks) if marks.turn == Holder::Nobody)
            && both
                .holder()
                .is_some_and(|turn| turn.action != TurnAction::Init);
        assert!(!ends_later, "{both:?}: {settled:?}");
    }
}
