//! Whether a Machine may end whose Cluster the caches do not have.

use kube::ResourceExt;

use crate::api::Cluster;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::LABEL_CLUSTER;
use crate::machine::Observed;

/// The name of the Cluster that is read before such a Machine ends: that none was seen may be news
/// that is late, and with it the Machine would leave its Node.
pub fn unseen_cluster(observed: &Observed) -> Option<&str> {
    let label = observed.machine.labels().get(LABEL_CLUSTER);
    label
        .map(String::as_str)
        .filter(|name| !name.is_empty() && observed.cluster.is_none())
}

/// What it waits for, if that Cluster exists.
pub fn waits(cluster: Option<&Cluster>) -> Option<Finding> {
    let name = cluster?.name_any();
    let message = format!(
        "Cluster {name} exists, and the manager's watch has not shown it yet; the Node of this Machine is looked for then"
    );
    Some(Finding::yes(
        ConditionType::Deleting,
        Reason::WaitingForApi,
        message,
    ))
}
