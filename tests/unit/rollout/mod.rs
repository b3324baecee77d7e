//! Rolls, simulated to their end: the planners of MachineDeployment and MachineSet and nothing else.

mod control_plane;
mod faults;
mod golden;
mod in_place;
mod planners;
mod properties;
mod schedules;
mod simulation;
mod template_change;
