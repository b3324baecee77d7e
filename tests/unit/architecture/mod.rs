//! The rules of the source tree that no compiler checks.

mod cycles;
mod files;
mod imports;
mod remedies;
mod sentences;
mod sources;
mod terminal;
mod writers;
