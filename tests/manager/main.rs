//! The manager as it is shipped, under its own rights, on a real management plane. Its hosts are addresses at
//! which nobody answers.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]
#![allow(dead_code, reason = "the support modules serve other files as well")]

mod addons;
#[path = "../support/audit.rs"]
mod audit;
#[path = "../support/bmc/mod.rs"]
mod bmc;
mod bmcs;
#[path = "../support/commands.rs"]
mod commands;
mod deletion;
#[path = "../support/fixtures.rs"]
mod fixtures;
mod foreign;
mod given;
mod gone;
#[path = "../support/image.rs"]
mod image;
mod installs;
mod leader;
mod paused;
#[path = "../support/plane.rs"]
mod plane;
mod process;
mod published;
#[path = "../ssh/sshd.rs"]
mod sshd;
mod turn;
mod world;
