//! Bad input and faults: a condition that names what is wrong and what helps, and no action.

mod hosts;

use super::*;
use crate::api::conditions::Reason;

#[test]
fn what_a_new_machine_lacks_is_awaited_for_a_minute_and_then_missed() {
    let created = json!({ "metadata": { "creationTimestamp": at(0).to_string() } });
    let mut alone = edited(worker(), &created);
    alone.cluster = None;
    let mut homeless = edited(worker(), &created);
    homeless.placement = Placement::None(Err(Why::new(
        Reason::NoMatchingHost,
        "no Host is in the namespace; create one for each server",
    )));
    for (observed, reason, word) in [
        (alone, Reason::ClusterMissing, "create it"),
        (homeless, Reason::NoMatchingHost, "create one"),
    ] {
        let young = plan(&observed, at(20));
        let said = finding(&young, "Ready");
        assert_eq!(said.reason(), Reason::Starting);
        assert!(said.message().contains(word), "{}", said.message());
        assert_eq!(young.next, Next::After(Duration::from_secs(40)));
        assert_eq!(finding(&plan(&observed, at(60)), "Ready").reason(), reason);
    }
}

#[test]
fn what_is_wrong_with_a_machine_is_said_with_field_value_and_remedy() {
    let provider = |value: Value| {
        let mut observed = worker();
        observed.spec = MachineProviderSpec::decode(&value)
            .map_err(|error| Why::new(Reason::InvalidConfiguration, error.to_string()));
        observed
    };
    let ours = |kind: &str| json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": kind });
    let mut misspelt = ours("SSHMachineProviderSpec");
    misspelt["hostSelecter"] = json!({});
    let missing_class = {
        let mut observed = worker();
        observed.spec = Err(Why::new(
            Reason::MachineClassMissing,
            "MachineClass small does not exist in namespace default; create it",
        ));
        observed
    };
    let mut alone = worker();
    alone.cluster = None;
    let mut unlabelled = alone.clone();
    let mut machine = unlabelled.machine.as_ref().clone();
    machine.labels_mut().clear();
    unlabelled.machine = Arc::new(machine);
    let broken = with_cluster(worker(), |c| c.spec = Err("podz: unknown field".into()));
    let cases: Vec<(&str, Observed, &str, &[&str])> = vec![
        (
            "no label",
            unlabelled,
            "ClusterLabelMissing",
            &["cluster.k8s.io/cluster-name", "set it"],
        ),
        (
            "no Cluster",
            alone,
            "ClusterMissing",
            &["Cluster a", "create it"],
        ),
        (
            "bad Cluster",
            broken,
            "ClusterInvalid",
            &["Cluster a", "podz"],
        ),
        (
            "no class",
            missing_class,
            "MachineClassMissing",
            &["MachineClass small", "create it"],
        ),
        (
            "unknown kind",
            provider(ours("SshMachine")),
            "InvalidConfiguration",
            &[
                "spec.providerSpec.value",
                "SshMachine",
                "write tatara.dev/v1alpha1 SSHMachineProviderSpec",
            ],
        ),
        (
            "misspelt field",
            provider(misspelt),
            "InvalidConfiguration",
            &["hostSelecter", "expected"],
        ),
        (
            "Cluster goes",
            with_cluster(worker(), |c| c.deleting = true),
            "ClusterDeleting",
            &["Cluster a"],
        ),
    ];
    all_wait(&cases);
}

