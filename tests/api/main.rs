//! What needs a real API server, sshd or libvirtd, and no hosts. Run by `hack/test api`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here fails the test"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a test has no other clock, and waits for real programs"
)]

mod admission;
mod cli;
mod cluster_profile;
mod engine;
mod foreign_definitions;
mod install;
mod libvirt;
mod manager;
mod perturbed;
mod redfish_peer;
mod simulated;
mod ssh;
#[path = "../support/mod.rs"]
mod support;
mod workload;
