//! What an effect requires of what was read live just before it.

mod claim;
mod node;
mod virtual_machine;

use super::*;
use crate::api::conditions::{ConditionType, Reason};
