//! What is decided, and nothing else: no I/O, no clock, no client. `tests/unit/architecture` holds what may be imported here.

pub mod backoff;
pub mod claim;
pub mod cluster;
pub mod cluster_profile;
pub mod control_plane;
pub mod credential;
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
pub mod paused;
mod plan;
pub mod power;
pub mod proof;
pub mod retry;
pub mod tried;
pub mod trouble;
pub mod wire;

pub use key::Key;
pub use next::Next;
pub use node_view::NodeView;
pub use plan::{Plan, Reports};
pub use tried::AttemptRecord;
