//! The phase of a MachineDeployment.

use serde::Serialize;

use super::roll::{Roll, Targets};
use crate::api::conditions::{Finding, Reason};

/// What a deployment is doing: a summary for people; conditions are authoritative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Phase {
    /// It has the desired Machines.
    #[default]
    Running,
    /// Machines of an old template are replaced.
    RollingOut,
    /// Machines are created.
    ScalingUp,
    /// Machines are deleted.
    ScalingDown,
    /// It cannot continue before a person acts.
    Failed,
}

impl Phase {
    /// As it is written in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::RollingOut => "RollingOut",
            Self::ScalingUp => "ScalingUp",
            Self::ScalingDown => "ScalingDown",
            Self::Failed => "Failed",
        }
    }
}

/// What the deployment is doing.
pub fn phase(roll: &Roll, targets: &Targets, progressing: &Finding) -> Phase {
    let failed = [
        Reason::ProgressDeadlineExceeded,
        Reason::InvalidConfiguration,
    ]
    .contains(&progressing.reason());
    if failed || roll.observed.provider_spec.is_err() {
        return Phase::Failed;
    }
    let replicas = roll.replicas();
    let current: i32 = roll.sets().map(|set| set.counts.current).sum();
    let starting: i32 = roll.sets().map(|set| set.counts.starting).sum();
    if roll.old.iter().any(|set| set.is_active()) {
        Phase::RollingOut
    } else if current < replicas || starting > 0 || targets.current.to > current {
        Phase::ScalingUp
    } else if current > replicas || roll.in_deletion() > 0 {
        Phase::ScalingDown
    } else {
        Phase::Running
    }
}
