//! Decisions about the leader election Lease, from its observed states. Other machines' clocks are
//! not trusted: a Lease expires when it was not renewed for its whole duration according to our own
//! clock (as in client-go's leaderelection). Every write contains the observed resourceVersion, so
//! of two concurrent writers one gets a conflict.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use tokio::time::Instant;

/// Duration of the Lease without renewal, in seconds. Longer than a restart of the API server or
/// its etcd takes.
pub const LEASE_SECONDS: i32 = 45;

/// The Lease as it was last observed, and since when it is unchanged.
#[derive(Clone, Debug)]
pub struct LeaseView {
    lease: Lease,
    since: Instant,
}

impl LeaseView {
    /// `lease` as observed at `now`; `before` is the earlier observation.
    pub fn new(lease: Lease, before: Option<&Self>, now: Instant) -> Self {
        let unchanged = before.filter(|seen| signs_of_life(&seen.lease) == signs_of_life(&lease));
        Self {
            since: unchanged.map_or(now, |seen| seen.since),
            lease,
        }
    }

    /// Its holder; `None` after a release.
    pub fn holder(&self) -> Option<&str> {
        let holder = self.lease.spec.as_ref()?.holder_identity.as_deref();
        holder.filter(|holder| !holder.is_empty())
    }

    /// When `identity` may acquire it: at once if it is the holder or there is none, else at its
    /// expiry.
    pub fn free_at(&self, identity: &str) -> Instant {
        match self.holder() {
            Some(holder) if holder != identity => self.since + self.duration(),
            _ => self.since,
        }
    }

    /// When it was renewed, in microseconds since 1970; 0 where it does not say.
    pub fn renewed(&self) -> i64 {
        let spec = self.lease.spec.as_ref();
        let time = spec.and_then(|spec| spec.renew_time.as_ref());
        time.map_or(0, |time| time.0.as_microsecond())
    }

    /// The Lease as `identity` renews or acquires it at `time`; after its last renewal, also where
    /// that was by a clock that is ahead.
    pub fn held_by(&self, identity: &str, time: Timestamp) -> Lease {
        let next = self.renewed().saturating_add(1);
        let next = Timestamp::from_microsecond(next).unwrap_or(time);
        let time = time.max(next);
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

    /// The Lease as its holder releases it.
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

/// A new Lease, as `identity` creates it at `time`.
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

/// The fields that change when the holder renews it, or another process acquires it.
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
        // its renewTime is long ago, but only our own observations count
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

    #[test]
    fn a_renewal_is_later_than_the_one_before_whatever_the_clocks_say() {
        let start = Instant::now();
        let other = LeaseView::new(first("tatara", "other", time(100)), None, start);
        for (now, expected) in [(500, 500_000_000), (100, 100_000_001), (7, 100_000_001)] {
            let mine = LeaseView::new(other.held_by("me", time(now)), Some(&other), start);
            assert_eq!(mine.renewed(), expected, "{now}");
        }
        assert_eq!(LeaseView::new(Lease::default(), None, start).renewed(), 0);
    }
}
