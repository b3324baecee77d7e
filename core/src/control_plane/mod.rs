//! The control plane of a cluster: its health and its components, the members of its etcd, and
//! which changes they allow.

pub mod component;
pub mod health;
pub mod members;
pub mod orphaned_members;
pub mod peers;
pub mod purpose;
pub mod quorum;
pub mod turn;

pub use members::{Member, MemberHealth, MemberId, Members};
pub use purpose::Purpose;
pub use quorum::{Change, Obstacle, permits};
