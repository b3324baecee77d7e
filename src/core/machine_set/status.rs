//! What a plan found, as the status of the MachineSet. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::{MachineSet, MachineSetStatus};

/// The status that follows from a plan.
pub fn status(set: &MachineSet, plan: &Plan) -> MachineSetStatus {
    let counts = &plan.counts;
    MachineSetStatus {
        replicas: counts.replicas,
        fully_labeled_replicas: counts.fully_labeled,
        ready_replicas: counts.ready,
        available_replicas: counts.available,
        unhealthy_replicas: counts.unhealthy,
        starting_replicas: counts.starting,
        terminating_replicas: counts.deleting,
        last_progress_time: counts.last_progress.map(Time),
        label_selector: plan.label_selector.clone(),
        ..set.status.clone().unwrap_or_default()
    }
}
