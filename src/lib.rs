//! Tatara turns machines that people own into Kubernetes clusters. What it decides, and the types
//! of its API, are [`tatara_core`]; [`tatara_redfish`] is its client of BMCs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`] | runs controllers: one driver for all kinds |
//! | [`controllers`] | one folder per kind: observe, and perform what was planned |
//! | [`etcd`] | a client of the members of a control plane's etcd |
//! | [`pki`] | certificate authorities, kubeconfigs, bootstrap tokens |
//! | [`media`] | installation images, served to a BMC for one host and one installation |
//! | [`gateway`] | libvirt hypervisors over HTTP: client and events of `tatara-gateway` |
//! | [`providers`] | where machines come from, behind one contract: `ssh`, `libvirt`, `simulated`; BMCs, installing |
//! | [`remote`] | SSH: connections, commands, files, tunnels, and the steps of a host |
//! | [`store`] | one watch per kind, indexed; wakes controllers |
//! | [`workload`] | workload clusters: client, Nodes, drain, health |
//! | [`memory`] | what this process knows of each object, by UID |
//! | [`metrics`] | Prometheus metrics |
//! | [`manager`] | wiring: leader election, health, start and shutdown |
//! | [`cli`] | the commands of `tatara` |

// tests/support names the crate from outside; the unit tier runs some of it
#[cfg(test)]
extern crate self as tatara;

pub mod cli;
pub mod clock;
pub mod controllers;
pub mod engine;
pub mod etcd;
pub mod gateway;
pub mod manager;
pub mod media;
pub mod memory;
pub mod metrics;
pub mod pki;
pub mod providers;
pub mod remote;
pub mod store;
pub mod workload;
