use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::api::HypervisorStatus;
use crate::api::conditions::{Finding, merge};

const NOW: Duration = Duration::ZERO;

fn of(findings: &[Finding]) -> HypervisorStatus {
    HypervisorStatus {
        conditions: merge(&[], findings, Some(1), Timestamp::UNIX_EPOCH),
        observed_generation: Some(1),
        ..HypervisorStatus::default()
    }
}

#[test]
fn warnings_and_ends_are_written_at_once_and_the_rest_after_a_calm_time() {
    use ConditionType::{Deleting, Draining, EtcdHealthy, InfrastructureReady, Paused, Ready};
    let none: &[Finding] = &[];
    let waits = |text: &str| [Finding::no(Ready, Reason::WaitingForMachines, text)];
    let warns = |text: &str| [Finding::no(Ready, Reason::InvalidConfiguration, text)];
    let is = |type_, reason| [Finding::yes(type_, reason, "")];
    let isnt = |type_, reason| [Finding::no(type_, reason, "")];
    let ready = is(Ready, Reason::Complete);
    for (case, old, new, expected) in [
        ("a warning", none, &warns("a")[..], NOW),
        ("another warning", &warns("a"), &warns("b"), NOW),
        ("a warning that stands", &warns("a"), &warns("a"), WORDS),
        ("a warning is over", &warns("a"), &waits("a"), CALM),
        (
            "what was done is over",
            &is(EtcdHealthy, Reason::MemberRemoved),
            none,
            CALM,
        ),
        ("it becomes Ready", &waits("a"), &ready, NOW),
        ("it is Ready no longer", &ready, &waits("a"), CALM),
        ("words", &waits("a"), &waits("b"), WORDS),
        ("a condition", none, &waits("a"), CALM),
        (
            "another reason",
            &waits("a"),
            &isnt(Ready, Reason::RollingOut),
            CALM,
        ),
        (
            "a drain begins",
            none,
            &is(Draining, Reason::Draining),
            CALM,
        ),
        (
            "a drain is over",
            &is(Draining, Reason::Draining),
            &is(Deleting, Reason::Deleting),
            NOW,
        ),
        ("a pause", none, &is(Paused, Reason::PausedBySpec), NOW),
        (
            "a pause is over",
            &is(Paused, Reason::PausedBySpec),
            none,
            NOW,
        ),
        (
            "what was done to a server",
            none,
            &isnt(InfrastructureReady, Reason::HostFenced),
            NOW,
        ),
        (
            "what was done to etcd",
            none,
            &is(EtcdHealthy, Reason::MemberRemoved),
            NOW,
        ),
    ] {
        assert_eq!(due(&of(old), &of(new), false, WORDS), expected, "{case}");
    }
}

#[test]
fn what_others_read_is_written_at_once_and_an_edit_that_was_seen_is_more_than_words() {
    let old = of(&[]);
    let mut new = old.clone();
    assert_eq!(due(&old, &new, true, WORDS), NOW);
    assert_eq!(
        due(&old, &new, false, CALM),
        CALM,
        "words that stand nowhere else"
    );
    new.observed_generation = Some(2);
    assert_eq!(due(&old, &new, false, WORDS), CALM);
}

#[test]
fn the_order_of_conditions_says_nothing() {
    let findings = [
        Finding::no(ConditionType::Ready, Reason::InvalidConfiguration, "a"),
        Finding::no(ConditionType::UpToDate, Reason::KubeletVersionDiffers, "b"),
    ];
    let old = of(&findings);
    let mut new = old.clone();
    new.conditions.reverse();
    assert_eq!(due(&old, &new, false, WORDS), WORDS);
}
