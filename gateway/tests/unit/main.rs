//! The gateway on libvirt's test driver: the program itself, over its Unix socket and over TLS.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod auth;
mod capacity;
mod cut;
mod description;
mod events;
mod life;
mod machines;
mod requests;
