//! Rolls, simulated to their end: the planners of MachineDeployment and MachineSet and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

#[path = "support/rollout/mod.rs"]
mod sim;

#[path = "rollout/faults/mod.rs"]
mod faults;
#[path = "rollout/golden.rs"]
mod golden;
#[path = "rollout/planners.rs"]
mod planners;
#[path = "rollout/properties.rs"]
mod properties;
#[path = "rollout/schedules.rs"]
mod schedules;
#[path = "rollout/template_change.rs"]
mod template_change;
