//! Clusters of the quickstart on real hosts, from their manifests to their end, and what goes wrong in between.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic)]

#[path = "../support/audit.rs"]
mod audit;
#[path = "../support/bmc/mod.rs"]
mod bmc;
#[path = "../support/canaries.rs"]
mod canaries;
mod claims;
#[path = "../support/commands.rs"]
#[allow(dead_code)]
mod commands;
mod conditions;
mod copied;
mod crash;
mod deletion;
mod dropped;
mod edited;
mod examples;
mod gates;
mod hosts;
#[path = "../support/image.rs"]
mod image;
mod install;
mod jump;
mod namespaces;
mod power;
mod redfish;
mod reinstall;
mod restored;
mod secrets;
mod simulated_installer;
mod turn;
mod whole;
mod world;
