//! Where a Machine is, and whether that answers, by what objects show. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use tatara_core::api::Host;
use tatara_core::api::conditions::{ConditionType, Status, find};

/// Whether the Machine of this UID has the claim of a Host.
pub fn claims(host: &Host, uid: &str) -> bool {
    let claim = host.spec.consumer_ref.as_ref();
    claim.is_some_and(|claim| claim.uid == uid)
}

/// Whether the server of a Host has the marker of this Machine, whose claim it is not.
pub fn marks(host: &Host, uid: &str) -> bool {
    let marker = host.status.as_ref();
    let marker = marker.and_then(|status| status.marker.as_ref());
    marker.is_some_and(|marker| marker.uid == uid)
}

/// The Host of a Machine: with its claim, which may be edited; or its marker, as was seen last; or
/// as it has `chosen`.
pub fn host<'a>(hosts: &'a [Host], uid: &str, chosen: Option<&String>) -> Option<&'a Host> {
    let place = |host: &Host| {
        let is_chosen = chosen.is_some() && host.metadata.name.as_ref() == chosen;
        let all = [claims(host, uid), marks(host, uid), is_chosen];
        all.into_iter().position(|is_so| is_so)
    };
    let known = hosts.iter().filter_map(|host| Some((place(host)?, host)));
    known.min_by_key(|(place, _)| *place).map(|(_, host)| host)
}

/// Whether it answers the manager, and since when, by condition Reachable.
pub fn answers(conditions: &[Condition]) -> Option<(bool, Timestamp)> {
    let reachable = find(conditions, ConditionType::Reachable)?;
    let since = reachable.last_transition_time.0;
    match Status::parse(&reachable.status) {
        Status::True => Some((true, since)),
        Status::False => Some((false, since)),
        Status::Unknown => None,
    }
}
