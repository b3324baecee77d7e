//! What the manager does inside a member cluster, against a real kube-apiserver. There are no
//! kubelets behind it: Nodes, the state of pods and the status of budgets are written by hand.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod addons;
mod drain;
mod frozen;
mod nodes;
mod objects;
#[path = "../support/plane.rs"]
mod plane;
mod watch;
