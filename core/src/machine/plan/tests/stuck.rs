//! Each stage has a name, a clock and a limit; a wait for others does not count.

use super::super::super::status::{record, status};
use super::*;
use crate::api::conditions::{self, ConditionType, Reason, Status};
use crate::api::machine_stage::{Awaited, ReportedStage, StageName};

/// The Machine, with this stage in its status.
fn in_stage(observed: Observed, stage: &ReportedStage) -> Observed {
    edited(observed, &json!({ "status": { "stage": stage } }))
}

fn initialized(observed: Observed) -> Observed {
    with_cluster(observed, |cluster| {
        cluster.initialized_by = Some(OTHER.into());
    })
}

#[test]
fn each_stage_has_its_name() {
    let joined = || {
        prepared(
            initialized(worker()),
            &[(JobKind::Join, UnitState::Succeeded)],
        )
    };
    let mut claims = worker();
    claims.claiming = Some("host-a".into());
    let mut gone = running(worker());
    gone.node = Lookup::Known(None);
    let unread = initialized(worker());
    let unread = Observed {
        placement: held(Contact::NotAsked),
        ..unread
    };
    let taken = ReportedStage::entered(StageName::Taking, None, at(0));
    for (observed, name, awaited) in vec![
        (worker(), Some(StageName::Choosing), None),
        (claims, Some(StageName::Claiming), None),
        (
            on(worker(), Ownership::Nobody, Vec::new()),
            Some(StageName::Taking),
            None,
        ),
        (ours(worker(), Vec::new()), Some(StageName::Preparing), None),
        (
            prepared(worker(), &[]),
            Some(StageName::AwaitingGrant),
            Some(Awaited::Cluster),
        ),
        (
            prepared(
                initialized(worker()),
                &[(JobKind::Join, UnitState::Running(step("kubeadm-join")))],
            ),
            Some(StageName::Joining),
            None,
        ),
        (joined(), Some(StageName::Registering), None),
        (running(worker()), Some(StageName::Running), None),
        (gone, Some(StageName::Running), Some(Awaited::Person)),
        // only its host could tell: the stage is the one that was reported
        (unread.clone(), None, None),
        (in_stage(unread, &taken), Some(StageName::Taking), None),
    ] {
        let plan = plan(&observed, at(5));
        let old = observed.machine.status.clone().unwrap_or_default();
        let stage = status(&observed, &plan, &old, at(5)).stage;
        let said = stage.as_ref().map(|stage| stage.name.as_str());
        assert_eq!(said, name.map(StageName::as_str), "{plan:#?}");
        let waits = stage.and_then(|stage| stage.clock.waits_for);
        assert_eq!(waits.as_deref(), awaited.map(Awaited::as_str), "{name:?}");
    }
}

#[test]
fn a_stage_that_takes_too_long_is_stuck_once_it_was_worked_on_for_its_limit() {
    let registers = || {
        prepared(
            initialized(worker()),
            &[(JobKind::Join, UnitState::Succeeded)],
        )
    };
    let begun = ReportedStage::entered(StageName::Registering, None, at(0));
    let at_work = plan(&in_stage(registers(), &begun), at(600));
    assert_eq!(at_work.late, Next::After(Duration::from_mins(5)));
    assert_eq!(finding(&at_work, "Ready").reason(), Reason::WaitingForNode);

    let stuck = plan(&in_stage(registers(), &begun), at(900));
    for condition in ["Progressing", "Ready"] {
        let parts: &[&str] = &[
            "stage Registering takes longer than 15 minutes: ",
            "no Node with providerID",
            "journalctl -u kubelet",
        ];
        let says = (condition, "ProgressDeadlineExceeded", parts);
        expect("stuck", &stuck, &[], says);
    }
    // ten minutes of it were a wait
    let mut waited = begun;
    waited.clock.waited_seconds = 600;
    let on_time = plan(&in_stage(registers(), &waited), at(900));
    assert_eq!(on_time.late, Next::After(Duration::from_mins(10)));
    assert!(
        !on_time
            .findings
            .iter()
            .any(|found| found.condition == ConditionType::Progressing)
    );
}

