//! One folder per kind; each reads observe, plan, execute, report.

pub mod claims;
pub mod paused;
pub mod unreadable;

pub mod cluster;
pub mod cluster_profile;
pub mod credential;
pub mod host;
pub mod hypervisor;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
pub mod whose;
