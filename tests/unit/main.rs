//! What needs nothing but this repository. Run by `hack/test unit`.

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

mod architecture;
mod completion;
mod crds;
mod docs;
mod durable_facts;
mod node_scripts;
mod planted;
mod redfish;
mod rollout;
#[path = "../support/mod.rs"]
mod support;
mod toolchain;
