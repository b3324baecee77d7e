//! What may be done with the Lease of the leader election, from what was seen of it. No clock of another
//! machine is believed: a Lease has run out when it was not renewed for its whole duration by our own clock
//! (as in client-go's leaderelection). Every write carries the resource version that was seen, so of two who
//! try at once one gets a conflict.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use tokio::time::Instant;

/// How long the Lease is good for without renewal, in seconds. Longer than the API server or its etcd may be
/// away for a restart.
pub const LEASE_SECONDS: i32 = 45;

/// The Lease as it was last seen, and since when it has stood so.
#[derive(Clone, Debug)]
pub struct LeaseView {
    lease: Lease,
    since: Instant,
}

impl LeaseView {
    /// `lease` as seen at `now`; `before` is what was seen earlier.
    pub fn new(lease: Lease, before: Option<&Self>, now: Instant) -> Self {
        let unchanged = before.filter(|seen| signs_of_life(&seen.lease) == signs_of_life(&lease));
        Self {
            since: unchanged.map_or(now, |seen| seen.since),
            lease,
        }
    }

    /// Who holds it; nobody when it was given back.
    pub fn holder(&self) -> Option<&str> {
        let holder = self.lease.spec.as_ref()?.holder_identity.as_deref();
        holder.filter(|holder| !holder.is_empty())
    }

    /// When `identity` may take it: at once when it is its own or nobody's, else when it has run out.
    pub fn free_at(&self, identity: &str) -> Instant {
        match self.holder() {
            Some(holder) if holder != identity => self.since + self.duration(),
            _ => self.since,
        }
    }

    /// The Lease as `identity` renews or takes it at `time`.
    pub fn held_by(&self, identity: &str, time: Timestamp) -> Lease {
        let spec = self.lease.spec.clone().unwrap_or_default();
        let taken = self.holder() != Some(identity);
        let transitions = spec.lease_transitions.unwrap_or(0) + i32::from(taken);
        let kept = spec.acquire_time.clone().filter(|_| !taken);
        Lease {
            metadata: self.lease.metadata.clone(),
            spec: Some(LeaseSpec {
                acquire_time: kept.or(Some(MicroTime(time))),
                lease_transitions: Some(transitions),
                ..held(identity, time)
            }),
        }
    }

    /// The Lease as its holder gives it back.
    pub fn given_back(&self) -> Lease {
        let mut lease = self.lease.clone();
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
        }
        lease
    }

    fn duration(&self) -> Duration {
        let spec = self.lease.spec.as_ref();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Duration::from_secs(seconds.unwrap_or(LEASE_SECONDS.unsigned_abs().into()))
    }
}

/// A Lease that nobody had, as `identity` makes it at `time`.
pub fn first(name: &str, identity: &str, time: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            acquire_time: Some(MicroTime(time)),
            lease_transitions: Some(0),
            ..held(identity, time)
        }),
    }
}

fn held(identity: &str, time: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(LEASE_SECONDS),
        renew_time: Some(MicroTime(time)),
        ..LeaseSpec::default()
    }
}

/// What changes when a holder renews it, or another takes it.
fn signs_of_life(lease: &Lease) -> (Option<&str>, Option<&MicroTime>) {
    let spec = lease.spec.as_ref();
    (
        spec.and_then(|spec| spec.holder_identity.as_deref()),
        spec.and_then(|spec| spec.renew_time.as_ref()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Duration = Duration::from_secs(45);

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_lease_runs_out_when_nobody_renewed_it_for_its_duration_by_our_clock() {
        let start = Instant::now();
        // renewed long ago by its own clock: what counts is what we have seen
        let seen = LeaseView::new(first("tatara", "other", time(0)), None, start);
        assert_eq!(seen.free_at("me"), start + DURATION);
        let again = LeaseView::new(seen.lease.clone(), Some(&seen), start + DURATION / 2);
        assert_eq!(again.free_at("me"), start + DURATION);
        let renewed = again.held_by("other", time(10));
        let renewed = LeaseView::new(renewed, Some(&again), start + DURATION / 2);
        assert_eq!(renewed.free_at("me"), start + DURATION / 2 + DURATION);
    }

    #[test]
    fn a_lease_that_is_mine_or_nobodys_is_free_at_once() {
        let start = Instant::now();
        let mine = LeaseView::new(first("tatara", "me", time(0)), None, start);
        assert_eq!(mine.free_at("me"), start);
        let given_back = LeaseView::new(mine.given_back(), Some(&mine), start);
        assert_eq!(given_back.holder(), None);
        assert_eq!(given_back.free_at("other"), start);
        let empty = LeaseView::new(Lease::default(), None, start);
        assert_eq!(empty.free_at("me"), start);
    }

    #[test]
    fn only_another_holder_is_a_transition() {
        let mine = LeaseView::new(first("tatara", "me", time(0)), None, Instant::now());
        let renewed = mine.held_by("me", time(10)).spec.unwrap();
        assert_eq!(renewed.lease_transitions, Some(0));
        assert_eq!(renewed.acquire_time, Some(MicroTime(time(0))));
        assert_eq!(renewed.renew_time, Some(MicroTime(time(10))));
        let taken = mine.held_by("other", time(60)).spec.unwrap();
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(taken.acquire_time, Some(MicroTime(time(60))));
        assert_eq!(taken.holder_identity.as_deref(), Some("other"));
    }

    #[test]
    fn a_write_is_one_of_what_was_seen() {
        let mut lease = first("tatara", "other", time(0));
        lease.metadata.resource_version = Some("7".into());
        let seen = LeaseView::new(lease, None, Instant::now());
        let version = |lease: Lease| lease.metadata.resource_version;
        assert_eq!(version(seen.held_by("me", time(60))).as_deref(), Some("7"));
        assert_eq!(version(seen.given_back()).as_deref(), Some("7"));
    }
}
