//! kubeadm's addons, after a control plane was replaced machine by machine.

use super::*;
use crate::machine::plan::addons::is_due;
use crate::machine::{AddonsDue, must_ask};

/// A control plane of the version that it wants, which sees to the addons; its host shows these
/// jobs.
fn due(jobs: &[(JobKind, UnitState)]) -> Observed {
    let mut observed = from_packages(running(control_plane()));
    runs(&mut observed, "v1.36.3");
    let observed = with_cluster(observed, |cluster| {
        cluster.version = Some("v1.36.3".into());
        cluster.etcd = Lookup::Known(etcd_at(&[OWN]));
        cluster.components = Some(components("v1.36.3"));
        cluster.peers.lane.addons = Some(AddonsDue {
            version: "v1.36.3".into(),
            waits_for: None,
        });
    });
    shows(observed, jobs, "v1.36.3")
}

fn said(plan: &Plan) -> Option<(Reason, Status, String)> {
    let mut findings = plan.findings.iter();
    let found = findings.find(|found| found.condition == ConditionType::KubeadmAddonsUpToDate)?;
    Some((found.reason(), found.status, found.message()))
}

#[test]
fn the_addons_follow_once_and_what_is_due_ends_with_them() {
    let first = plan(&due(&[]), at(0));
    assert_eq!(first.actions, [Action::RunJob(JobKind::Addons)]);
    let (reason, status, _) = said(&first).expect("the condition");
    assert_eq!((reason, status), (Reason::KubeadmAddons, Status::False));
    let done = plan(&due(&[(JobKind::Addons, UnitState::Succeeded)]), at(0));
    assert_eq!(done.actions, [Action::EndAddons("v1.36.3".into())]);
    assert_eq!(said(&done), None);
    // the Node is as well as before
    for plan in [first, done] {
        assert_eq!(finding(&plan, "Ready").status, Status::True);
        assert_eq!(plan.phase, Phase::Running);
    }
}

#[test]
fn its_host_is_asked_only_while_the_addons_are_due() {
    let is_asked = |observed: &Observed| (is_due(observed), must_ask(observed));
    assert_eq!(is_asked(&due(&[])), (true, true));
    let elsewhere = with_cluster(due(&[]), |cluster| cluster.peers.lane.addons = None);
    assert_eq!(is_asked(&elsewhere), (false, false));
    let waits = with_cluster(due(&[]), |cluster| {
        let due = cluster.peers.lane.addons.as_mut().expect("due");
        due.waits_for = Some("cp-9".into());
    });
    assert_eq!(is_asked(&waits), (false, false));
    let told = said(&plan(&waits, at(0))).expect("the condition");
    assert!(told.2.contains("Machine cp-9"), "{}", told.2);
    let goes = with_cluster(due(&[]), |cluster| cluster.deleting = true);
    assert_eq!(is_asked(&goes), (false, false));
    let mut unwell = due(&[]);
    node_is(&mut unwell, |node| node.ready = Some(false));
    assert_eq!(is_asked(&unwell), (false, false));
}

/// Three attempts, of which the last could not begin.
fn unstarted(observed: Observed) -> Observed {
    let attempts = Attempts {
        failed: 3,
        last: Some(at(0)),
        since: None,
        error: Some("why: the disk is full\ndo: Free it".into()),
    };
    Observed {
        attempts: [(JobKind::Addons, attempts)].into(),
        ..observed
    }
}

#[test]
fn addons_that_cannot_be_started_say_so_and_wait_between_attempts() {
    let other = |state| {
        let mut observed = due(&[(JobKind::Addons, state)]);
        with_other_steps(&mut observed);
        observed
    };
    for observed in [due(&[]), other(UnitState::Succeeded), other(failure("no"))] {
        let observed = unstarted(observed);
        let waits = plan(&observed, at(0));
        assert_eq!(waits.actions, []);
        assert_ne!(waits.next, Next::OnChange);
        let (reason, status, message) = said(&waits).expect("the condition");
        assert_eq!(
            (reason, status),
            (Reason::KubeadmAddonsFailed, Status::False)
        );
        let expected = "the disk is full. Free it. update of kubeadm's addons could not be started (attempt 3)";
        assert_eq!(message, expected);
        let again = plan(&observed, at(60));
        assert_eq!(again.actions, [Action::RunJob(JobKind::Addons)]);
    }
}

#[test]
fn addons_of_other_steps_that_run_come_to_their_end_and_say_how_far_they_are() {
    let mut observed = due(&[(JobKind::Addons, UnitState::Running(step("addons")))]);
    with_other_steps(&mut observed);
    let runs = plan(&observed, at(0));
    assert_eq!(runs.actions, [Action::RunJob(JobKind::Addons)]);
    assert_eq!(said(&runs).expect("the condition").2, "2/9 addons");
}
