//! Machines: what is observed, planned and reported.

mod ask;
pub mod kind;
mod member;
pub mod neighbours;
mod observed;
pub mod plan;
pub mod settings;
pub mod status;
pub mod units;

pub use ask::must_ask;
pub use member::ControlPlaneMachine;
pub use neighbours::{AddonsDue, Neighbours};
pub use observed::{
    Contact, GatewayView, HostChoice, Infrastructure, Lookup, Namesake, Observed, ObservedCluster,
    PendingClaim, Placement, Refusal, SpecProblem, Stuck, Unheld, VirtualMachine, is_begun,
};
