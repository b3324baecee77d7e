//! Wiring: leader election, health, metrics, run.
