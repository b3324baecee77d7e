use super::super::fixture::{CP0, CP1, GONE, known, turn};
use super::super::known::{CaSecret, Known};
use super::super::resolve::{Objection, objection};
use super::*;

fn made_by(uid: &str) -> Wish {
    Wish::MadeBy(uid.into())
}

/// What is written one after another, and whether that is the manager's to write.
fn written(known: &Known, wish: &Wish) -> Vec<(Side, bool)> {
    let mut both = known.marks();
    let mut all = Vec::new();
    while let Some((side, to)) = next(&both, wish) {
        all.push((side, is_managers(of_side(&both, side), &to)));
        both = with(&both, side, to);
    }
    all
}

#[test]
fn a_record_goes_to_the_secret_first_and_a_turn_from_the_cluster_first() {
    let (secret, cluster) = (Side::Secret, Side::Cluster);
    for (case, known, wish, expected) in [
        (
            "lost",
            known(),
            made_by(CP0),
            vec![(secret, false), (cluster, false)],
        ),
        (
            "on one",
            known().recorded(CP0, ""),
            made_by(CP0),
            vec![(cluster, false)],
        ),
        (
            "two",
            known().recorded(CP0, CP1),
            made_by(CP0),
            vec![(cluster, true)],
        ),
        (
            "two",
            known().recorded(CP0, CP1),
            made_by(CP1),
            vec![(secret, true)],
        ),
        (
            "a third",
            known().recorded(CP0, CP0),
            made_by(CP1),
            vec![(secret, true), (cluster, true)],
        ),
        (
            "unreadable on both",
            known().turns("?", "{}"),
            Wish::ReturnUnreadable,
            vec![(cluster, false), (secret, false)],
        ),
        (
            "unreadable on one",
            known().turns("?", &turn(CP0, "init")),
            Wish::ReturnUnreadable,
            vec![(secret, false)],
        ),
    ] {
        assert_eq!(written(&known, &wish), expected, "{case}");
        assert_eq!(
            needs_manager(&known.marks(), &wish),
            expected.iter().any(|(_, is_managers)| *is_managers),
            "{case}"
        );
    }
}

/// A command that broke off between its two writes is repeated.
#[test]
fn what_is_half_written_is_completed_and_in_the_end_nothing_is_in_doubt() {
    for (case, known, wish) in [
        ("two", known().recorded(CP0, CP1).serving(CP1), made_by(CP1)),
        (
            "lost",
            known().turns(&turn(CP1, "join"), "").serving(CP0),
            made_by(CP0),
        ),
        (
            "lost, with its own turn",
            known()
                .turns(&turn(CP0, "init"), &turn(CP0, "init"))
                .serving(CP0)
                .begun(CP1),
            made_by(CP0),
        ),
        (
            "instead of another",
            known().recorded(GONE, "").serving(CP1),
            made_by(CP1),
        ),
        (
            "unreadable",
            known().turns("?", "?"),
            Wish::ReturnUnreadable,
        ),
    ] {
        let mut known = known;
        while let Some((side, to)) = next(&known.marks(), &wish) {
            let refused = objection(&known, &wish);
            assert!(
                !matches!(refused, Some(Objection::Refused(_))),
                "{case}: {refused:?}"
            );
            write(&mut known, side, &to);
        }
        assert_eq!(known.marks().doubt(), None, "{case}");
    }
}

fn write(known: &mut Known, side: Side, to: &Marks) {
    let annotations = match (&mut known.secret, side) {
        (CaSecret::Seen(metadata), Side::Secret) => &mut metadata.annotations,
        _ => &mut known.cluster.metadata.annotations,
    };
    let all = annotations.get_or_insert_default();
    if to.turn == Holder::Nobody {
        all.remove("tatara.dev/control-plane-turn");
    }
    if let Some(by) = &to.initialized {
        all.insert("tatara.dev/control-plane-initialized".into(), by.clone());
    }
}
