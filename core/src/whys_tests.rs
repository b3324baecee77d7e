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
    let ready = condition(
        ConditionType::Ready,
        Reason::PrepareFailed,
        "swap is on; swapoff -a",
    );
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

const ALL: &str = "… (tatara describe machine w -n default shows the whole message)";

#[test]
fn long_words_end_with_a_sentence_or_before_a_command_and_name_the_command_that_shows_the_whole() {
    let command = "kubectl -n default patch machine w -p '{}'";
    let long = "ä".repeat(LONGEST - 120);
    let rest = "b".repeat(LONGEST);
    for (case, message, expected) in [
        (
            "a sentence",
            format!("{long}. The rest {rest}"),
            long.clone(),
        ),
        (
            "what it costs comes after it",
            format!("{long}. Restore it. Only if it has to go: {command}; {rest}"),
            format!("{long}. Restore it"),
        ),
        (
            "one of two cases",
            format!("{long}. If it is a: do b. If it is c: {rest}"),
            long.clone(),
        ),
        (
            "a case, and what holds for all",
            format!("{long}. If it is a: do b. The rest {rest}"),
            format!("{long}. If it is a: do b"),
        ),
        (
            "a clause",
            format!("{long}; set x: {command}; {rest}"),
            format!("{long}; set x: {command}"),
        ),
        (
            "what the command is for",
            format!("{long} set x: kubectl patch {rest}"),
            format!("{long} set x"),
        ),
        (
            "a command in a command",
            format!("{long} set x: kubectl annotate a=$(kubectl get b) {rest}"),
            format!("{long} set x"),
        ),
        ("a word", "ä ".repeat(LONGEST), "ä ".repeat(286) + "ä"),
    ] {
        let said = of_message(&message).message();
        assert!(said.chars().count() <= LONGEST, "{case}: {said}");
        assert_eq!(said.strip_suffix(ALL), Some(expected.as_str()), "{case}");
    }
    let nowhere = of_message(&"ä".repeat(LONGEST + 9)).message();
    assert!(nowhere.ends_with(ALL) && nowhere.chars().count() <= LONGEST);
    let fits = "ä".repeat(LONGEST);
    assert_eq!(of_message(&fits).message(), fits);
}

#[test]
fn a_remedy_stays_whole_beside_a_cause_that_was_cut() {
    let ready = condition(ConditionType::Ready, Reason::PrepareFailed, "old");
    let cause = format!("swap is on. {}", "The rest ".repeat(90));
    let why = Why::new(Reason::PrepareFailed, cause).remedied("swapoff -a");
    let whys = CHILD.whys(&[&ready], &[why.finding(ConditionType::Ready)], &[]);
    assert_eq!(whys[0].cause, format!("swap is on{ALL}"));
    assert_eq!(whys[0].remedy, "swapoff -a");
}
