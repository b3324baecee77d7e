//! What the statuses of our kinds have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::{
    ClusterStatus, HostStatus, HypervisorStatus, MachineDeploymentStatus, MachineSetStatus,
    MachineStatus,
};

/// A status with conditions.
pub trait Reported: Clone + Default + PartialEq + Serialize + Send + Sync {
    /// Its conditions.
    fn conditions(&self) -> &[Condition];

    /// Sets its conditions, and the generation of the spec that they are about.
    fn report(&mut self, conditions: Vec<Condition>, generation: Option<i64>);
}

macro_rules! reported {
    ($($status:ty),*) => {$(
        impl Reported for $status {
            fn conditions(&self) -> &[Condition] {
                &self.conditions
            }

            fn report(&mut self, conditions: Vec<Condition>, generation: Option<i64>) {
                self.conditions = conditions;
                self.observed_generation = generation;
            }
        }
    )*};
}

reported!(
    ClusterStatus,
    HostStatus,
    HypervisorStatus,
    MachineDeploymentStatus,
    MachineSetStatus,
    MachineStatus
);

/// Of kinds without a status.
impl Reported for () {
    fn conditions(&self) -> &[Condition] {
        &[]
    }

    fn report(&mut self, _: Vec<Condition>, _: Option<i64>) {}
}
