//! What came of the addons the last time, and when they are due again. Pure.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::observed::Addons;
use crate::Next;

/// First delay after addons could not be applied, doubled each time.
const BASE: SignedDuration = SignedDuration::from_secs(2);
/// Longest delay while something is missing that is most likely about to come.
const PENDING: SignedDuration = SignedDuration::from_secs(60);
/// Longest delay after a refusal: what refused may be the cluster itself, which has only just been
/// made.
const FAILED: SignedDuration = SignedDuration::from_secs(300);

/// How often in a row a cluster refuses before it is told: an API server that has just started
/// refuses what it accepts as soon as it has read its own roles.
const TOLD_FROM: u32 = 3;

/// The versions at which the sources of addons were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAt {
    /// The Cluster's generation.
    pub generation: Option<i64>,
    /// Revision of its sources.
    pub revision: u64,
}

/// What came of the addons the last time.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Digest of their sources.
    digest: String,
    /// What came of it.
    state: Addons,
    read: ReadAt,
    at: Timestamp,
    /// How often in a row these sources could not be applied.
    failures: u32,
}

impl Attempt {
    /// What came of the addons just now, after what came of them before.
    pub fn new(
        before: Option<&Self>,
        (digest, state): (String, Addons),
        read: ReadAt,
        now: Timestamp,
    ) -> Self {
        let same = before.filter(|before| before.read == read);
        let failures = match state {
            Addons::Applied | Addons::NotYet => 0,
            Addons::Pending(_) | Addons::Refused(_) | Addons::Failed(_) => {
                1 + same.map_or(0, |same| same.failures)
            }
        };
        Self {
            digest,
            state,
            read,
            at: now,
            failures,
        }
    }

    /// What is told of it.
    pub fn told(&self) -> Addons {
        match self.state {
            Addons::Refused(_) if self.failures < TOLD_FROM => Addons::NotYet,
            _ => self.state.clone(),
        }
    }

    /// Whether these sources are applied.
    pub fn is_of(&self, digest: &str) -> bool {
        self.digest == digest && self.state == Addons::Applied
    }

    /// Whether they have to be applied again.
    pub fn is_due(&self, read: ReadAt, now: Timestamp) -> bool {
        let waited = |delay| now.duration_since(self.at) >= delay;
        self.read != read || self.delay(self.failures).is_some_and(waited)
    }

    /// When they have to be looked at again. An attempt that is made now is taken to end as the
    /// last did.
    pub fn again(&self, read: ReadAt, now: Timestamp) -> Next {
        let is_due = self.is_due(read, now);
        let (from, failures) = if is_due {
            (now, self.failures.saturating_add(1))
        } else {
            (self.at, self.failures)
        };
        Next::at(self.delay(failures).map(|delay| from + delay), now)
    }

    fn delay(&self, failures: u32) -> Option<SignedDuration> {
        let longest = match self.state {
            Addons::Applied | Addons::NotYet => return None,
            Addons::Pending(_) => PENDING,
            Addons::Refused(_) | Addons::Failed(_) => FAILED,
        };
        let doubled = BASE * (1 << failures.saturating_sub(1).min(10));
        Some(doubled.min(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    /// How often addons that come to this are applied in so many seconds, when somebody looks every
    /// second.
    fn applied(state: &Addons, seconds: i64) -> u32 {
        let (mut last, mut times) = (None::<Attempt>, 0);
        let read = ReadAt::default();
        for now in (0..seconds).map(at) {
            if last.as_ref().is_none_or(|last| last.is_due(read, now)) {
                times += 1;
                let came = ("digest".into(), state.clone());
                last = Some(Attempt::new(last.as_ref(), came, read, now));
            }
        }
        times
    }

    #[test]
    fn what_cannot_be_applied_is_tried_again_ever_more_rarely() {
        assert_eq!(applied(&Addons::Applied, 3_600), 1);
        // 0, 2, 6, 14, 30, 62, then every minute
        assert_eq!(applied(&Addons::Pending("a kind".into()), 63), 6);
        assert_eq!(applied(&Addons::Pending("a kind".into()), 3_600), 64);
        // 0, 2, 6, 14, 30, 62, 126, 254, 510, then every five minutes
        assert_eq!(applied(&Addons::Failed("refused".into()), 3_600), 19);
    }

    #[test]
    fn a_refusal_is_told_once_it_stands_and_a_missing_source_at_once() {
        let read = ReadAt::default();
        let mut last = None::<Attempt>;
        let mut told = Vec::new();
        for (second, refusal) in [(0, "one"), (2, "two"), (6, "three"), (14, "four")] {
            let came = ("digest".to_owned(), Addons::Refused(refusal.into()));
            let attempt = Attempt::new(last.as_ref(), came, read, at(second));
            assert!(
                !attempt.is_due(read, at(second + 1)) && attempt.is_due(read, at(second + 300))
            );
            told.push(attempt.told());
            last = Some(attempt);
        }
        let refused = |what: &str| Addons::Refused(what.into());
        let (not_yet, stands) = (Addons::NotYet, [refused("three"), refused("four")]);
        assert_eq!(told[..2], [not_yet.clone(), not_yet]);
        assert_eq!(told[2..], stands);
        let missing = Addons::Failed("ConfigMap a does not exist".into());
        let came = ("digest".to_owned(), missing.clone());
        assert_eq!(Attempt::new(None, came, read, at(0)).told(), missing);
    }

    #[test]
    fn a_changed_source_is_applied_at_once_and_begins_anew() {
        let came = |state| ("digest".to_owned(), state);
        let (old, new) = (
            ReadAt::default(),
            ReadAt {
                revision: 1,
                ..ReadAt::default()
            },
        );
        let mut last = Attempt::new(None, came(Addons::Pending("a".into())), old, at(0));
        last = Attempt::new(Some(&last), came(Addons::Pending("a".into())), old, at(2));
        assert!(!last.is_due(old, at(5)) && last.is_due(old, at(6)));
        assert!(last.is_due(new, at(3)));
        last = Attempt::new(Some(&last), came(Addons::Pending("a".into())), new, at(3));
        assert!(last.is_due(new, at(5)), "the first delay again");
        let applied = Attempt::new(Some(&last), came(Addons::Applied), new, at(5));
        assert!(!applied.is_due(new, at(1_000_000)));
    }

    #[test]
    fn the_next_look_is_when_the_next_attempt_is_due() {
        let read = ReadAt::default();
        let came = ("digest".to_owned(), Addons::Pending("a".into()));
        let first = Attempt::new(None, came, read, at(0));
        let after = |seconds| Next::After(std::time::Duration::from_secs(seconds));
        assert_eq!(first.again(read, at(0)), after(2));
        assert_eq!(first.again(read, at(1)), after(1));
        assert_eq!(first.again(read, at(2)), after(4), "an attempt is made now");
        let came = ("digest".to_owned(), Addons::Applied);
        let done = Attempt::new(None, came, read, at(0));
        assert_eq!(done.again(read, at(9)), Next::OnChange);
    }
}
