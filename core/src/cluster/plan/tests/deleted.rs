//! A Cluster that is deleted: in which order it goes, and what that waits for.

use super::*;
use crate::api::names::FINALIZER_PROFILE;

#[test]
fn the_profile_goes_first_then_the_machines_then_the_rest() {
    let deleting = |finalizers: &[&str]| {
        let deleted = "2026-01-01T00:00:00Z";
        observed(&json!({ "deletionTimestamp": deleted, "finalizers": finalizers }))
    };
    let condition = "Deleting";
    let mut profile = deleting(&[FINALIZER_CLUSTER, FINALIZER_PROFILE]);
    profile.machines = vec![machine(false, false)];
    expect(
        "profile",
        &profile,
        &[],
        (condition, "WithdrawingProfile", &["is removed first"]),
    );
    let mut machines = deleting(&[FINALIZER_CLUSTER]);
    machines.machines = vec![machine(true, false), machine(false, true)];
    let says = (
        condition,
        "WaitingForMachines",
        &[
            "1 worker and 1 control-plane Machine are left: w-0 (Draining), cp-0 (Draining); ",
            "tatara describe cluster a -n default",
        ][..],
    );
    expect("machines", &machines, &[Action::DeleteChildren], says);
    machines.machines[0].deleting = true;
    expect("on their way", &machines, &[], says);
    machines.machines.clear();
    machines.sets_left = 1;
    assert_eq!(
        plan(&machines).actions,
        [Action::DeleteChildren],
        "a set would make new ones"
    );
    machines.sets_left = 0;
    machines.unlabelled = vec!["w-1".into(), "w-2".into()];
    let parts = [
        "does not name it: w-1, w-2",
        "kubectl -n default delete machine w-1",
        "label --overwrite --as=system:serviceaccount:tatara-system:tatara-manager machine w-1 cluster.k8s.io/cluster-name=a",
    ];
    let says = (condition, "WaitingForMachines", &parts[..]);
    expect("a label was edited away", &machines, &[], says);
    assert_ne!(plan(&machines).next, Next::OnChange, "nothing wakes it");
    machines.unlabelled.clear();
    expect(
        "nothing left",
        &machines,
        &[Action::Finish],
        (condition, "Finishing", &[]),
    );
}

#[test]
fn a_cluster_that_stays_is_connected_until_the_nodes_of_its_machines_are_deleted() {
    let mut observed = observed(&json!({
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER_CLUSTER],
    }));
    (observed.external, observed.connected) = (true, false);
    observed.machines = vec![machine(false, true)];
    assert_eq!(plan(&observed).actions, [Action::Connect]);
    let problem = Some("Secret a-kubeconfig: it is not a kubeconfig".to_owned());
    observed.kubeconfig_problem = problem;
    assert_eq!(plan(&observed).actions, []);
    observed.kubeconfig_problem = None;
    observed.machines.clear();
    assert_eq!(plan(&observed).actions, [Action::Finish]);
    // Tatara's own goes with its hosts
    observed.machines = vec![machine(false, true)];
    observed.external = false;
    assert_eq!(plan(&observed).actions, []);
}
