//! Rolls, simulated to their end: the planners of MachineDeployment and MachineSet and nothing else.

mod any_order;
mod control_plane;
mod faults;
mod in_place;
mod planners;
mod properties;
mod scenarios;
mod schedules;
mod simulation;
mod template_change;
