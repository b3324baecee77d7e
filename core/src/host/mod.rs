//! Hosts: what is observed, planned and reported.

mod contact;
pub mod guard;
pub mod installation;
pub mod left;
mod observed;
pub mod plan;
pub mod released;
pub mod status;
pub mod switch;
mod twins;

pub use super::power::PowerState;
pub use contact::{ContactError, PowerReading};
pub use observed::{Consumer, Contact, Observed, Owner, Underway};
pub use twins::{Twins, is_same_server};
