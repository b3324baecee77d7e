//! Consecutive failures of the passes over an object. In memory: after a restart they are retried
//! at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Chain, ReconcileError};
use tatara_core::api::conditions::{ConditionType, Finding, Reason};

/// Controller, namespace and name.
pub type Key = (&'static str, String, String);

/// First delay after a failure; it doubles each time.
const BASE: Duration = Duration::from_millis(200);
/// Longest delay.
const MAX: Duration = Duration::from_mins(1);

/// Consecutive failures (six seconds) before a condition reports them: transient ones are over by
/// then.
const QUIET: u32 = 6;
/// The same for an API server that is unavailable: a minute and a half.
const OUTAGE: u32 = 10;
/// How long a cause is reported at least: some causes differ in each pass.
const STANDS: SignedDuration = SignedDuration::from_mins(1);
/// Interval of checking an object that may not be reconciled, in addition to the wake when it may
/// be.
pub(super) const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Consecutive failures by object.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<Key, Row>>);

#[derive(Default)]
struct Row {
    count: u32,
    /// The reported cause, and since when.
    reported: Option<(String, Timestamp)>,
}

impl Failures {
    /// Counts a failure, and returns the delay before the next pass.
    pub fn next_delay(&self, key: &Key) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = &mut failures.entry(key.clone()).or_default().count;
        let delay = BASE.saturating_mul(1 << (*count).min(10)).min(MAX);
        *count += 1;
        delay
    }

    /// The finding about a pass that fails repeatedly, and whether it is new.
    pub fn report(
        &self,
        key: &Key,
        error: &ReconcileError,
        now: Timestamp,
    ) -> Option<(Finding, bool)> {
        let quiet = if error.is_outage() { OUTAGE } else { QUIET };
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = failures.get_mut(key)?;
        if row.count < quiet || error.is_conflict() || error.is_loss() {
            return None;
        }
        let (controller, ..) = key;
        let cause = Chain(error).to_string();
        let remedy = error.remedy();
        let message = format!("{controller}: {cause}. {remedy}; retried at least every minute");
        let is_news = row.reported.as_ref().is_none_or(|(reported, since)| {
            *reported != message && now.duration_since(*since).abs() >= STANDS
        });
        if is_news {
            row.reported = Some((message, now));
        }
        let (message, _) = row.reported.as_ref()?;
        let finding = Finding::no(ConditionType::Reconciled, Reason::PassFailed, message);
        Some((finding, is_news))
    }

    /// Forgets the failures after a pass that succeeded.
    pub fn clear(&self, key: &Key) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    #[test]
    fn what_fails_for_long_is_reported_and_each_cause_for_a_minute() {
        let failures = Failures::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let error = |cause: &str| ReconcileError::other("mend it", cause);
        let mut news = Vec::new();
        for second in 1..200 {
            failures.next_delay(&key);
            let cause = format!("{}", second / 5);
            if let Some((finding, true)) = failures.report(&key, &error(&cause), at(second)) {
                news.push((second, finding.message()));
            }
        }
        let seconds: Vec<_> = news.iter().map(|(second, _)| *second).collect();
        assert_eq!(seconds, [6, 66, 126, 186]);
        let remedy =
            "See the manager's log for the earlier attempts; retried at least every minute";
        let expected = format!("machine: failed to mend it: 1. {remedy}");
        assert_eq!(news[0].1, expected);
        let (same, is_news) = failures
            .report(&key, &error("other"), at(190))
            .expect("one");
        assert_eq!((same.message(), is_news), (news[3].1.clone(), false));
        failures.clear(&key);
        failures.next_delay(&key);
        assert_eq!(failures.report(&key, &error("0"), at(200)), None);
    }

    #[test]
    fn an_outage_is_reported_later_and_what_passes_by_itself_never() {
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let api = |code| {
            let status = kube::core::Status {
                code,
                ..kube::core::Status::default()
            };
            ReconcileError::api("write it")(kube::Error::Api(Box::new(status)))
        };
        // an error, and the failure that is reported
        let cases = [
            (api(403), Some(6)),
            (api(500), Some(10)),
            (api(409), None),
            (ReconcileError::NotLeading, None),
        ];
        for (error, expected) in cases {
            let failures = Failures::default();
            let first = (1..30).find(|second| {
                failures.next_delay(&key);
                failures.report(&key, &error, at(*second)).is_some()
            });
            assert_eq!(first, expected, "{error}");
        }
    }
}
