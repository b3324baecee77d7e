//! One folder per kind: which facts are read, and how each action is performed. Decisions are in
//! [`tatara_core`].

pub mod base;
pub mod cluster_cache;
pub mod live_read;
pub mod ownership;
pub mod paged_list;
pub mod paused;
pub mod planner;
pub mod skew;
pub mod unreadable;
pub mod workloads;

pub mod cluster;
pub mod cluster_profile;
pub mod control_plane;
pub mod credential;
pub mod host;
pub mod hypervisor;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
