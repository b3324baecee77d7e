//! A label, or a claim, that was edited makes no control plane another Cluster's.

use super::*;

fn made_for(cluster: &str, observed: Observed) -> Observed {
    let mut owner = own(&observed);
    if let Ownership::Owner(owner) = &mut owner {
        owner.initialized = true;
        owner.marker.cluster = cluster.into();
    }
    on(observed, owner, Vec::new())
}

#[test]
fn what_a_host_made_is_recorded_for_the_cluster_of_its_marker_alone() {
    let own = made_for("a", control_plane());
    assert_eq!(plan(&own, at(0)).actions, [Action::RecordInitialized]);
    let parts = &[
        "default/b",
        "patch host host-a --as=system:serviceaccount:tatara-system:tatara-manager --type=merge",
        r#"{"spec":{"consumerRef":{"cluster":"b"}}}"#,
        "label --overwrite --as=system:serviceaccount:tatara-system:tatara-manager machine cp-0 cluster.k8s.io/cluster-name=b",
    ][..];
    let others = made_for("b", control_plane());
    let says = ("BootstrapReady", "ControlPlaneInDoubt", parts);
    expect("of another", &plan(&others, at(0)), &[], says);
    let mut leaving = deleted(others, at(0));
    if let Placement::Held(held) = &mut leaving.placement {
        held.releasing = true;
    }
    let says = ("Deleting", "ControlPlaneInDoubt", parts);
    expect("it leaves", &plan(&leaving, at(1)), &[], says);
}

#[test]
fn a_second_control_plane_that_is_deleted_says_how_its_host_is_reset_after_all() {
    let another = with_cluster(control_plane(), |c| c.initialized_by = Some("other".into()));
    let mut leaving = deleted(made_for("a", another), at(0));
    if let Placement::Held(held) = &mut leaving.placement {
        held.releasing = true;
    }
    let gone = "tatara machine declare-gone cp-0 -n default --force; then the Host is reset";
    let parts = [gone, "Only if that control plane runs"];
    let says = ("Deleting", "WaitingForHost", &parts[..]);
    expect("it leaves", &plan(&leaving, at(1)), &[], says);
}
