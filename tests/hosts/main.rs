//! What needs the hosts of hack/fleet: systemd, containerd and kubeadm as they are. Run by `hack/test hosts`.

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

mod alone;
mod host;
mod life;
mod logs;
#[path = "../support/mod.rs"]
mod support;
