//! Clusters of the quickstart on real hosts, from their manifests to their end, and what goes wrong in between.

mod budget;
mod claims;
mod copied;
mod crash;
mod deletion;
mod dropped;
mod edited;
mod examples;
pub mod gates;
mod hosts;
mod install;
mod jump;
mod namespaces;
mod power;
mod redfish;
mod reinstall;
mod restored;
mod secrets;
mod simulated_installer;
mod turn;
mod whole;
