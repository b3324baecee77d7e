//! The planner of a control plane: it sees all its Machines, and grants the turn to one that asks
//! for it, in one order.
//!
//! A grant permits, and never commands: a Machine asks in its status (`turnRequest`), and goes on
//! by its own plan, which reads live, just before it acts, that it has the turn. So does the
//! Cluster, to remove an etcd member that belongs to no Machine. The turn is the annotation on the
//! CA Secret, written by compare-and-swap, so that a planner of a manager that does not lead any
//! more and this one exclude each other.
//!
//! What workers do one at a time needs no turn: [`settings`], [`drains`] and [`addons`] decide who
//! is next, from objects alone. Nothing of that is stored, so that nothing of it is ever old: each
//! pass derives it anew, and what begins is confirmed live.
//!
//! Absent: `kubeadm init`, which is elected by evidence on hosts; the end of a turn, which its
//! Machine proves.

pub mod addons;
pub mod drains;
mod observed;
pub mod peers;
mod plan;
pub mod settings;

#[cfg(test)]
mod tests;

pub use observed::{Asks, MemberView, Observed, Seat, Wants, has_orphan};
pub use plan::{Action, Plan, plan};
