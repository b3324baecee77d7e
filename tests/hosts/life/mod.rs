//! Clusters of the quickstart on real hosts, from their manifests to their end, and what goes wrong in between.

mod bmc;
mod budget;
mod claims;
mod cluster;
mod copied;
mod crash;
mod cuts;
mod deletion;
mod dropped;
mod edited;
mod examples;
pub mod gates;
mod hosts;
mod install;
mod jump;
mod namespaces;
mod reinstall;
mod restored;
mod secrets;
mod simulated_installer;
mod turn;
