//! Time limits as kubectl takes them.

use std::time::Duration;

/// A time limit: `90s`, `5m`, `1h30m`, or seconds without a unit.
///
/// # Errors
/// It is none of these; for people.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refused = || format!("{text:?} is no time: write 90s, 5m or 1h30m");
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(refused)?;
        let (number, unit) = rest.split_at(digits);
        let seconds = match unit.chars().next() {
            Some('h') => 3600,
            Some('m') => 60,
            Some('s') => 1,
            _ => return Err(refused()),
        };
        let number: u64 = number.parse().map_err(|_| refused())?;
        let part = number.checked_mul(seconds).map(Duration::from_secs);
        total = part
            .and_then(|part| total.checked_add(part))
            .ok_or_else(refused)?;
        rest = &unit[1..];
    }
    if text.is_empty() {
        Err(refused())
    } else {
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_read_as_kubectl_reads_it() {
        let table = [
            ("300", Some(300)),
            ("0s", Some(0)),
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("", None),
            ("s", None),
            ("5d", None),
            ("5m3", None),
            ("-1s", None),
            ("99999999999999999999s", None),
            ("9999999999999999999h", None),
        ];
        for (text, seconds) in table {
            assert_eq!(parse(text).ok(), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
