//! Remedies that can be pasted.

use super::super::doubt::{self, Named};
use super::super::turn::Doubt;
use super::super::{correct, time_limit};
use super::*;

const CLUSTER: Named = Named {
    namespace: "team",
    name: "a",
};
const AS_MANAGER: &str =
    "annotate --overwrite --as=system:serviceaccount:tatara-system:tatara-manager";

#[track_caller]
fn contains(message: &str, parts: &[String]) {
    for part in parts {
        assert!(message.contains(part), "no \"{part}\" in: {message}");
    }
}

#[test]
fn two_records_come_with_what_to_look_for_and_a_command_for_each_outcome() {
    let record = "tatara.dev/control-plane-initialized";
    let two = Doubt::TwoRecords(ME.into(), OTHER.into()).finding("BootstrapReady", CLUSTER);
    assert_eq!(two.reason, "ControlPlaneInDoubt");
    let outcomes = [
        "kubectl -n team get machines -o custom-columns=".to_owned(),
        "/etc/kubernetes/manifests/etcd.yaml".into(),
        // the Secret names ME: where that is right, the Cluster is corrected
        format!("Only that of {ME}: kubectl -n team {AS_MANAGER} cluster a {record}={ME}"),
        format!("Only that of {OTHER}: kubectl -n team {AS_MANAGER} secret a-ca {record}={OTHER}"),
        "Both or neither: delete Cluster a".into(),
    ];
    contains(&two.message, &outcomes);

    let this = doubt::made_twice("BootstrapReady", ME, OTHER, CLUSTER);
    assert_eq!(this.reason, "ControlPlaneInDoubt");
    let outcomes = [
        "/etc/kubernetes/manifests/etcd.yaml".to_owned(),
        format!("Only that of {OTHER}: delete this Machine"),
        format!("{AS_MANAGER} secret a-ca {record}={ME}"),
        format!("{AS_MANAGER} cluster a {record}={ME}"),
        "Both or neither: delete Cluster a".into(),
    ];
    contains(&this.message, &outcomes);
}

#[test]
fn a_time_limit_comes_as_a_command_and_says_that_it_does_not_return_the_turn() {
    let patch = r#"kubectl -n default patch machine w-0 --type=merge -p '{"spec":{"deletion":{"hostReleaseTimeoutSeconds":60}}}'"#;
    let worker = time_limit(&worker());
    contains(&worker, &[patch.to_owned()]);
    assert!(!worker.contains("turn"), "{worker}");
    let holder = with_cluster(control_plane(), |cluster| cluster.turn = Some(turn_of(ME)));
    let act = format!("kubectl -n default annotate machine cp-0 tatara.dev/host-is-gone={ME}");
    let says = "the time limit does not return the control-plane turn".to_owned();
    contains(&time_limit(&holder), &[says, act]);
}

#[test]
fn a_provider_spec_is_corrected_where_admission_lets_it() {
    let with_owner = json!({ "metadata": { "ownerReferences": [
        { "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "name": "pool", "uid": "set", "controller": true }
    ] } });
    let free = json!({ "spec": { "providerID": null } });
    let delete = "kubectl -n default delete machine w-0";
    let cases = [
        (
            "has a place",
            json!({}),
            vec!["cannot change", delete, "apply it again"],
        ),
        (
            "no place yet",
            free,
            vec!["kubectl -n default edit machine w-0"],
        ),
        (
            "of a set",
            with_owner,
            vec!["the template of MachineSet pool", delete],
        ),
    ];
    for (case, change, parts) in cases {
        let remedy = correct::remedy(&edited(worker(), &change).machine);
        for part in parts {
            assert!(remedy.contains(part), "{case}: no \"{part}\" in: {remedy}");
        }
    }
    // it is said with the condition, and only where something is to be corrected
    let mut wrong = worker();
    wrong.spec = Err(SpecProblem {
        reason: "InvalidConfiguration",
        message: "hostSelecter: unknown field".into(),
    });
    let says = (
        "InfrastructureReady",
        "InvalidConfiguration",
        &["unknown field. ", "apply it again"][..],
    );
    expect("frozen", &plan(&wrong, at(0)), &[], says);
}

#[test]
fn a_host_that_is_a_witness_is_reset_with_the_cluster_only_where_its_machine_claims_it() {
    let by_the_cluster = "delete Cluster a, which has the Host reset";
    let by_its_condition =
        "have the Host reset, or erase its server; kubectl -n team describe host h0";
    let marker = || Some(marker("cp-1", OTHER));
    for (owner, is_claimed, says, not) in [
        (marker(), true, by_the_cluster, by_its_condition),
        (marker(), false, by_its_condition, by_the_cluster),
        (None, false, by_its_condition, by_the_cluster),
    ] {
        let name = "h0".to_owned();
        let witness = doubt::Witness::Host {
            name,
            owner,
            is_claimed,
        };
        let message = doubt::witnessed("BootstrapReady", &witness, CLUSTER).message;
        assert!(message.contains(says), "{message}");
        assert!(!message.contains(not), "{message}");
    }
}
