//! What needs a second Kubernetes version, or boots operating systems. Run by `hack/test slow`.

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

mod installer;
mod roll;
#[path = "../support/mod.rs"]
mod support;
mod vm;
