use super::super::members::etcd_at;
use super::*;
use crate::api::names::ANNOTATION_HOST_IS_GONE;
use crate::machine::live::etcd::{
    Removal, end_of_refused, is_asked_before_release, may_join, may_release, may_remove,
    may_return, was_moved, was_removed,
};
use crate::machine::live::turn::Outcome;

const OWN: &str = "192.0.2.11";
const OTHERS: [&str; 3] = ["192.0.2.21", "192.0.2.22", "192.0.2.23"];

/// A control plane beside others, whose etcd may have a member of it.
fn beside() -> Observed {
    running(control_plane())
}

fn silence() -> Result<&'static Members, String> {
    Err("no answer".into())
}

fn with_own() -> Arc<Members> {
    etcd_at(&[OWN, OTHERS[0], OTHERS[1]])
}

fn without_own() -> Arc<Members> {
    etcd_at(&OTHERS)
}

/// One of three does not serve.
fn in_trouble(members: &Arc<Members>, which: &str) -> Arc<Members> {
    let mut members = (**members).clone();
    let id = members.at(which).expect("a member").id;
    members.health.remove(&id);
    Arc::new(members)
}

#[test]
fn a_control_plane_joins_where_etcd_takes_one_more_and_has_none_of_it() {
    let well = without_own();
    let ill = in_trouble(&well, OTHERS[2]);
    let before = with_own();
    for (case, members, expected) in [
        ("well", Ok(&*well), None),
        ("silent", silence(), Some(Reason::EtcdUnreachable)),
        ("listed", Ok(&*before), Some(Reason::MemberChanging)),
    ] {
        let may = may_join(&beside(), members);
        assert_eq!(reason(may), expected, "{case}");
    }
    assert!(
        may_join(&beside(), Ok(&*ill)).is_err(),
        "one does not serve"
    );
}

#[test]
fn a_turn_to_join_that_the_record_refuses_ends_by_the_list_alone() {
    let over = end_of_refused(&beside(), &without_own()).expect("not listed");
    assert!(over.is_about(ME));
    let mut members = (*with_own()).clone();
    members.list[0].is_learner = true;
    assert_eq!(end_of_refused(&beside(), &members), None, "on its way");
}

#[test]
fn a_member_is_removed_where_etcd_can_do_without_it_and_once() {
    let well = with_own();
    let own = well.at(OWN).expect("the member").clone();
    let ill = in_trouble(&well, OTHERS[0]);
    let gone = without_own();
    let mut gone = (*gone).clone();
    gone.list.retain(|member| member.id != own.id);
    assert_eq!(
        may_remove(&beside(), &own, Ok(&*well)),
        Ok(Removal::Begins(&well))
    );
    assert_eq!(may_remove(&beside(), &own, Ok(&gone)), Ok(Removal::IsOver));
    let why = reason(may_remove(&beside(), &own, silence()));
    assert_eq!(why, Some(Reason::EtcdUnreachable));
    let refused = may_remove(&beside(), &own, Ok(&*ill));
    assert!(refused.is_err(), "the quorum would be lost: {refused:?}");
}

#[test]
fn a_removal_needs_the_leadership_moved_and_the_answer_of_etcd() {
    let members = with_own();
    let own = members.at(OWN).expect("the member");
    let no = || Err("no".to_owned());
    assert_eq!(was_moved(&beside(), Ok(())), Ok(()));
    let why = reason(was_moved(&beside(), no()));
    assert_eq!(why, Some(Reason::MemberChanging));
    for (case, answer, expected) in [
        ("removed", Ok(true), None),
        ("later", Ok(false), Some(Reason::MemberChanging)),
        (
            "silent",
            Err("no".to_owned()),
            Some(Reason::EtcdUnreachable),
        ),
    ] {
        let removed = was_removed(&beside(), own, answer);
        assert_eq!(reason(removed), expected, "{case}");
    }
}

#[test]
fn a_control_plane_is_released_once_etcd_lists_it_no_more() {
    let (with, without) = (with_own(), without_own());
    for (case, members, expected) in [
        ("gone", Ok(&*without), None),
        ("listed", Ok(&*with), Some(Reason::MemberChanging)),
        ("silent", silence(), Some(Reason::EtcdUnreachable)),
    ] {
        let may = may_release(&beside(), members);
        assert_eq!(reason(may), expected, "{case}");
    }
    assert!(is_asked_before_release(&beside()));
    assert!(!is_asked_before_release(&running(worker())), "a worker");
    let goes = with_cluster(beside(), |cluster| cluster.deleting = true);
    assert!(!is_asked_before_release(&goes), "the Cluster goes");
}

#[test]
fn a_control_plane_of_which_no_record_tells_is_looked_for_in_the_list() {
    let unknown = |contact: Contact| {
        let mut observed = with_cluster(deleted(control_plane(), at(0)), |cluster| {
            cluster.initialized_by = Some(OTHER.into());
            cluster.etcd = Lookup::Known(without_own());
        });
        observed.placement = held(contact);
        observed
    };
    let silent = unknown(Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no route to host".into(),
    });
    assert!(!membership::is_asked(&silent));
    assert!(is_asked_before_release(&silent));
    let unread = may_release(&silent, silence()).expect_err("no list");
    assert!(unread.message().contains("tatara machine declare-gone "));
    let seen = unknown(says(unmarked(Vec::new())));
    assert!(!is_asked_before_release(&seen), "its host shows no join");
    let listed = with_cluster(silent.clone(), |cluster| {
        cluster.etcd = Lookup::Known(with_own());
    });
    assert!(membership::is_asked(&listed), "its member is removed first");
    let confirmed = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): ME } } });
    let gone = edited(silent, &confirmed);
    assert!(!is_asked_before_release(&gone), "somebody has the proof");
}

#[test]
fn what_a_machine_waits_for_is_said_of_what_it_does() {
    let leaves = deleted(beside(), at(0));
    for (observed, condition) in [(beside(), "BootstrapReady"), (leaves, "Deleting")] {
        let why = may_release(&observed, silence()).expect_err("no list");
        assert_eq!(why.condition, condition);
    }
}

#[test]
fn a_turn_is_returned_on_the_proof_that_it_was_planned_on() {
    let (with, without) = (with_own(), without_own());
    let proof = beside().member_proof(&with).expect("it votes");
    let may = |members: Result<&Members, String>| may_return(&beside(), &proof, members);
    assert_eq!(may(Ok(&*with)), Outcome::Yes);
    assert_eq!(may(Ok(&*without)), Outcome::Changed, "it is listed no more");
    let unread = may(silence());
    assert!(
        matches!(&unread, Outcome::NotYet(why) if why.reason() == Reason::EtcdUnreachable),
        "{unread:?}"
    );
}
