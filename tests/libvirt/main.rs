//! The manager and a real hypervisor: libvirtd, QEMU and `tatara-gateway` of hack/, without an operating system
//! in the virtual machines. What happens inside one is tested by tests/vm.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]
#![allow(dead_code, reason = "the support modules serve other files as well")]

#[path = "../support/commands.rs"]
mod commands;
mod contract;
mod faults;
mod machines;
#[path = "../support/plane.rs"]
mod plane;
#[path = "../support/contract/mod.rs"]
mod provider_contract;
mod world;
