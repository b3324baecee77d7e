//! What is decided, and the types of the API: no I/O, no clock, no client. Its manifest names no
//! crate that has any (`hack/lint` looks at what these need in turn), and `clippy.toml` beside it
//! refuses what the standard library has.
//!
//! | module | what it holds |
//! |---|---|
//! | [`api`] | types of the API |
//! | [`machine`], [`host`], [`cluster`] and the other kinds | what a pass knows, the next actions and why, what it reports |
//! | [`kubeadm`] | kubeadm configuration and version rules |
//! | [`node`] | the steps that run on a host, rendered from `templates/node/` |
//! | [`installer`] | the answer file of an operating system's installer, for one host |

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_macros,
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files, and print"
    )
)]

pub mod annotations;
pub mod api;
pub mod attempt_record;
pub mod backoff;
pub mod claim;
pub mod cluster;
pub mod cluster_profile;
pub mod control_plane;
pub mod credential;
pub mod drain;
pub mod finalizers;
pub mod host;
pub mod hypervisor;
pub mod installer;
mod key;
pub mod kstatus;
pub mod kubeadm;
mod letters;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
pub mod merge_patch;
mod next;
pub mod node;
pub mod node_change;
pub mod node_view;
pub mod pace;
pub mod paused;
mod plan;
pub mod planner;
pub mod power;
pub mod proof;
pub mod remedy;
pub mod retry;
pub mod settings;
pub mod shown;
pub mod status_write;
pub mod trouble;
pub mod whys;
pub mod wire;
pub mod words;
pub mod yaml;

pub use api::why::Why;
pub use attempt_record::AttemptRecord;
pub use key::Key;
pub use next::{Next, new_for};
pub use node_view::NodeView;
pub use plan::{Plan, Reports};
