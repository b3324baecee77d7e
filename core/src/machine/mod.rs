//! Machines: what is observed, planned and reported.

mod ask;
mod cluster;
pub mod kind;
pub mod live;
mod member;
mod observed;
pub mod own_node;
pub mod peer_versions;
mod peers;
pub mod plan;
pub mod reported;
pub mod status;
pub mod units;

pub use ask::{Released, must_ask, must_ask_released};
pub use cluster::ObservedCluster;
pub use member::{ControlPlaneMachine, LastLook};
pub use observed::{
    Contact, GatewayView, HostChoice, Infrastructure, Lookup, MOMENT, Namesake, Observed,
    PendingClaim, Placement, Stuck, Unheld, VirtualMachine, is_begun,
};
pub use peer_versions::PeerVersions;
pub use peers::{AddonsDue, Lane, Peers};
