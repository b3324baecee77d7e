//! The SSH layer against real sshds on loopback. They need root, `/usr/sbin/sshd` and `ssh-keygen`.

// Helpers outside of test functions fail a test by panicking, as these do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sshd;

mod commands;
mod connecting;
mod credentials;
mod jumping;
mod pooling;
mod privilege;
mod tunnelling;
