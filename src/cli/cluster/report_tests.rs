use super::super::fixture::{CP0, CP1, GONE, known, turn};
use super::super::wish::Wish;
use super::*;

fn at(seconds: i64) -> Timestamp {
    // a minute after what the fixture says
    let said: Timestamp = "2026-11-29T08:00:00Z".parse().expect("a time");
    Timestamp::from_second(said.as_second() + seconds).expect("a time")
}

fn page(known: &Known) -> String {
    all(known, at(60)).join("\n")
}

#[test]
fn two_holders_are_shown_with_their_hosts_and_what_comes_of_each_choice() {
    let two = known().turns(&turn(CP0, "init"), &turn(CP1, "init"));
    insta::assert_snapshot!("two_holders", page(&two.begun(CP0)));
}

#[test]
fn two_records_are_shown_with_what_overrules_what_speaks_against_each() {
    let two = known().recorded(CP0, CP1).begun(CP0).serving(CP1);
    insta::assert_snapshot!("two_records", page(&two.silent(CP0)));
}

#[test]
fn the_only_correction_that_nothing_speaks_against_is_named() {
    let resolve = "tatara cluster resolve a -n team";
    for (case, known, expected) in [
        (
            "on the Secret alone",
            known().recorded(CP0, ""),
            format!("{resolve} --made-by cp-0"),
        ),
        (
            "of one that exists no more",
            known().recorded(GONE, ""),
            format!("{resolve} --made-by-uid {GONE}"),
        ),
        (
            "unreadable, of a later change",
            known().turns("rubbish", "").recorded(CP0, CP0).serving(CP0),
            format!("{resolve} --return-turn"),
        ),
        (
            "lost",
            known().turns(&turn(CP1, "join"), "").serving(CP0),
            format!("{resolve} --made-by cp-0"),
        ),
    ] {
        let page = page(&known);
        let mut lines = page.lines();
        lines.find(|line| *line == "Nothing that objects show speaks against:");
        assert_eq!(
            lines.next(),
            Some(format!("  {expected}").as_str()),
            "{case}: {page}"
        );
        let last = lines.next().unwrap_or_default();
        assert!(last.starts_with("If you are not sure"), "{case}: {page}");
    }
}

#[test]
fn where_nothing_is_in_doubt_nothing_is_offered() {
    let well = known().recorded(CP0, CP0).serving(CP0).serving(CP1);
    let page = page(&well);
    assert!(
        page.contains("Cluster and CA Secret do not contradict each other"),
        "{page}"
    );
    assert!(!page.contains("What may be done"), "{page}");
    let mut hidden = known();
    hidden.secret = CaSecret::Hidden("no".into());
    let page = super::tests::page(&hidden.begun(CP1));
    assert!(page.contains("you may not read it"), "{page}");
    assert!(page.starts_with("Cluster team/a: not judged"), "{page}");
    assert!(!page.contains("What may be done"), "{page}");
}

#[test]
fn who_makes_two_control_planes_was_told_in_plain_words() {
    let lost = known().recorded(CP0, "");
    let unread = known().turns("rubbish", "");
    for (known, wish) in [
        (lost, Wish::MadeBy(CP0.into())),
        (unread, Wish::ReturnUnreadable),
    ] {
        let told = consequences(&known, &wish).join(". ");
        let parts = [
            "Cluster a has two control planes then",
            "cannot be made one again",
        ];
        for part in parts {
            assert!(told.contains(part), "{told}");
        }
    }
}
