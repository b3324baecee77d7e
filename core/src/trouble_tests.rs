use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn trouble(machine: &str, reason: Reason, message: &str, since: i64) -> Trouble {
    Trouble {
        namespace: "default".into(),
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
        "port 6443 is in use by sshd (attempt 4); stop it.\nlast lines",
        30,
    );
    let older = trouble("w-9", Reason::PrepareFailed, "containerd is masked", 20);
    let same = trouble("w-8", Reason::PrepareFailed, "containerd is masked", 20);
    let mistake = trouble("w-7", Reason::UnsupportedVersion, "v1.20.0 is too old", 90);
    let joins = trouble("w-1", Reason::KubeadmJoin, "1/2 join", 5);
    let silent = trouble("w-2", Reason::WaitingForTurn, "", 1);
    let homeless = trouble("w-3", Reason::NoHostAvailable, "2 claimed", 2);
    let cases: [(&[&Trouble], Option<&str>); 8] = [
        (
            &[&homeless, &older],
            Some("Machine w-9: containerd is masked. 1 more"),
        ),
        (&[], None),
        (
            &[&failed],
            Some("Machine cp66: port 6443 is in use by sshd (attempt 4); stop it."),
        ),
        (
            &[&joins, &failed, &silent],
            Some("Machine cp66: port 6443 is in use by sshd (attempt 4); stop it. 2 more"),
        ),
        (
            &[&failed, &older],
            Some("Machine w-9: containerd is masked. 1 more"),
        ),
        (
            &[&older, &same],
            Some("Machine w-8: containerd is masked. 1 more"),
        ),
        (
            &[&older, &mistake, &failed],
            Some("Machine w-7: v1.20.0 is too old. 2 more"),
        ),
        // how far it is changes with each step
        (
            &[&joins, &silent],
            Some("Machine w-2: WaitingForTurn. 1 more"),
        ),
    ];
    for (troubles, expected) in cases {
        let said = worst(troubles.iter().copied());
        assert_eq!(said.as_deref(), expected, "{troubles:?}");
    }
}

#[test]
fn long_words_end_before_a_command_that_would_be_cut_and_say_where_the_whole_is() {
    let says = |message: &str| {
        let said = trouble("w", Reason::PrepareFailed, message, 0);
        let said = worst([&said]).expect("words");
        said.strip_prefix("Machine w: ")
            .expect("its name")
            .to_owned()
    };
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
        serde_json::from_value(object).expect("a Machine")
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
        let deployment = serde_json::from_value(deployment).expect("a MachineDeployment");
        let expected = is_said.then(|| "MachineDeployment w: why".to_owned());
        assert_eq!(of_pool(&deployment), expected, "{reason}");
    }
}
