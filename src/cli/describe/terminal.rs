//! Properties of standard output: size, characters, colours.

use std::ffi::OsStr;
use std::io::IsTerminal;

use super::render::Style;

/// Standard output.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether lines can be redrawn.
    pub can_redraw: bool,
    unicode: bool,
    colour: bool,
}

impl Terminal {
    /// Reads the environment: `TERM`, `NO_COLOR`, and the locale.
    pub fn of_stdout() -> Self {
        let can_redraw = std::io::stdout().is_terminal() && !is("TERM", |term| term == "dumb");
        Self {
            can_redraw,
            unicode: is_utf8(),
            colour: can_redraw && !is("NO_COLOR", |_| true),
        }
    }

    /// Columns and rows; none if it is not a terminal.
    pub fn size(self) -> Option<(usize, usize)> {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        (self.can_redraw && columns > 0 && rows > 0).then_some((columns, rows))
    }

    /// The style of lines.
    pub fn style(self) -> Style {
        Style {
            unicode: self.unicode,
            colour: self.colour,
            width: self.size().map(|(columns, _)| columns),
        }
    }
}

/// Whether a variable is set, not empty, and satisfies the test.
fn is(variable: &str, test: impl Fn(&OsStr) -> bool) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && test(&value))
}

/// The first of these that is set decides, as in setlocale(3).
fn is_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find(|name| is(name, |_| true));
    set.is_some_and(|name| {
        is(name, |locale| {
            let locale = locale.to_string_lossy().to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    })
}
