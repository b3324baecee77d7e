//! The SSH layer against real sshds on loopback. They need root, `/usr/sbin/sshd` and `ssh-keygen`.

// Helpers outside of test functions fail a test by panicking, as these do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../support/contract/mod.rs"]
mod provider_contract;
mod sshd;

mod commands;
mod connecting;
mod contract;
mod credentials;
mod jumping;
mod pooling;
mod privilege;
mod tunnelling;
