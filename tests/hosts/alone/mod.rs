//! Worlds that have the machine to themselves (`support/beside.rs`). Tests start in the order of their names: so these
//! are first, and nobody waits until the others have ended.

mod components;
mod control_planes;
mod settings;
