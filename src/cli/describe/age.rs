//! Ages as kubectl writes them: the coarser, the older.

use k8s_openapi::jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The time from `since` to `now`, such as `12s`, `3m20s` or `5d`, and `0s` if clocks differ so
/// that `since` is later.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => two(seconds, MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        _ => two(seconds, YEAR, "y", DAY, "d"),
    }
}

fn two(seconds: i64, coarse: i64, c: &str, fine: i64, f: &str) -> String {
    let rest = seconds % coarse / fine;
    if rest == 0 {
        format!("{}{c}", seconds / coarse)
    } else {
        format!("{}{c}{rest}{f}", seconds / coarse)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::SignedDuration;

    use super::*;

    #[test]
    fn ages_are_written_as_kubectl_does() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1_000_000);
        let said = |seconds| age(now - SignedDuration::from_secs(seconds), now);
        let wanted = [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (47 * HOUR, "47h"),
            (3 * DAY + HOUR, "3d1h"),
            (30 * DAY, "30d"),
            (2 * YEAR + 3 * DAY, "2y3d"),
        ];
        for (seconds, text) in wanted {
            assert_eq!(said(seconds), text, "{seconds} s");
        }
    }
}
