//! What programs that know no Cluster make of its conditions, and what its worst Machine says.

use super::*;
use crate::kstatus::tests::check;
use crate::trouble::Trouble;

fn saying(mut machine: MachineFact, reason: Reason, message: &str) -> MachineFact {
    machine.ready = false;
    machine.trouble = Some(Trouble {
        machine: machine.name.clone(),
        reason: Some(reason),
        message: message.into(),
        since: Timestamp::UNIX_EPOCH,
    });
    machine
}

fn with(mut observed: Observed, machines: Vec<MachineFact>) -> Observed {
    observed.machines = machines;
    observed
}

#[test]
fn creation_life_and_failure_are_told_apart() {
    let found = |observed: &Observed| plan(observed).findings;
    let new = || observed(&json!({}));
    let unadopted = observed(&json!({ "finalizers": [] }));
    let prepares = with(new(), vec![machine(true, false)]);
    let mut begins = prepares.clone();
    begins.turn = Some(turn());
    let mut broken = running();
    broken.spec = Err("unknown field `adons`".into());
    let mut lost = running();
    lost.certificates = Certificates::Missing(vec!["a-ca".into()]);
    let mut silent = running();
    silent.health.as_mut().expect("health").judgement.verdict = Verdict::Unhealthy;
    let waits = with(
        running(),
        vec![saying(
            machine(false, false),
            Reason::KubeadmJoin,
            "1/2 join",
        )],
    );
    let paused = observed(&json!({ "annotations": { (ANNOTATION_PAUSED): "" } }));
    let going = observed(&json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }));
    check(&[
        ("taken in", &found(&unadopted), "InProgress"),
        ("no Machine", &found(&new()), "InProgress"),
        ("a Machine is prepared", &found(&prepares), "InProgress"),
        ("kubeadm init", &found(&begins), "InProgress"),
        ("all is well", &found(&running()), "Current"),
        ("a worker joins", &found(&waits), "InProgress"),
        ("its API does not answer", &found(&silent), "InProgress"),
        ("a mistake in its settings", &found(&broken), "Failed"),
        ("a Secret is lost", &found(&lost), "Failed"),
        ("mended", &found(&running()), "Current"),
        ("held still", &found(&paused), "Current"),
        ("being deleted", &found(&going), "InProgress"),
    ]);
}

#[test]
fn the_worst_of_its_machines_is_said() {
    let words = "port 6443 is in use by sshd (attempt 4); stop it";
    let failed = saying(machine(true, false), Reason::KubeadmInitFailed, words);
    let worker = saying(
        machine(false, false),
        Reason::PrepareFailed,
        "containerd is masked",
    );
    let says = |observed: &Observed, condition: &str| {
        let found = plan(observed)
            .findings
            .into_iter()
            .find(|f| f.condition == condition);
        found.expect("the finding").message()
    };
    let mut begins = with(observed(&json!({})), vec![failed.clone(), worker.clone()]);
    // of the control plane alone
    let expected = format!("a control-plane Machine is being prepared. Machine cp-0: {words}");
    assert_eq!(says(&begins, "Ready"), expected);
    begins.turn = Some(turn());
    let expected = format!("Machine cp-0 has the turn to run kubeadm init. Machine cp-0: {words}");
    assert_eq!(says(&begins, "ControlPlaneInitialized"), expected);
    let ready = says(&with(running(), vec![failed, worker]), "Ready");
    assert_eq!(
        ready,
        format!("0 of 2 Machines are ready. Machine cp-0: {words} (1 more Machine)")
    );

    let going = observed(&json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }));
    let drains = saying(machine(false, true), Reason::Draining, "2 pods are left");
    let quiet = says(&with(going.clone(), vec![drains.clone()]), "Deleting");
    assert!(!quiet.contains("2 pods"), "{quiet}");
    let mut blocked = saying(
        machine(false, true),
        Reason::DrainBlocked,
        "PodDisruptionBudget web",
    );
    blocked.name = "w-1".into();
    let told = says(&with(going, vec![drains, blocked]), "Deleting");
    assert!(told.ends_with("PodDisruptionBudget web"), "{told}");
}
