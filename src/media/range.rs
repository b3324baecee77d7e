//! Which part of an image is asked for. BMCs read images in pieces.

use core::ops::Range;

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// All of it: nothing, or nothing that is known, was said of a part.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

/// Reads a `Range` header about something of `size` bytes. One range is known; a list is answered with all of it,
/// as the standard allows.
pub fn asked(header: Option<&str>, size: u64) -> Asked {
    let range = header.and_then(|header| header.trim().strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
        return Asked::Whole;
    };
    let (first, last) = (first.trim(), last.trim());
    let part = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        // the last bytes
        (Err(_), Ok(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return Asked::Whole,
    };
    if part.is_empty() {
        Asked::Beyond
    } else {
        Asked::Part(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_understood_in_each_of_its_forms_and_anything_else_means_all() {
        for (header, expected) in [
            (None, Asked::Whole),
            (Some("bytes=0-0"), Asked::Part(0..1)),
            (Some("bytes=2-5"), Asked::Part(2..6)),
            (Some("bytes=4-99"), Asked::Part(4..10)),
            (Some("bytes=4-18446744073709551615"), Asked::Part(4..10)),
            (Some("bytes=4-"), Asked::Part(4..10)),
            (Some("bytes=-3"), Asked::Part(7..10)),
            (Some("bytes=-99"), Asked::Part(0..10)),
            (Some("bytes=10-"), Asked::Beyond),
            (Some("bytes=12-13"), Asked::Beyond),
            (Some("bytes=-0"), Asked::Beyond),
            (Some("bytes=5-2"), Asked::Whole),
            (Some("bytes=0-1,4-5"), Asked::Whole),
            (Some("bytes=a-b"), Asked::Whole),
            (Some("lines=1-2"), Asked::Whole),
        ] {
            assert_eq!(asked(header, 10), expected, "{header:?}");
        }
    }
}
