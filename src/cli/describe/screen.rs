//! Lines that are redrawn in place.

use unicode_width::UnicodeWidthChar;

/// The lines on the terminal, with the cursor below them.
#[derive(Debug, Default)]
pub struct Screen {
    drawn: Vec<usize>,
}

impl Screen {
    /// The output that replaces the drawn lines with `lines`. A line that the terminal wrapped
    /// since, because it became narrower, counts as several.
    pub fn frame(&mut self, lines: &[String], columns: usize) -> String {
        let rows: usize = self
            .drawn
            .iter()
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        let mut frame = match rows {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A"),
        };
        for line in lines {
            frame.push_str("\x1b[2K");
            frame.push_str(line);
            frame.push('\n');
        }
        frame.push_str("\x1b[J");
        self.drawn = lines.iter().map(|line| width(line)).collect();
        frame
    }

    /// Keeps the drawn lines; the next frame is drawn below them.
    pub fn leave(&mut self) {
        self.drawn.clear();
    }
}

/// Width of a line in columns, without colour codes.
fn width(line: &str) -> usize {
    let mut width = 0;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            width += c.width().unwrap_or(0);
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_frame_is_written_over_the_one_before_and_clears_what_is_left_of_it() {
        let mut screen = Screen::default();
        assert_eq!(
            screen.frame(&lines(&["a", "b"]), 80),
            "\x1b[2Ka\n\x1b[2Kb\n\x1b[J"
        );
        assert_eq!(
            screen.frame(&lines(&["c"]), 80),
            "\r\x1b[2A\x1b[2Kc\n\x1b[J"
        );
        assert_eq!(
            screen.frame(&lines(&["d"]), 80),
            "\r\x1b[1A\x1b[2Kd\n\x1b[J"
        );
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_written_over_whole() {
        let mut screen = Screen::default();
        screen.frame(&lines(&["\x1b[32m✓\x1b[0m 34567890", "", "1234567890"]), 80);
        assert!(screen.frame(&lines(&["a"]), 5).starts_with("\r\x1b[5A"));
    }

    #[test]
    fn what_was_left_is_not_written_over() {
        let mut screen = Screen::default();
        screen.frame(&lines(&["a"]), 80);
        screen.leave();
        assert_eq!(screen.frame(&lines(&["b"]), 80), "\x1b[2Kb\n\x1b[J");
    }
}
