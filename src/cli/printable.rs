//! Text that a host or a cluster wrote, for a terminal.

/// `text` without what a terminal obeys instead of showing it. Whoever writes a log line, a
/// condition or an error could otherwise move the cursor, set the title, fill the clipboard, or
/// reverse the order of letters. Line ends and tabs stay.
///
/// Everything that `tatara` prints of others passes this function.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| is_shown(*c)).collect()
}

fn is_shown(c: char) -> bool {
    let turns_text = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    matches!(c, '\n' | '\t') || !(c.is_control() || turns_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_removed_and_the_rest_stays() {
        // C0 and C1, and the marks, embeddings, overrides and isolates of Unicode's bidirectional
        // algorithm
        let obeyed = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
        let obeyed = obeyed.filter(|c| !matches!(c, '\n' | '\t'));
        let turned = ['\u{61c}', '\u{200e}', '\u{200f}'].into_iter();
        let turned = turned.chain('\u{202a}'..='\u{202e}');
        let turned = turned.chain('\u{2066}'..='\u{2069}');
        for c in obeyed.chain(turned) {
            assert_eq!(printable(&format!("a{c}b")), "ab", "{c:?}");
        }
        for (what, written, shown) in [
            ("colour (CSI)", "\x1b[31mred\x1b[0m", "[31mred[0m"),
            ("clear screen", "a\x1b[2J\x1b[Hb", "a[2J[Hb"),
            ("title (OSC)", "\x1b]0;owned\x07x", "]0;ownedx"),
            ("clipboard", "\x1b]52;c;cm0=\x1b\\x", "]52;c;cm0=\\x"),
            ("CSI of C1", "a\u{9b}31mb", "a31mb"),
            ("OSC and its end of C1", "a\u{9d}0;t\u{9c}b", "a0;tb"),
            ("carriage return", "wrong\rright", "wrongright"),
            ("backspace and delete", "ab\u{8}\u{7f}c", "abc"),
            ("bell, null, form feed", "a\u{7}\0\u{c}b", "ab"),
            ("overrides", "a\u{202e}b\u{202c}c", "abc"),
            (
                "isolates and marks",
                "\u{2066}a\u{2069}\u{200f}\u{61c}b",
                "ab",
            ),
            ("lines, tabs, letters", "a\tb\nüß✓ 漢", "a\tb\nüß✓ 漢"),
        ] {
            assert_eq!(printable(written), shown, "{what}");
        }
    }
}
