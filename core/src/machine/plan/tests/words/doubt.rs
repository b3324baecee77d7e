//! What is to be done where two objects contradict each other, or another has the turn.

use super::super::super::doubt::{self, ClusterName};
use super::*;
use crate::control_plane::turn::Doubt;

const CLUSTER: ClusterName = ClusterName {
    namespace: "team",
    name: "a",
};
const RESOLVE: &str = "tatara cluster resolve a -n team";

#[test]
fn two_records_come_with_what_to_look_for_and_the_command_that_corrects_them() {
    let two =
        Doubt::TwoRecords(ME.into(), OTHER.into()).finding(ConditionType::BootstrapReady, CLUSTER);
    assert_eq!(two.reason(), "ControlPlaneInDoubt");
    let outcomes = [
        "kubectl -n team get machines -o custom-columns=".to_owned(),
        "\"initialized\":true in /var/lib/tatara/owner.json".into(),
        format!("{RESOLVE} shows what is recorded and what was last seen of each host"),
        "If none is needed: delete Cluster a".into(),
    ];
    contains(&two.message(), &outcomes);

    let this = doubt::made_twice(ConditionType::BootstrapReady, ME, OTHER, CLUSTER);
    assert_eq!(this.reason(), "ControlPlaneInDoubt");
    let outcomes = [
        "\"initialized\":true in /var/lib/tatara/owner.json".to_owned(),
        format!("If it is the host of UID {OTHER}: delete this Machine"),
        format!("If it is the host of this Machine: {RESOLVE} --made-by-uid {ME}."),
        "If none is needed: delete Cluster a".into(),
    ];
    contains(&this.message(), &outcomes);
}

#[test]
fn a_machine_that_may_have_run_init_is_ended_or_recorded() {
    let witness = doubt::Witness::Machine("cp-0".into());
    let finding = doubt::witnessed(ConditionType::BootstrapReady, &witness, CLUSTER);
    let parts = [
        "Only if that control plane is not wanted, which loses its state: kubectl -n team delete machine cp-0",
        "If its control plane runs: tatara cluster resolve a -n team --made-by cp-0.",
    ];
    contains(&finding.message(), &parts.map(str::to_owned));
    let worker = doubt::Witness::Worker("w-0".into());
    let message = doubt::witnessed(ConditionType::BootstrapReady, &worker, CLUSTER).message();
    let parts = [
        "had a control plane",
        "/var/lib/tatara/owner.json",
        "then: tatara cluster resolve a -n team --made-by-uid UID --force.",
    ];
    contains(&message, &parts.map(str::to_owned));
    // what another Cluster left behind is not recorded as this one's
    let stray = doubt::Witness::Stray {
        machine: "b-cp-0".into(),
        label: Some("b".into()),
    };
    let message = doubt::witnessed(ConditionType::BootstrapReady, &stray, CLUSTER).message();
    let parts = [
        "Cluster b, which has no record of it",
        "delete machine b-cp-0",
    ];
    contains(&message, &parts.map(str::to_owned));
    assert!(!message.contains("cluster resolve"), "{message}");
}

#[test]
fn a_holder_that_is_no_machine_any_more_is_looked_for_on_its_host_first() {
    let message = doubt::of_nobody(CLUSTER, OTHER);
    let parts = [
        format!("MESSAGE:.status.message | grep {OTHER}"),
        format!(
            "Only if what it ran on is destroyed, erased or disconnected for good: kubectl -n team annotate cluster a {ANNOTATION_HOST_IS_GONE}={OTHER}"
        ),
    ];
    contains(&message, &parts);
}

#[test]
fn who_waits_for_kubeadm_init_of_another_is_told_to_wait_and_to_delete_nothing() {
    let waits = doubt::blocked(ConditionType::BootstrapReady, &turn_of(OTHER), CLUSTER);
    let parts = [
        "nobody has to act",
        "tatara describe machine cp-1 -n team",
        "tatara describe cluster a -n team",
    ];
    contains(&waits.message(), &parts.map(str::to_owned));
    assert!(!waits.message().contains("delete"), "{}", waits.message());
}

#[test]
fn a_host_that_is_a_witness_is_reset_with_the_cluster_only_where_its_machine_claims_it() {
    let by_the_cluster = "delete Cluster a, which resets the Host";
    let by_its_condition =
        "have the Host reset, or erase its server; kubectl -n team get host h0 -o jsonpath";
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
        let message = doubt::witnessed(ConditionType::BootstrapReady, &witness, CLUSTER).message();
        assert!(message.contains(says), "{message}");
        assert!(!message.contains(not), "{message}");
    }
}
