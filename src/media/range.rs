//! The requested range of an image (RFC 9110, section 14). BMCs read images in pieces.

use core::ops::Range;

/// The requested part of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeRequest {
    /// All bytes: there is no range, or none that is supported.
    Whole,
    /// A range of bytes.
    Part(Range<u64>),
    /// A range outside of the image (416).
    Beyond,
}

/// Reads a `Range` header for an image of `size` bytes. One range is supported; a list is answered
/// with all bytes, as RFC 9110 allows.
pub fn asked(header: Option<&str>, size: u64) -> RangeRequest {
    let range = header.and_then(|header| header.trim().strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
        return RangeRequest::Whole;
    };
    let (first, last) = (first.trim(), last.trim());
    let part = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        // a suffix range: the last bytes
        (Err(_), Ok(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return RangeRequest::Whole,
    };
    if part.is_empty() {
        RangeRequest::Beyond
    } else {
        RangeRequest::Part(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_understood_in_each_of_its_forms_and_anything_else_means_all() {
        for (header, expected) in [
            (None, RangeRequest::Whole),
            (Some("bytes=0-0"), RangeRequest::Part(0..1)),
            (Some("bytes=2-5"), RangeRequest::Part(2..6)),
            (Some("bytes=4-99"), RangeRequest::Part(4..10)),
            (
                Some("bytes=4-18446744073709551615"),
                RangeRequest::Part(4..10),
            ),
            (Some("bytes=4-"), RangeRequest::Part(4..10)),
            (Some("bytes=-3"), RangeRequest::Part(7..10)),
            (Some("bytes=-99"), RangeRequest::Part(0..10)),
            (Some("bytes=10-"), RangeRequest::Beyond),
            (Some("bytes=12-13"), RangeRequest::Beyond),
            (Some("bytes=-0"), RangeRequest::Beyond),
            (Some("bytes=5-2"), RangeRequest::Whole),
            (Some("bytes=0-1,4-5"), RangeRequest::Whole),
            (Some("bytes=a-b"), RangeRequest::Whole),
            (Some("lines=1-2"), RangeRequest::Whole),
        ] {
            assert_eq!(asked(header, 10), expected, "{header:?}");
        }
    }
}