#[test]
fn what_has_a_cause_is_not_stuck() {
    let begun = ReportedStage::entered(StageName::Preparing, None, at(0));
    let fails = ours(worker(), Vec::new());
    let units = vec![unit(
        &fails,
        JobKind::Prepare,
        failure("no space left on device"),
    )];
    let fails = in_stage(ours(worker(), units), &begun);
    let plan = plan(&fails, at(100_000));
    assert_eq!(finding(&plan, "Ready").reason(), Reason::PrepareFailed);
    let stage = status(&fails, &plan, &Default::default(), at(100_000)).stage;
    let waits = stage.and_then(|stage| stage.clock.waits_for);
    assert_eq!(waits.as_deref(), Some("Person"));
}

#[test]
fn the_clock_of_a_paused_machine_stands_still_in_the_stage_in_which_it_was() {
    let begun = ReportedStage::entered(StageName::Preparing, None, at(0));
    let mut paused = in_stage(ours(worker(), Vec::new()), &begun);
    paused.paused_by = Some("Machine w-0".into());
    let paused_plan = plan(&paused, at(60));
    let old = paused.machine.status.clone().unwrap_or_default();
    let stage = status(&paused, &paused_plan, &old, at(60))
        .stage
        .expect("a stage");
    assert_eq!(stage.name, "Preparing");
    assert_eq!(stage.clock.waits_for.as_deref(), Some("Pause"));
    assert_eq!(stage.clock.worked(at(100_000)).as_secs(), 60);
    // and goes on when the pause is over
    let goes_on = in_stage(ours(worker(), Vec::new()), &stage);
    let after = plan(&goes_on, at(100_000));
    assert!(
        !after
            .findings
            .iter()
            .any(|found| found.condition == ConditionType::Progressing)
    );
}

/// A worker whose kubelet is replaced by a job that runs.
fn updates() -> Observed {
    let newer = json!({ "spec": { "versions": { "kubelet": "v1.36.4" } } });
    let mut observed = edited(running(worker()), &newer);
    let state = UnitState::Running(step("kubelet"));
    let units = vec![unit(&observed, JobKind::Kubelet, state)];
    let node = observed.node.clone();
    observed = ours(observed, units);
    observed.node = node;
    with_cluster(observed, |cluster| cluster.version = Some("v1.36.4".into()))
}

#[test]
fn an_update_has_a_step_and_a_clock_of_its_own() {
    let observed = updates();
    let begun = plan(&observed, at(0));
    let mut new = status(&observed, &begun, &Default::default(), at(0));
    new.conditions = conditions::merge(&new.conditions, &begun.findings, Some(1), at(0));
    record(&observed, &mut new, &begun, at(0));
    let change = new.change.as_ref().expect("a change");
    let said = (&*change.kind, change.step.as_deref(), change.begun);
    assert_eq!(said, ("Update", Some("Kubelet"), true));
    assert_eq!(new.stage.as_ref().expect("a stage").name, "Running");

    let later = edited(observed, &json!({ "status": { "change": change } }));
    assert_eq!(
        finding(&plan(&later, at(60)), "Ready").reason(),
        Reason::NodeReady
    );
    let stuck = plan(&later, at(30 * 60));
    let parts = &[
        "step Kubelet of its update takes longer than 30 minutes",
        "tatara logs",
    ][..];
    let acts = stuck.actions.clone();
    expect(
        "stuck",
        &stuck,
        &acts,
        ("Progressing", "ProgressDeadlineExceeded", parts),
    );
    let ready = finding(&stuck, "Ready");
    assert_eq!(
        (ready.status, ready.reason()),
        (Status::True, Reason::ProgressDeadlineExceeded)
    );
}
