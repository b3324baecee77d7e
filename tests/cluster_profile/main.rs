//! ClusterProfiles against a real kube-apiserver with the upstream definition. One API server is both
//! the management cluster and the member; nothing in the code under test can tell.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic)]

mod consumer;
mod end;
mod passes;
#[path = "../support/plane.rs"]
mod plane;
mod publish;
mod upstream;
mod world;
