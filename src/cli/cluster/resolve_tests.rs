use super::super::fixture::{CP0, CP1, GONE, host, known, of, turn};
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tatara_core::api::Host;

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
fn a_turn_that_cannot_be_read_any_machine_may_have_had() {
    let unread = || known().turns("rubbish", "");
    let with = |host: Host| {
        let mut left = unread().begun(CP0);
        left.hosts.push(host);
        left
    };
    let orphan = |change: Value| {
        let mut orphan = host(GONE, false);
        orphan.spec.consumer_ref = None;
        let mut marker = json!({ "namespace": "team", "name": "cp-9", "uid": GONE });
        for (key, value) in change.as_object().expect("fields") {
            marker[key] = value.clone();
        }
        orphan.status.as_mut().expect("a status").marker = Some(of(marker));
        orphan
    };
    let two = ["Machine cp-0", "Machine cp-1"];
    let beside = known().turns("rubbish", &turn(CP0, "init"));
    for (case, known, expected) in [
        ("not started, by its own objects", unread(), &two[..]),
        ("of one", unread().begun(CP0), &two),
        ("silent", unread().silent(CP0), &two),
        ("without a place", unread().without_host(CP0), &two),
        (
            "one exists no more",
            with(host(GONE, true)),
            &["Machine cp-0", "Machine cp-1", "Machine cp-9 (uid 9"],
        ),
        (
            "the marker of an orphan that is silent, before it said of which Cluster",
            with(orphan(json!({}))),
            &["Machine cp-0", "Machine cp-1", "Machine cp-9 (uid 9"],
        ),
        (
            "the same, and its Cluster is known",
            with(orphan(json!({ "cluster": "a" }))),
            &["Machine cp-0", "Machine cp-1", "Machine cp-9 (uid 9"],
        ),
        (
            "an orphan of another Cluster",
            with(orphan(json!({ "cluster": "b", "initialized": true }))),
            &two,
        ),
        ("the other object names one", beside, &["Machine cp-1"]),
        (
            "of a later change",
            unread().recorded(CP0, CP0).serving(CP0).serving(CP1),
            &[],
        ),
    ] {
        let shown = match objection(&known, &Wish::ReturnUnreadable) {
            None => Vec::new(),
            Some(Objection::Shown(all)) => all,
            Some(Objection::Refused(why)) => panic!("{case}: {why}"),
        };
        assert_eq!(shown.len(), expected.len(), "{case}: {shown:#?}");
        for (part, speaks) in expected.iter().zip(shown) {
            assert!(speaks.why.starts_with(part), "{case}: {}", speaks.why);
        }
    }
}

#[test]
fn a_turn_that_can_be_read_stays() {
    expect(vec![
        (
            "none is unreadable",
            two_holders(),
            Wish::ReturnUnreadable,
            Refused("no turn is unreadable"),
        ),
        (
            "the records come first",
            known().turns("rubbish", "").recorded(CP0, CP1),
            Wish::ReturnUnreadable,
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
            "of another Cluster, by its owner",
            {
                let mut other = known().recorded(CP0, "");
                if let CaSecret::Seen(secret) = &mut other.secret {
                    let owner = json!([{ "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "name": "b", "uid": "b" }]);
                    secret.owner_references = Some(of(owner));
                }
                other
            },
            made_by(CP0),
            Refused("Secret a-ca is that of Cluster b"),
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
