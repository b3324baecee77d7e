//! The commands for people.
