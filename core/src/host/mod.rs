//! Hosts: what is observed, planned and reported.

mod contact;
mod duplicate_hosts;
pub mod guard;
pub mod installation;
pub mod left;
mod observed;
pub mod plan;
pub mod released;
pub mod status;
pub mod switch;

pub use super::power::PowerState;
pub use contact::{ContactError, PowerReading};
pub use duplicate_hosts::{DuplicateHosts, is_same_server};
pub use observed::{Consumer, Contact, Observed, Owner, Underway};
