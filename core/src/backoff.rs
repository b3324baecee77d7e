//! How long to wait before the next attempt: a pure function; the caller keeps the count.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

const BASE_MS: u64 = 1_000;
const MAX_MS: u64 = 60_000;

/// Delay before the attempt that follows `failures` failures in a row (1 is the first).
///
/// 1 s, doubled each time, at most 60 s. `jitter` in 0..=1 spreads the second half of the delay,
/// so that hosts that were lost together are not tried together: 0 gives half of it, 1 the whole.
/// No failure, no delay. Jitter outside its range, or NaN, counts as the nearest bound, or 0.
pub fn delay(failures: u32, jitter: f64) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let whole = BASE_MS
        .saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX))
        .min(MAX_MS);
    let half = Duration::from_millis(whole / 2);
    half + half.mul_f64(if jitter.is_nan() {
        0.0
    } else {
        jitter.clamp(0.0, 1.0)
    })
}

/// The jitter of what has this key, such as the UID of a Machine: it differs between keys, and not
/// between passes.
pub fn jitter(key: &str) -> f64 {
    let sum: u32 = key.bytes().map(u32::from).sum();
    f64::from(sum % 100) / 100.0
}

/// What is left at `now` of the [`delay`] that began with the attempt of `last`. Without one
/// nothing is waited for.
pub fn left(failures: u32, jitter: f64, last: Option<Timestamp>, now: Timestamp) -> Duration {
    last.map_or(Duration::ZERO, |last| {
        // a clock that was set back makes no delay longer
        let since = now.duration_since(last).max(SignedDuration::ZERO);
        delay(failures, jitter).saturating_sub(since.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_from_the_last_attempt() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let left = |last: Option<i64>| left(3, 1.0, last.map(at), at(10)).as_secs();
        assert_eq!(left(None), 0);
        assert_eq!(left(Some(9)), 3);
        assert_eq!(left(Some(1)), 0);
        assert_eq!(left(Some(60)), 4, "the clock was set back");
    }

    #[test]
    fn the_delay_doubles_from_one_second_to_a_minute_and_stays_there() {
        let whole: Vec<_> = (0..9).map(|n| delay(n, 1.0).as_secs()).collect();
        assert_eq!(whole, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(delay(u32::MAX, 1.0), Duration::from_mins(1));
    }

    #[test]
    fn jitter_spreads_the_second_half_only() {
        assert_eq!(delay(3, 0.0), Duration::from_secs(2));
        assert_eq!(delay(3, 0.5), Duration::from_secs(3));
        assert_eq!(delay(3, 1.0), Duration::from_secs(4));
    }

    #[test]
    fn jitter_outside_its_range_is_clamped() {
        assert_eq!(delay(1, -3.0), Duration::from_millis(500));
        assert_eq!(delay(1, 7.0), Duration::from_secs(1));
        assert_eq!(delay(1, f64::NAN), Duration::from_millis(500));
    }
}
