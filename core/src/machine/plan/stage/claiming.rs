//! Its claim is not in the store yet: nothing is known of the host.

use super::super::Plan;
use super::super::deletion::deleting;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::Observed;

/// The watch shows the claim in a moment.
pub(super) fn plan(observed: &Observed, host: &str) -> Plan {
    Plan::waiting(if observed.is_deleting() {
        let message =
            format!("claimed Host {host}; releasing it as soon as the watch shows the claim");
        deleting(Reason::WaitingForHost, message)
    } else {
        Finding::no(
            ConditionType::InfrastructureReady,
            Reason::Claiming,
            format!("claimed Host {host}; waiting until the watch shows the claim"),
        )
    })
}
