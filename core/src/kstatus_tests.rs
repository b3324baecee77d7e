use std::collections::BTreeSet;

use super::*;
use crate::api::conditions::{self, Finding, is_false};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// What kstatus says of an object: the published rules of sigs.k8s.io/cli-utils, in their order.
pub(crate) fn rules(
    (generation, observed): (i64, Option<i64>),
    is_deleted: bool,
    conditions: &[Condition],
) -> &'static str {
    if is_deleted {
        return "Terminating";
    }
    if observed.is_some_and(|observed| observed != generation) {
        return "InProgress";
    }
    for condition in conditions.iter().filter(|c| c.status == "True") {
        match condition.type_.as_str() {
            "Reconciling" => return "InProgress",
            "Stalled" => return "Failed",
            _ => {}
        }
    }
    match find(conditions, ConditionType::Ready) {
        Some(ready) if ready.status != "True" => "InProgress",
        _ => "Current",
    }
}

/// An object that is told of, pass after pass.
#[derive(Default)]
pub(crate) struct Story {
    conditions: Vec<Condition>,
    passes: i64,
}

impl Story {
    /// What kstatus says of it after a pass that found this.
    #[track_caller]
    pub(crate) fn tell(&mut self, findings: &[Finding]) -> &'static str {
        let once = self.pass(findings);
        self.conditions.clone_from(&once);
        assert_eq!(self.pass(findings), once, "the same again is no news");
        let types: BTreeSet<_> = once.iter().map(|condition| &condition.type_).collect();
        assert_eq!(types.len(), once.len(), "{types:?}");
        let has = |type_| find(&once, type_).is_some();
        assert!(has(ConditionType::Ready), "{once:?}");
        let (reconciling, stalled) = (ConditionType::Reconciling, ConditionType::Stalled);
        assert!(!(has(reconciling) && has(stalled)), "{once:?}");
        assert!(!is_false(&once, reconciling) && !is_false(&once, stalled));
        rules((1, Some(1)), false, &once)
    }

    fn pass(&mut self, findings: &[Finding]) -> Vec<Condition> {
        self.passes += 1;
        let now = at(self.passes);
        let merged = conditions::merge(&self.conditions, findings, Some(1), now);
        complete(merged, &self.conditions, Some(1), now)
    }
}

/// The plans of one object, in the order of its life, and what kstatus is to say of each.
#[track_caller]
pub(crate) fn check(cases: &[(&str, &[Finding], &str)]) {
    let mut story = Story::default();
    for (case, findings, expected) in cases {
        assert_eq!(story.tell(findings), *expected, "{case}: {findings:#?}");
    }
}

fn no(condition: ConditionType, reason: Reason) -> Finding {
    Finding::no(condition, reason, "why")
}

fn ready() -> Finding {
    Finding::yes(ConditionType::Ready, Reason::Ready, "")
}

#[test]
fn an_object_that_nobody_has_looked_at_is_in_progress() {
    assert_eq!(rules((1, Some(-1)), false, &[]), "InProgress");
    let said = complete(Vec::new(), &[], Some(1), at(0));
    let types: Vec<_> = said
        .iter()
        .map(|c| (c.type_.as_str(), c.reason.as_str()))
        .collect();
    assert_eq!(types, [("Ready", "Starting"), ("Reconciling", "Starting")]);
    assert_eq!(rules((1, Some(1)), false, &said), "InProgress");
    assert_eq!(rules((2, Some(1)), false, &said), "InProgress");
    assert_eq!(rules((1, Some(1)), true, &said), "Terminating");
}

#[test]
fn what_is_not_ready_resolves_itself_or_needs_a_person() {
    use ConditionType::{BMCReachable, Paused, Ready, Reconciled, UpToDate};
    let paused = Finding::yes(Paused, Reason::Paused, "");
    let on = no(Paused, Reason::NotPaused);
    let (waits, broken) = (
        no(Ready, Reason::KubeadmJoin),
        no(Ready, Reason::InvalidConfiguration),
    );
    let up = Finding::yes(UpToDate, Reason::VersionsEqual, "");
    let (old, bmc) = (
        no(UpToDate, Reason::KubeletVersionDiffers),
        no(BMCReachable, Reason::BMCLoginRefused),
    );
    let answers = Finding::yes(BMCReachable, Reason::BMCAnswers, "");
    let fails = no(Reconciled, Reason::PassFailed);
    let cases: [(&str, &[Finding], &str); 10] = [
        ("on its way", &[waits], "InProgress"),
        ("a mistake", std::slice::from_ref(&broken), "Failed"),
        (
            "held still",
            &[broken.clone(), paused.clone()],
            "InProgress",
        ),
        (
            "held still where all is well",
            &[ready(), paused],
            "Current",
        ),
        ("mended", &[ready(), on], "Current"),
        (
            "its node runs, and its spec is another",
            &[ready(), old],
            "Failed",
        ),
        ("set back", &[up], "Current"),
        ("its BMC lets nobody in", &[bmc], "Failed"),
        ("and does again", &[answers], "Current"),
        ("passes fail", &[fails], "InProgress"),
    ];
    check(&cases);
}

#[test]
fn since_when_it_stands_so_moves_with_the_answer_alone() {
    let told = |old: &[Condition], reason, second| {
        let findings = [no(ConditionType::Ready, reason)];
        let merged = conditions::merge(old, &findings, Some(1), at(second));
        complete(merged, old, Some(1), at(second))
    };
    let since = |all: &[Condition], type_| {
        let condition = find(all, type_).expect("a condition");
        (condition.reason.clone(), condition.last_transition_time.0)
    };
    let first = told(&[], Reason::Preparing, 1);
    let second = told(&first, Reason::KubeadmJoin, 2);
    assert_eq!(
        since(&second, ConditionType::Reconciling),
        ("KubeadmJoin".into(), at(1))
    );
    let third = told(&second, Reason::InvalidConfiguration, 3);
    assert_eq!(
        since(&third, ConditionType::Stalled),
        ("InvalidConfiguration".into(), at(3))
    );
    assert!(find(&third, ConditionType::Reconciling).is_none());
    assert_eq!(since(&third, ConditionType::Ready).1, at(1));
}
