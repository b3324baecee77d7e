//! What the probes of a control plane add up to.

use k8s_openapi::jiff::SignedDuration;

/// Failures in a row after which a control plane counts as unhealthy. One failure is a leader
/// election or a lost packet; consumers tear down their clients when the condition flaps.
pub const FAILURE_THRESHOLD: u32 = 3;

/// Time after which an etcd or a component that does not answer well is reported, however often it
/// was asked.
pub const TROUBLED_FOR: SignedDuration = SignedDuration::from_secs(20);

/// What the probes so far add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Too few probes since the manager started; the condition stays as it is.
    #[default]
    Undecided,
    /// The last probe succeeded, or too few have failed since one did.
    Healthy,
    /// The threshold of failures in a row was reached, and no success came after.
    Unhealthy,
}

/// The verdict so far, and how many failures in a row led to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What it adds up to.
    pub verdict: Verdict,
    /// Failures since the last success.
    pub failures: u32,
}

/// Adds a probe to what was known: one success is health, `threshold` failures in a row are not.
#[must_use]
pub fn judge(before: Judgement, ready: bool, threshold: u32) -> Judgement {
    if ready {
        return Judgement {
            verdict: Verdict::Healthy,
            failures: 0,
        };
    }
    let failures = before.failures.saturating_add(1);
    let verdict = if failures >= threshold {
        Verdict::Unhealthy
    } else {
        before.verdict
    };
    Judgement { verdict, failures }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(probes: &str) -> Judgement {
        let ready = probes.chars().map(|c| c == '+');
        ready.fold(Judgement::default(), |so_far, ready| {
            judge(so_far, ready, FAILURE_THRESHOLD)
        })
    }

    #[test]
    fn three_failures_in_a_row_are_unhealthy_and_one_success_is_healthy() {
        let table = [
            ("", Verdict::Undecided),
            ("-", Verdict::Undecided),
            ("--", Verdict::Undecided),
            ("---", Verdict::Unhealthy),
            ("+", Verdict::Healthy),
            ("+--", Verdict::Healthy),
            ("+--+--", Verdict::Healthy),
            ("+---", Verdict::Unhealthy),
            ("+----", Verdict::Unhealthy),
            ("+---+", Verdict::Healthy),
            ("---+--", Verdict::Healthy),
        ];
        for (probes, verdict) in table {
            assert_eq!(after(probes).verdict, verdict, "{probes:?}");
        }
    }
}
