//! ClusterProfiles against a real kube-apiserver with the upstream definition. One API server is both
//! the management cluster and the member; nothing in the code under test can tell.

mod consumer;
mod end;
mod passes;
mod publish;
mod upstream;
mod world;
