use super::*;
use crate::machine::live::end;

#[test]
fn a_machine_whose_cluster_was_not_seen_ends_only_without_one() {
    let mut observed = observed(false);
    assert_eq!(end::unseen_cluster(&observed), None);
    observed.cluster = None;
    let name = end::unseen_cluster(&observed).map(str::to_owned);
    assert_eq!(name.as_deref(), Some("a"));
    assert_eq!(end::waits(None), None);
    let cluster = serde_json::from_value(
        json!({"metadata": {"name": "a"}, "spec": {"clusterNetwork": {"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""}}}),
    );
    let found = end::waits(Some(&cluster.expect("a Cluster")));
    assert_eq!(
        found.map(|found| found.reason()),
        Some(Reason::WaitingForApi)
    );
}
