use serde_json::json;

use super::*;

/// A Machine whose controller has told why its conditions are as they are.
pub fn explained(machine: serde_json::Value) -> Machine {
    let mut machine: Machine = serde_json::from_value(machine).expect("a Machine");
    let mut status = machine.status.take().expect("a status");
    status.whys = of_machine(&machine, &status, &[]);
    machine.status = Some(status);
    machine
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn trouble(machine: &str, reason: Reason, message: &str, since: i64) -> Trouble {
    Trouble {
        machine: machine.into(),
        reason: Some(reason),
        message: message.into(),
        since: at(since),
    }
}

#[test]
fn the_worst_is_said_by_name_in_its_own_words_with_how_many_more() {
    let failed = trouble(
        "cp66",
        Reason::KubeadmInitFailed,
        "port 6443 is in use by sshd (attempt 4); stop it.",
        30,
    );
    let older = trouble("w-9", Reason::PrepareFailed, "containerd is masked", 20);
    let same = trouble("w-8", Reason::PrepareFailed, "containerd is masked", 20);
    let mistake = trouble("w-7", Reason::UnsupportedVersion, "v1.20.0 is too old", 90);
    let joins = trouble("w-1", Reason::KubeadmJoin, "", 5);
    let silent = trouble("w-2", Reason::WaitingForTurn, "", 1);
    let homeless = trouble("w-3", Reason::NoHostAvailable, "", 2);
    let cases: [(&[&Trouble], Option<&str>); 8] = [
        (
            &[&homeless, &older],
            Some("Machine w-9: containerd is masked (1 more Machine)"),
        ),
        (&[], None),
        (
            &[&failed],
            Some("Machine cp66: port 6443 is in use by sshd (attempt 4); stop it."),
        ),
        (
            &[&joins, &failed, &silent],
            Some(
                "Machine cp66: port 6443 is in use by sshd (attempt 4); stop it. (and 2 more Machines)",
            ),
        ),
        (
            &[&failed, &older],
            Some("Machine w-9: containerd is masked (1 more Machine)"),
        ),
        (
            &[&older, &same],
            Some("Machine w-8: containerd is masked (1 more Machine)"),
        ),
        (
            &[&older, &mistake, &failed],
            Some("Machine w-7: v1.20.0 is too old (and 2 more Machines)"),
        ),
        (
            &[&joins, &silent],
            Some("Machine w-2: WaitingForTurn (1 more Machine)"),
        ),
    ];
    for (troubles, expected) in cases {
        let said = worst(troubles.iter().copied());
        assert_eq!(said.as_deref(), expected, "{troubles:?}");
    }
}

#[test]
fn a_machine_says_why_it_is_not_ready_or_what_keeps_it() {
    let machine = |conditions: &serde_json::Value| -> Machine {
        let of = |(name, status, reason): (&str, &str, &str)| {
            json!({"type": name, "status": status, "reason": reason, "message": "why",
                "lastTransitionTime": "1970-01-01T00:00:07Z"})
        };
        let all = conditions.as_array().expect("a list").iter().map(|c| {
            let text = |at: usize| c[at].as_str().expect("text");
            of((text(0), text(1), text(2)))
        });
        let all: Vec<_> = all.collect();
        let object = json!({"metadata": {"name": "m", "namespace": "default"}, "spec": {}, "status": {"conditions": all}});
        let mut machine: Machine = serde_json::from_value(object).expect("a Machine");
        let mut status = machine.status.take().expect("a status");
        status.whys = of_machine(&machine, &status, &[]);
        machine.status = Some(status);
        machine
    };
    let cases = [
        (json!([]), None),
        (json!([["Ready", "True", "NodeReady"]]), None),
        (
            json!([["Ready", "False", "PrepareFailed"]]),
            Some(Reason::PrepareFailed),
        ),
        (
            json!([
                ["Ready", "False", "Deleting"],
                ["Deleting", "True", "DrainBlocked"]
            ]),
            Some(Reason::DrainBlocked),
        ),
    ];
    for (conditions, reason) in cases {
        let said = Trouble::of(&machine(&conditions));
        let expected = reason.map(|reason| trouble("m", reason, "why", 7));
        assert_eq!(said, expected, "{conditions}");
    }
    let mut torn = machine(&json!([["Ready", "True", "NodeReady"]]));
    let mark = (
        crate::api::readable::UNREADABLE.to_owned(),
        "spec: no".to_owned(),
    );
    torn.metadata.annotations = Some([mark].into());
    let said = Trouble::of(&torn).expect("trouble");
    assert_eq!(
        worst([&said]).as_deref(),
        Some("Machine m: cannot be read: spec: no")
    );
}

#[test]
fn a_pool_says_that_its_template_cannot_be_used_and_nothing_that_its_machines_say() {
    for (reason, is_said) in [
        ("InvalidConfiguration", true),
        ("MachineClassMissing", true),
        ("ProgressDeadlineExceeded", false),
        ("WaitingForMachines", false),
    ] {
        let deployment = json!({"metadata": {"name": "w"},
            "spec": {"selector": {}, "template": {"metadata": {}, "spec": {}}},
            "status": {"conditions": [{"type": "Ready", "status": "False", "reason": reason,
                "message": "why\nmore", "lastTransitionTime": "1970-01-01T00:00:07Z"}]}});
        let mut deployment: MachineDeployment =
            serde_json::from_value(deployment).expect("a MachineDeployment");
        let mut status = deployment.status.take().expect("a status");
        status.whys = of_deployment(&deployment, &status, &[]);
        deployment.status = Some(status);
        let expected = is_said.then(|| "MachineDeployment w: why".to_owned());
        assert_eq!(of_pool(&deployment), expected, "{reason}");
    }
}
