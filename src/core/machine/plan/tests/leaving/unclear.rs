//! What is not known yet after a restart, or is contradictory, keeps a Machine that is deleted.

use super::*;

#[test]
fn a_machine_whose_cluster_or_node_is_not_known_yet_is_not_deleted() {
    let leaving = || deleted(running(worker()), at(0));
    assert_ne!(plan(&leaving(), at(1)).actions, [], "clear");
    let mut whose = leaving();
    whose.whose = Some("Clusters a and b".into());
    let says = ("Deleting", "ClusterInDoubt", &["Clusters a and b"][..]);
    expect("two", &plan(&whose, at(1)), &[], says);
    let mut young = leaving();
    young.node = Lookup::NotYet("not connected yet".into());
    let says = ("Deleting", "WaitingForApi", &["not connected yet"][..]);
    expect("young", &plan(&young, at(1)), &[], says);
}
