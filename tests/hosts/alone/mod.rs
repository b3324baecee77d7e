//! Worlds that have no other beside them (`support/beside.rs`), only the single hosts of `host`. Tests start in the order of their
//! names: so these are first, and nobody waits until the others have ended.

mod components;
mod control_planes;
mod settings;
