//! Its host was released, and is being reset.

use k8s_openapi::jiff::Timestamp;

use super::super::{Plan, drain, leaving, release};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::{Infrastructure, Observed};
use crate::remedy;

/// What its host still has to prove.
pub(super) fn plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    if !observed.is_deleting() {
        return Plan::waiting(Finding::no(
            ConditionType::InfrastructureReady,
            Reason::Released,
            by_hand(observed, held),
        ));
    }
    let plan = drain::ended(observed, release::plan(observed, held, now));
    leaving::first(observed, plan, true, now)
}

/// Its Host was released by hand, and the Machine still runs.
fn by_hand(observed: &Observed, held: &Infrastructure) -> String {
    let then = if observed.acts_as_control_plane() {
        "keeps running; leave it as it is".to_owned()
    } else {
        format!(
            "keeps running. When it is no longer needed: {} (its pods are evicted first)",
            remedy::machine::delete(&observed.marker.namespace, &observed.marker.machine)
        )
    };
    format!(
        "spec.consumerRef.releasing of Host {} was set by hand, and cannot be unset. Nothing is reset, and the node {then}",
        held.name
    )
}
