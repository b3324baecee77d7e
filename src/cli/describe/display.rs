//! Shows an object on standard output: in place on a terminal, line by line elsewhere.

use std::io::Write;

use k8s_openapi::jiff::Timestamp;

use super::age::age;
use super::changes::Changes;
use super::details::details;
use super::events::Occurrence;
use super::render::{Style, fit, render};
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::terminal::Terminal;
use super::{Error, Output};

/// The shown state of an object, and the terminal.
pub struct Display {
    terminal: Terminal,
    screen: Screen,
    changes: Changes,
    interruption: Option<Timestamp>,
}

impl Display {
    /// Starts with nothing shown; times count from `started`.
    pub fn new(started: Timestamp) -> Self {
        Self {
            terminal: Terminal::of_stdout(),
            screen: Screen::default(),
            changes: Changes::since(started),
            interruption: None,
        }
    }

    /// Whether the output has ages and depends on the terminal's size, so that it must be redrawn.
    pub fn shows_ages(&self) -> bool {
        self.terminal.can_redraw
    }

    /// Shows the whole tree and the details of the object.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn once(
        &self,
        snapshot: &Snapshot,
        events: &[Occurrence],
        output: Option<Output>,
        now: Timestamp,
    ) -> Result<(), Error> {
        // only lines that are redrawn must fit
        let style = Style {
            width: None,
            ..self.terminal.style()
        };
        let mut lines = render(snapshot, now, style);
        lines.extend(details(snapshot, events, output, now, style));
        write_lines(&lines)
    }

    /// Shows the current state in place of the former. A tree higher than the terminal cannot be
    /// redrawn: its changes are printed line by line instead.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn show(
        &mut self,
        snapshot: &Snapshot,
        interrupted: Option<&(Timestamp, String)>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let style = self.terminal.style();
        if let Some((columns, height)) = self.terminal.size() {
            let mut lines = render(snapshot, now, style);
            lines.extend(interrupted.map(|(since, why)| {
                fit(format!("no updates for {}: {why}", age(*since, now)), style)
            }));
            if lines.len() < height {
                return write(&self.screen.frame(&lines, columns));
            }
            self.screen.leave();
        }
        let mut lines = self.changes.lines(snapshot, now, style);
        let news = interrupted.filter(|(since, _)| self.interruption != Some(*since));
        lines.extend(news.map(|(_, why)| self.changes.line(why, now)));
        self.interruption = interrupted.map(|(since, _)| *since);
        write_lines(&lines)
    }

    /// Prints a line that concerns no single object.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn say(&self, text: &str, now: Timestamp) -> Result<(), Error> {
        write(&format!("{}\n", self.changes.line(text, now)))
    }
}

fn write_lines(lines: &[String]) -> Result<(), Error> {
    lines
        .iter()
        .try_for_each(|line| write(&format!("{line}\n")))
}

fn write(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::Output)
}
