//! Whether a manager is running: without one, the conditions are out of date.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;

use super::age::age;
use super::snapshot::Objects;
use crate::manager::{LEASE_NAME, LEASE_SECONDS};

/// Tolerated difference to the manager's clock, whose time is in the Lease.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(30);

/// The Lease of the manager, if the caller may read it.
#[derive(Debug, Default)]
pub struct Leader {
    leases: Objects<Lease>,
    is_known: bool,
}

impl Leader {
    /// Applies one event of the watch of this Lease.
    pub fn take(&mut self, event: Event<Lease>) {
        self.is_known |= matches!(event, Event::InitDone);
        self.leases.take(event);
    }

    /// Records that the Lease cannot be read; there is no notice then.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// A notice that no manager leads, with the remedy. None if one leads, or if that is unknown.
    pub fn notice(&self, namespace: &str, now: Timestamp) -> Option<String> {
        let lease = format!("Lease {namespace}/{LEASE_NAME}");
        let what = match self.leases.get(LEASE_NAME) {
            _ if !self.is_known => return None,
            None => format!(
                "{lease} does not exist: no manager is running, or its Lease is in another namespace (--lease-namespace)"
            ),
            Some(held) => expired(held, &lease, now)?,
        };
        Some(format!(
            "{what}. The state below is the last one reported. To find the cause: kubectl -n {namespace} describe pods; \
             kubectl -n {namespace} logs deployment/tatara-manager; of a manager that is no Pod, its own log"
        ))
    }
}

fn expired(lease: &Lease, named: &str, now: Timestamp) -> Option<String> {
    let spec = lease.spec.clone().unwrap_or_default();
    if spec.holder_identity.is_none_or(|holder| holder.is_empty()) {
        return Some(format!(
            "no manager leads: the last one stopped and released {named}"
        ));
    }
    let seconds = spec.lease_duration_seconds.unwrap_or(LEASE_SECONDS);
    let renewed = spec.renew_time?.0;
    let end = renewed + SignedDuration::from_secs(seconds.into());
    let is_over = now.duration_since(end) > CLOCKS_DIFFER;
    is_over.then(|| {
        let ago = age(end, now);
        format!("no manager leads: {named} expired {ago} ago")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_000_000;

    fn lease(spec: &serde_json::Value) -> Lease {
        let lease = json!({"metadata": {"name": LEASE_NAME}, "spec": spec});
        serde_json::from_value(lease).expect("a Lease")
    }

    fn renewed(seconds_ago: i64) -> Lease {
        let time = Timestamp::from_second(NOW - seconds_ago).expect("a time");
        lease(&json!({"holderIdentity": "a", "leaseDurationSeconds": 45,
            "renewTime": format!("{time:.6}")}))
    }

    fn listed(lease: Lease) -> Vec<Event<Lease>> {
        vec![Event::Init, Event::InitApply(lease), Event::InitDone]
    }

    #[test]
    fn a_manager_that_does_not_run_is_reported_and_one_that_may_run_is_not() {
        let deleted = [listed(renewed(5)), vec![Event::Delete(renewed(5))]].concat();
        let listed_again = [listed(renewed(5)), vec![Event::Init, Event::InitDone]].concat();
        for (events, says) in [
            (vec![], None),
            (vec![Event::Init], None),
            (
                vec![Event::Init, Event::InitDone],
                Some("Lease tatara-system/tatara does not exist: "),
            ),
            (deleted, Some("Lease tatara-system/tatara does not exist: ")),
            (
                listed_again,
                Some("Lease tatara-system/tatara does not exist: "),
            ),
            (listed(renewed(5)), None),
            // a clock that differs, also one that is behind
            (listed(renewed(70)), None),
            (listed(renewed(-300)), None),
            (
                listed(renewed(45 + 180)),
                Some("no manager leads: Lease tatara-system/tatara expired 3m ago. "),
            ),
            (
                listed(lease(&json!({"holderIdentity": ""}))),
                Some(
                    "no manager leads: the last one stopped and released Lease tatara-system/tatara. ",
                ),
            ),
        ] {
            let mut leader = Leader::default();
            for event in events {
                leader.take(event);
            }
            let now = Timestamp::from_second(NOW).expect("a time");
            let notice = leader.notice("tatara-system", now);
            match (notice, says) {
                (None, None) => {}
                (Some(notice), Some(says)) => {
                    assert!(notice.starts_with(says), "{notice}");
                }
                (notice, says) => panic!("{notice:?}, but not {says:?}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_read_any_more_is_not_reported() {
        let mut leader = Leader::default();
        for event in listed(renewed(3600)) {
            leader.take(event);
        }
        leader.forget();
        let now = Timestamp::from_second(NOW).expect("a time");
        assert_eq!(leader.notice("tatara-system", now), None);
    }
}
