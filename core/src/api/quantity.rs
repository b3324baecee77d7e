//! Kubernetes quantities such as `8Gi`, as far as sizes of hosts need them.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Whole bytes of a quantity; `None` when it is not one.
pub fn bytes(quantity: &Quantity) -> Option<i64> {
    let text = quantity.0.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let unit: f64 = match suffix {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * unit;
    // Sizes of hosts stay far below 2^53, where f64 is exact.
    #[allow(clippy::cast_possible_truncation)]
    (value.is_finite() && value < 9e15).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_not() {
        let read = |text: &str| bytes(&Quantity(text.into()));
        assert_eq!(read("8Gi"), Some(8 << 30));
        assert_eq!(read("1500M"), Some(1_500_000_000));
        assert_eq!(read("12"), Some(12));
        assert_eq!(read("lots"), None);
        assert_eq!(read("3Zi"), None);
    }
}
