//! A management cluster, Hosts with their servers, the etcd of a workload cluster, and the manager, in memory. They are moved by
//! the plans of the library, by jobs that go on or end, and by what goes wrong; what an effect requires just before it is judged
//! by the same functions of the core as in the controllers.

pub mod acts;
pub mod build;
pub mod cluster;
pub mod events;
pub mod hosts;
pub mod jobs;
pub mod observed;
pub mod pass;
pub mod peers;
pub mod perform;
pub mod planner;
pub mod rest;
pub mod safety;
pub mod scope;
pub mod settings;
pub mod shown;
pub mod state;
pub mod status;
pub mod text;
pub mod view;
