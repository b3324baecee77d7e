//! What the statuses of our kinds have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::{
    ClusterStatus, HostStatus, HypervisorStatus, MachineDeploymentStatus, MachineSetStatus,
    MachineStatus,
};

/// A status with conditions.
pub trait ConditionedStatus: Clone + Default + PartialEq + Serialize + Send + Sync {
    /// Its conditions.
    fn conditions(&self) -> &[Condition];

    /// The generation of the spec that it is about.
    fn generation(&self) -> Option<i64>;

    /// Sets its conditions, and the generation of the spec that they are about.
    fn report(&mut self, conditions: Vec<Condition>, generation: Option<i64>);
}

macro_rules! reported {
    ($($status:ty),*) => {$(
        impl ConditionedStatus for $status {
            fn conditions(&self) -> &[Condition] {
                &self.conditions
            }

            fn generation(&self) -> Option<i64> {
                self.observed_generation
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
impl ConditionedStatus for () {
    fn conditions(&self) -> &[Condition] {
        &[]
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn report(&mut self, _: Vec<Condition>, _: Option<i64>) {}
}
