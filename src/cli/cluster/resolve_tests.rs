use super::super::fixture::{CP0, CP1, GONE, host, known, turn};
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

const MADE_TWICE: &str = "the host of this Machine (uid x) says that kubeadm init succeeded there, but the Machine with UID y is recorded";
const OTHER_CA: &str = "kubeadm init succeeded on the host of this Machine with another CA than";

/// What is expected of a correction.
enum Is {
    /// Nothing speaks against it.
    Free,
    /// It is refused, whatever a person says; a part of why.
    Refused(&'static str),
    /// These parts of what speaks against it, one for each.
    Shown(&'static [&'static str]),
}
use Is::{Free, Refused, Shown};

fn made_by(uid: &str) -> Wish {
    Wish::MadeBy(uid.into())
}

fn return_of(uid: &str) -> Wish {
    Wish::ReturnOf(uid.into())
}

#[track_caller]
fn expect(table: Vec<(&str, Known, Wish, Is)>) {
    for (case, known, wish, expected) in table {
        let found = objection(&known, &wish);
        match (&expected, &found) {
            (Free, None) => (),
            (Refused(part), Some(Objection::Refused(why))) => {
                assert!(why.contains(part), "{case}: {why}");
            }
            (Shown(parts), Some(Objection::Shown(all))) => {
                assert_eq!(all.len(), parts.len(), "{case}: {all:#?}");
                for (part, speaks) in parts.iter().zip(all) {
                    assert!(speaks.why.contains(part), "{case}: {}", speaks.why);
                }
            }
            _ => panic!("{case}: {found:#?}"),
        }
    }
}

fn two_holders() -> Known {
    known().turns(&turn(CP0, "init"), &turn(CP1, "init"))
}

#[test]
fn one_of_two_loses_the_turn_only_where_nothing_was_begun_for_it() {
    let gone = || known().turns(&turn(GONE, "init"), &turn(CP1, "init"));
    let mut left = gone();
    left.hosts.push(host(GONE, true));
    let join = known().turns(&turn(CP0, "init"), &turn(CP0, "join"));
    expect(vec![
        ("not begun", two_holders(), return_of(CP1), Free),
        (
            "the other is begun",
            two_holders().begun(CP0),
            return_of(CP1),
            Free,
        ),
        (
            "not begun, as is recorded, and silent",
            two_holders().silent(CP1),
            return_of(CP1),
            Shown(&[
                "the records may be old, as after a restore, and its Host h-1 does not answer",
            ]),
        ),
        (
            "not begun, and without a place",
            two_holders().without_host(CP1),
            return_of(CP1),
            Free,
        ),
        (
            "begun, and answers",
            two_holders().begun(CP1),
            return_of(CP1),
            Shown(&["kubeadm was begun for it, and its Host h-1 answers"]),
        ),
        (
            "begun, and silent",
            two_holders().begun(CP1).silent(CP1),
            return_of(CP1),
            Shown(&["its Host h-1 does not answer"]),
        ),
        (
            "begun, without a Host",
            two_holders().begun(CP1).without_host(CP1),
            return_of(CP1),
            Shown(&["no Host has its claim or its marker"]),
        ),
        (
            "its host has a control plane",
            two_holders().marked(CP1),
            return_of(CP1),
            Shown(&["kubeadm init succeeded on the host of Machine cp-1"]),
        ),
        (
            "it does not exist, its Host does",
            left,
            return_of(GONE),
            Shown(&["The message of Host h-9 says how it is reset"]),
        ),
        (
            "nothing of it exists",
            gone(),
            return_of(GONE),
            Shown(&["which proves nothing"]),
        ),
        (
            "what the Secret says stays",
            join.begun(CP0),
            return_of(CP0),
            Free,
        ),
        (
            "no second holder",
            known().turns("", "rubbish"),
            return_of(CP1),
            Refused("one of two holders"),
        ),
    ]);
}

#[test]
fn a_turn_that_cannot_be_read_goes_where_one_machine_at_most_may_have_had_it() {
    let unread = || known().turns("rubbish", "");
    let mut left = unread().begun(CP0);
    left.hosts.push(host(GONE, true));
    let beside = known().turns("rubbish", &turn(CP0, "init"));
    let unreadable = || Wish::ReturnUnreadable;
    expect(vec![
        ("nothing was begun", unread(), unreadable(), Free),
        ("of one", unread().begun(CP0), unreadable(), Free),
        (
            "of two",
            unread().begun(CP0).begun(CP1),
            unreadable(),
            Shown(&["Machine cp-0", "Machine cp-1"]),
        ),
        (
            "one exists no more",
            left,
            unreadable(),
            Shown(&["Machine cp-0", "Machine cp-9 (uid 9"]),
        ),
        (
            "the other names one",
            beside.clone().begun(CP0),
            unreadable(),
            Free,
        ),
        (
            "the other names one, another was begun",
            beside.begun(CP1),
            unreadable(),
            Shown(&["Machine cp-1"]),
        ),
        (
            "of a later change",
            known()
                .turns("rubbish", "")
                .recorded(CP0, CP0)
                .serving(CP0)
                .serving(CP1),
            unreadable(),
            Free,
        ),
        (
            "none is unreadable",
            two_holders(),
            unreadable(),
            Refused("no turn is unreadable"),
        ),
        (
            "the records come first",
            known().turns("rubbish", "").recorded(CP0, CP1),
            unreadable(),
            Refused("the records are resolved first"),
        ),
    ]);
}

#[test]
fn nothing_is_written_where_nothing_is_in_doubt() {
    let well = || known().recorded(CP0, CP0).serving(CP0).serving(CP1);
    let mut deleted = known().recorded(CP0, CP1);
    deleted.cluster.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    let mut hidden = known();
    hidden.secret = CaSecret::Hidden("no".into());
    let mut missing = known();
    missing.secret = CaSecret::Missing;
    expect(vec![
        (
            "well",
            well(),
            made_by(CP1),
            Refused("nothing is to be resolved"),
        ),
        (
            "well",
            well(),
            Wish::ReturnUnreadable,
            Refused("tatara describe cluster a -n team"),
        ),
        (
            "one runs kubeadm init",
            known()
                .turns(&turn(CP0, "init"), &turn(CP0, "init"))
                .begun(CP0),
            made_by(CP0),
            Refused("nothing is to be resolved"),
        ),
        (
            "reported, and not seen",
            well().saying(CP1, "the marker on its host names Cluster team/b"),
            made_by(CP1),
            Refused("do what Machine cp-1 says: ControlPlaneInDoubt: the marker"),
        ),
        (
            "recorded already",
            known().recorded(CP0, CP0).saying(CP1, MADE_TWICE),
            made_by(CP0),
            Refused("both have that record already"),
        ),
        (
            "another is recorded",
            known().turns("rubbish", "").recorded(CP0, CP0).begun(CP1),
            made_by(CP1),
            Refused("another Machine is recorded"),
        ),
        (
            "its Cluster goes",
            deleted,
            made_by(CP1),
            Refused("it is being deleted"),
        ),
        (
            "no Secret",
            missing,
            made_by(CP1),
            Refused("does not exist"),
        ),
        (
            "a Secret that is not shown",
            hidden,
            made_by(CP1),
            Refused("--clusterrole=edit"),
        ),
    ]);
}

#[path = "resolve_record_tests.rs"]
mod records;
