//! Hosts: what is observed, planned and reported.

mod contact;
mod observed;
pub mod plan;
pub mod status;
mod twins;

pub use super::power::PowerState;
pub use contact::{ContactError, PowerReading};
pub use observed::{Consumer, Contact, Observed, Owner, Underway};
pub use twins::{Twins, is_same_server};
