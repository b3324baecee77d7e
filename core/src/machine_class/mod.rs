//! MachineClasses: what is observed and planned.

pub mod plan;