#[test]
fn what_runs_stays_as_its_node_is_while_its_settings_cannot_be_used() {
    type Case = (&'static str, fn(Observed) -> Observed);
    let problems: [Case; 3] = [
        ("ClusterInvalid", |observed| {
            with_cluster(observed, |c| c.spec = Err("podz: unknown field".into()))
        }),
        ("InvalidConfiguration", |mut observed| {
            observed.spec = Err(Why::new(
                Reason::InvalidConfiguration,
                "hostSelecter: unknown field",
            ));
            observed
        }),
        ("UnsupportedVersion", |observed| {
            edited(
                observed,
                &json!({ "spec": { "versions": { "kubelet": "v1.99.0" } } }),
            )
        }),
    ];
    for (reason, break_it) in problems {
        let plan_of = |observed| plan(&break_it(observed), at(0));
        let runs = plan_of(running(worker()));
        expect(reason, &runs, &[], ("UpToDate", reason, &[]));
        assert_eq!(finding(&runs, "Ready").status, Status::True, "{reason}");
        assert_eq!(runs.phase.as_str(), "Running");

        let mut sick = running(worker());
        let node = NodeView {
            ready: Some(false),
            ..node()
        };
        sick.node = Lookup::Known(Some(Arc::new(node)));
        let sick = plan_of(sick);
        expect(reason, &sick, &[], ("Ready", "NodeNotReady", &[]));

        let mut silent = running(worker());
        silent.node = Lookup::Unknown("the API of Cluster a does not answer".into());
        let silent = plan_of(silent);
        expect(
            reason,
            &silent,
            &[],
            ("Ready", "NodeUnknown", &["does not answer"]),
        );
        expect(reason, &silent, &[], ("UpToDate", reason, &[]));

        let mut restarted = running(worker());
        restarted.node = Lookup::NotYet("not connected yet".into());
        assert!(
            plan_of(restarted).hands_off,
            "{reason}: a restart is no news"
        );

        let turn = with_cluster(running(control_plane()), |c| c.turn = Some(turn_of(ME)));
        expect(reason, &plan_of(turn), &[], ("UpToDate", reason, &[]));

        let begun = prepared(worker(), &[]);
        expect(
            reason,
            &plan_of(begun),
            &[],
            ("InfrastructureReady", reason, &[]),
        );
    }
}

#[test]
fn a_version_that_cannot_run_is_said_with_those_that_can() {
    let version = |field: &str, value: &str| {
        edited(
            control_plane(),
            &json!({ "spec": { "versions": { (field): value } } }),
        )
    };
    let mut beside = control_plane();
    let mut machine = beside.machine.as_ref().clone();
    machine.versions = machine.spec.versions.take();
    if let Some(versions) = &mut machine.versions {
        versions.kubelet = "1.13.6".into();
    }
    beside.machine = Arc::new(machine);
    let cases: [(&str, Observed, &str, &[&str]); 6] = [
        (
            "as published in 2019",
            beside,
            "UnsupportedVersion",
            &["versions.kubelet is v1.13.6", "v1.31 to v1.37"],
        ),
        (
            "too old",
            version("kubelet", "1.13.6"),
            "UnsupportedVersion",
            &["spec.versions.kubelet", "v1.13.6", "v1.31 to v1.37"],
        ),
        (
            "too new",
            version("controlPlane", "v1.99.0"),
            "UnsupportedVersion",
            &["spec.versions.controlPlane", "v1.99.0", "v1.31 to v1.37"],
        ),
        (
            "no version",
            version("kubelet", "latest"),
            "UnsupportedVersion",
            &["spec.versions.kubelet", "\"latest\"", "v1.37.2"],
        ),
        (
            "ahead",
            version("controlPlane", "v1.35.4"),
            "UnsupportedVersion",
            &["spec.versions.kubelet", "v1.36.3", "v1.35.4"],
        ),
        (
            "behind",
            version("kubelet", "v1.32.0"),
            "UnsupportedVersion",
            &["spec.versions.kubelet", "v1.32.0", "v1.33"],
        ),
    ];
    all_wait(&cases);
}

/// Nothing is done, and both conditions say why.
fn all_wait(cases: &[(&str, Observed, &str, &[&str])]) {
    for (case, observed, reason, parts) in cases {
        let plan = plan(observed, at(0));
        let reason = *reason;
        expect(case, &plan, &[], ("InfrastructureReady", reason, parts));
        let ready = finding(&plan, "Ready");
        assert_eq!(
            (ready.status, ready.reason().as_str()),
            (Status::False, reason),
            "{case}"
        );
    }
}

#[test]
fn nothing_is_done_while_the_machine_or_something_above_it_is_paused() {
    let states = [
        worker(),
        prepared(control_plane(), &[]),
        running(worker()),
        deleted(running(worker()), at(0)),
    ];
    for observed in states {
        for above in ["Machine w-0", "MachineSet pool-1", "Cluster a"] {
            let mut observed = observed.clone();
            observed.paused_by = Some(above.into());
            let says = ("Paused", "Paused", &[above, ANNOTATION_PAUSED][..]);
            expect("paused", &plan(&observed, at(1_000_000)), &[], says);
        }
    }
}

#[test]
fn what_can_never_run_as_it_is_written_has_failed_and_what_runs_has_not() {
    let wrong = |mut observed: Observed| {
        observed.spec = Err(Why::new(
            Reason::InvalidConfiguration,
            "spec.providerSpec.value: hostSelecter: unknown field",
        ));
        observed
    };
    let failed = |observed: &Observed| {
        let plan = plan(observed, at(0));
        terminal(observed, &plan).map(crate::api::conditions::Finding::message)
    };
    let message = failed(&wrong(worker())).expect("a failure");
    assert!(message.contains("hostSelecter"), "{message}");
    assert_eq!(failed(&worker()), None);
    assert_eq!(failed(&wrong(running(worker()))), None);
    let mut waiting = worker();
    waiting.placement = Placement::None(Err(Why::new(Reason::NoHostAvailable, "all are taken")));
    assert_eq!(failed(&waiting), None);
}

#[test]
fn a_config_source_is_accepted_and_said_to_be_ignored() {
    let observed = edited(
        running(worker()),
        &json!({ "spec": { "configSource": { "a": 1 } } }),
    );
    let says = (
        "ConfigSourceUsed",
        "Ignored",
        &["spec.configSource", "kubeletConfiguration"][..],
    );
    expect("configSource", &plan(&observed, at(0)), &[], says);
}
