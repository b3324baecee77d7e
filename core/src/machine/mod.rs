//! Machines: what is observed, planned and reported.

pub mod apart;
mod ask;
mod cluster;
pub mod kind;
pub mod live;
mod member;
pub mod neighbours;
mod observed;
pub mod own_node;
pub mod plan;
pub mod reported;
pub mod status;
pub mod units;

pub use ask::{Released, must_ask, must_ask_released};
pub use cluster::ObservedCluster;
pub use member::{ControlPlaneMachine, LastLook};
pub use neighbours::{AddonsDue, Neighbours};
pub use observed::{
    Contact, GatewayView, HostChoice, Infrastructure, Lookup, MOMENT, Namesake, Observed,
    PendingClaim, Placement, Stuck, Unheld, VirtualMachine, is_begun,
};
