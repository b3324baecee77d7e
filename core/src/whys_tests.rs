use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::api::conditions::ConditionType;

const CHILD: Child = Child {
    kind: "machine",
    namespace: "default",
    name: "w",
};

fn condition(type_: ConditionType, reason: Reason, message: &str) -> Condition {
    Condition {
        type_: type_.as_str().into(),
        status: "False".into(),
        reason: reason.as_str().into(),
        message: message.into(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }
}

/// What a child with one such condition and no finding has.
fn of_message(message: &str) -> ReportedWhy {
    let ready = condition(ConditionType::Ready, Reason::PrepareFailed, message);
    CHILD.whys(&[&ready], &[], &[]).remove(0)
}

#[test]
fn a_finding_is_divided_and_what_no_pass_found_out_about_stays_as_it_was() {
    let ready = condition(ConditionType::Ready, Reason::PrepareFailed, "old");
    let bootstrap = condition(ConditionType::BootstrapReady, Reason::PrepareFailed, "b");
    let conditions = [&ready, &bootstrap];
    let why = Why::new(Reason::PrepareFailed, "swap is on").remedied("swapoff -a");
    let found = why.finding(ConditionType::Ready);
    let first = CHILD.whys(&conditions, &[found], &[]);
    let parts = |why: &ReportedWhy| (why.type_.clone(), why.cause.clone(), why.remedy.clone());
    let of = |type_: &str, cause: &str, remedy: &str| (type_.into(), cause.into(), remedy.into());
    let expected = [
        of("Ready", "swap is on", "swapoff -a"),
        of("BootstrapReady", "b", ""),
    ];
    assert_eq!(first.iter().map(parts).collect::<Vec<_>>(), expected);
    assert_eq!(first[0].message(), "swap is on; swapoff -a");
    assert_eq!(CHILD.whys(&conditions, &[], &first), first);
    // not for another reason
    let other = condition(ConditionType::Ready, Reason::KubeadmJoinFailed, "new");
    let next = CHILD.whys(&[&other], &[], &first);
    assert_eq!(parts(&next[0]), of("Ready", "new", ""));
}

#[test]
fn what_is_on_its_way_or_told_already_is_not_among_them_and_they_are_few() {
    let joins = condition(ConditionType::Ready, Reason::KubeadmJoin, "1/2 join");
    let foreign = Condition {
        reason: "OfAnother".into(),
        ..joins.clone()
    };
    assert_eq!(CHILD.whys(&[&joins, &foreign], &[], &[]), []);
    let failed = |message| condition(ConditionType::Ready, Reason::PrepareFailed, message);
    let (one, two) = (failed("swap is on"), failed("swap is on"));
    assert_eq!(CHILD.whys(&[&one, &two], &[], &[]).len(), 1);
    let many: Vec<Condition> = ["a", "b", "c", "d", "e"].map(failed).into();
    let many: Vec<&Condition> = many.iter().collect();
    assert_eq!(CHILD.whys(&many, &[], &[]).len(), MOST);
}

#[test]
fn a_log_is_left_to_the_condition() {
    let why = of_message("port 6443 is in use by sshd; stop it.\nlast lines");
    assert_eq!(why.message(), "port 6443 is in use by sshd; stop it.");
}

#[test]
fn long_words_end_before_a_command_that_would_be_cut_and_say_where_the_whole_is() {
    let says = |message: &str| of_message(message).message();
    let command = "kubectl -n default patch machine w -p '{}'";
    let cause = "ä".repeat(LONGEST - 60);
    let shorter = "ä".repeat(LONGEST - 112);
    for (case, message, expected) in [
        ("no place to cut", "ä".repeat(LONGEST + 9), None),
        (
            "a clause",
            format!("{cause}. If it is off, set x: {command}{command}"),
            Some(cause.clone()),
        ),
        (
            "what the command is for",
            format!("{shorter}. If it is off, set x: {command}{command}{command}"),
            Some(format!("{shorter}. If it is off, set x")),
        ),
        (
            "a command alone",
            format!("{cause} {command}{command}"),
            Some(cause.clone()),
        ),
        (
            "after a whole command",
            format!("set x: {command}; {cause}{cause}"),
            Some(format!("set x: {command}")),
        ),
        ("a word", "ä ".repeat(LONGEST), Some("ä ".repeat(294) + "ä")),
    ] {
        let said = says(&message);
        assert!(said.chars().count() <= LONGEST, "{case}: {said}");
        let kept = said.strip_suffix("…; tatara describe machine w -n default shows all");
        assert!(kept.is_some(), "{case}: {said}");
        if expected.is_some() {
            assert_eq!(kept, expected.as_deref(), "{case}");
        }
    }
    let fits = "ä".repeat(LONGEST);
    assert_eq!(says(&fits), fits);
}
