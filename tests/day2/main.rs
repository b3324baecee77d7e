//! Versions that move, on hosts with two Kubernetes versions. Run by `hack/test day2`.

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

mod faults;
mod five;
mod holders;
mod in_place;
mod observed;
mod page;
mod quorum;
mod requests;
mod restored;
#[path = "../support/mod.rs"]
mod support;
mod three;
mod versions;
mod virtual_ip;
