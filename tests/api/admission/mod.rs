//! What a real API server says to manifests: the good ones are stored as they are, and the answer
//! to a bad one names the field, the value and the remedy.

#![allow(clippy::too_many_lines, reason = "a table is as long as its cases")]

mod clusters;
mod inventory;
mod kept;
mod machines;
pub mod manifests;
pub mod policies;
mod sets;
mod shown;
mod stored;
