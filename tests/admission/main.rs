//! What a real API server says to manifests: the good ones are stored as they are, and the answer
//! to a bad one names the field, the value and the remedy.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "the support modules serve other files as well")]
#![allow(clippy::too_many_lines, reason = "a table is as long as its cases")]

#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/kubectl.rs"]
mod kubectl;
#[path = "../support/plane.rs"]
mod plane;

mod clusters;
mod inventory;
mod kept;
mod machines;
mod manifests;
mod policies;
mod sets;
mod shown;
mod stored;
