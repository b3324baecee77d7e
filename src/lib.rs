//! Tatara turns machines that people own into Kubernetes clusters.
//!
//! | module | what it holds |
//! |---|---|
//! | [`api`] | types of the API; no I/O |
//! | [`core`] | what is decided; pure |
//! | [`core::kubeadm`] | kubeadm configuration and version rules |
//! | [`core::node`] | the steps that run on a host, rendered from `templates/node/` |
//! | [`core::installer`] | what an installer of an operating system is told, for one host |
//! | [`engine`] | runs controllers: one driver for all kinds |
//! | [`controllers`] | one folder per kind: observe, and perform what was planned |
//! | [`pki`] | certificate authorities, kubeconfigs, bootstrap tokens |
//! | [`media`] | installers, served to BMCs for one host and one installation |
//! | [`gateway`] | libvirt hypervisors over HTTP: client and events of `tatara-gateway` |
//! | [`providers`] | where machines come from, behind one contract: `ssh`, `libvirt`, `simulated`; BMCs, installing |
//! | [`redfish`] | power, boot device and virtual media of servers, through their BMC |
//! | [`remote`] | SSH: connections, commands, files, tunnels, following a step |
//! | [`store`] | one watch per kind, indexed; wakes controllers |
//! | [`workload`] | the clusters that we made: client, nodes, drain, health |
//! | [`metrics`] | counts, as Prometheus reads them |
//! | [`manager`] | wiring: leader election, health, run |
//! | [`cli`] | the commands for people |

// tests/support names the crate from outside; the unit tier runs some of it
#[cfg(test)]
extern crate self as tatara;

pub mod api;
pub mod cli;
pub mod clock;
pub mod controllers;
pub mod core;
pub mod engine;
pub mod gateway;
pub mod manager;
pub mod media;
pub mod metrics;
pub mod pki;
pub mod providers;
pub mod redfish;
pub mod remote;
pub mod store;
pub mod workload;
