//! Shows an object on standard output: in place on a terminal, line by line elsewhere.

use std::io::Write;

use k8s_openapi::jiff::Timestamp;

use super::Error;
use super::age::age;
use super::changes::Changes;
use super::details::details;
use super::events::Occurrence;
use super::render::{Style, fit, render};
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::terminal::Terminal;

/// What is shown, and where.
pub struct Display {
    terminal: Terminal,
    screen: Screen,
    changes: Changes,
    interruption: Option<Timestamp>,
}

impl Display {
    /// Nothing is shown yet; times count from `started`.
    pub fn new(started: Timestamp) -> Self {
        Self {
            terminal: Terminal::of_stdout(),
            screen: Screen::default(),
            changes: Changes::since(started),
            interruption: None,
        }
    }

    /// Whether what is shown ages, and fits a terminal that people may resize.
    pub fn shows_ages(&self) -> bool {
        self.terminal.can_redraw
    }

    /// Shows the whole tree, and what is said of the object alone.
    pub fn once(
        &self,
        snapshot: &Snapshot,
        events: &[Occurrence],
        now: Timestamp,
    ) -> Result<(), Error> {
        // only what is written over has to fit
        let style = Style {
            width: None,
            ..self.terminal.style()
        };
        let mut lines = render(snapshot, now, style);
        lines.extend(details(snapshot, events, now, style));
        write_lines(&lines)
    }

    /// Shows how things stand now, in place of what was shown before. A tree that is higher than the
    /// terminal cannot be written over: then its changes come line by line, and nothing is hidden.
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
                fit(format!("no news for {}: {why}", age(*since, now)), style)
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

    /// Says something about the whole, where the tree does not say it.
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
