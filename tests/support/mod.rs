//! What the tests of several tiers use.

#![allow(dead_code, reason = "no tier uses all of it")]

pub mod audit;
pub mod backup;
mod beside;
pub mod bmc;
pub mod canaries;
pub mod commands;
pub mod conditions;
pub mod contract;
pub mod dice;
mod environment;
pub mod etcd;
pub mod fixtures;
pub mod image;
pub mod kinds;
pub mod kubectl;
mod left;
pub mod plane;
pub mod ports;
pub mod programs;
mod progress;
pub mod versions;
pub mod wait;
pub mod world;
