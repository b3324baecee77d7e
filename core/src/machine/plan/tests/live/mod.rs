//! What an effect requires of what was read live just before it.

mod claim;
mod end;
mod etcd;
mod node;
mod record;
mod settings;
mod turn;
mod virtual_machine;

use super::*;
use crate::api::conditions::Reason;

/// The reason why not.
fn reason<T>(may: Result<T, crate::api::conditions::Finding>) -> Option<Reason> {
    may.err().map(|finding| finding.reason())
}
