//! Renders a description as lines of text.

use clap::builder::styling::{AnsiColor, Effects, Style as Colour};
use k8s_openapi::jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::age::age;
use super::snapshot::Snapshot;
use super::standing::{Mark, Standing};
use super::tree::{Row, free_hosts, rows};
use super::waiting;
use crate::cli::printable;

/// What the output supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Colours.
    pub colour: bool,
    /// Width in columns, to which lines are cut. None: lines are not cut.
    pub width: Option<usize>,
}

/// An object as lines: a notice if no manager is running, the tree, the free hosts, and what the
/// object waits for.
pub fn render(snapshot: &Snapshot, now: Timestamp, style: Style) -> Vec<String> {
    let rows = rows(snapshot);
    let names: Vec<String> = rows.iter().map(|row| name(row, style)).collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| {
        texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
    };
    let name_width = widest(&mut names.iter().map(String::as_str));
    let state_width = widest(&mut rows.iter().map(|row| row.standing.state.as_str()));
    let bold = Colour::new().effects(Effects::BOLD);
    let warning = AnsiColor::Red.on_default().effects(Effects::BOLD);
    let notice = notice(snapshot, now).map(|text| line(&[(warning, text)], style));
    let mut lines: Vec<String> = notice.into_iter().collect();
    lines.extend(rows.iter().zip(&names).map(|(row, name)| {
        let standing = &row.standing;
        let since = standing
            .since
            .map(|since| age(since, now))
            .unwrap_or_default();
        let rails = rails(&row.rails, style);
        let padding = name_width - name.width();
        let weight = if row.is_focus { bold } else { Colour::new() };
        let pieces = [
            (Colour::new(), rails),
            (colour(standing.mark), mark(standing.mark, style).to_owned()),
            (
                weight,
                format!(" {}/{}{:padding$}  ", row.kind, row.name, ""),
            ),
            (Colour::new(), padded(&standing.state, state_width)),
            (faint(), format!("  {since:>5}  ")),
            (Colour::new(), note(standing, style)),
        ];
        line(&pieces, style)
    }));
    let waiting = waiting::sentence(snapshot, &rows, now);
    lines.extend(free_hosts(snapshot).map(|text| fit(text, style)));
    lines.push(line(&[(bold, waiting)], style));
    lines
}

/// A notice that no manager leads, if so.
pub fn notice(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    snapshot.leader.notice(&snapshot.lease_namespace, now)
}

/// One object as a line, without the tree and its age.
pub fn plain(row: &Row, style: Style) -> String {
    let Row {
        kind,
        name,
        standing,
        ..
    } = row;
    let mark = mark(standing.mark, style);
    let text = format!(
        "{mark} {kind}/{name}  {}  {}",
        standing.state,
        note(standing, style)
    );
    fit(text, style)
}

/// A line of text, cut to the width.
pub fn fit(text: String, style: Style) -> String {
    line(&[(Colour::new(), text)], style)
}

pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(text.width()))
}

fn name(row: &Row, style: Style) -> String {
    format!("{}. {}/{}", rails(&row.rails, style), row.kind, row.name)
}

fn rails(rails: &[bool], style: Style) -> String {
    let Some((own, above)) = rails.split_last() else {
        return String::new();
    };
    let pick = |unicode, ascii| if style.unicode { unicode } else { ascii };
    let above = above
        .iter()
        .map(|more| if *more { pick("│  ", "|  ") } else { "   " });
    let own = if *own {
        pick("├─ ", "|- ")
    } else {
        pick("└─ ", "`- ")
    };
    above.chain([own]).collect()
}

pub(super) fn mark(mark: Mark, style: Style) -> &'static str {
    match (mark, style.unicode) {
        (Mark::Ready, true) => "✓",
        (Mark::Working, true) => "…",
        (Mark::Trouble, true) => "✗",
        (Mark::Paused, true) => "‖",
        (Mark::Ready, false) => "+",
        (Mark::Working, false) => ".",
        (Mark::Trouble, false) => "x",
        (Mark::Paused, false) => "=",
    }
}

pub(super) fn colour(mark: Mark) -> Colour {
    match mark {
        Mark::Ready => AnsiColor::Green.on_default(),
        Mark::Working => AnsiColor::Yellow.on_default(),
        Mark::Trouble => AnsiColor::Red.on_default().effects(Effects::BOLD),
        Mark::Paused => AnsiColor::Blue.on_default(),
    }
}

pub(super) fn faint() -> Colour {
    Colour::new().effects(Effects::DIMMED)
}

fn note(standing: &Standing, style: Style) -> String {
    let Standing {
        reason, message, ..
    } = standing;
    let why = match (reason.is_empty(), message.is_empty()) {
        (false, false) => format!("{reason}: {message}"),
        _ => format!("{reason}{message}"),
    };
    let facts = standing.facts.join(", ");
    let between = if style.unicode { " · " } else { " - " };
    let parts = [facts, why];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(between)
}

/// A text of one line: messages and annotations have what hosts and users wrote.
pub(super) fn clean(text: &str) -> String {
    printable(text).replace(['\n', '\t'], "")
}

/// Joins pieces into a line, cut to the width. Messages contain output of hosts.
pub(super) fn line(pieces: &[(Colour, String)], style: Style) -> String {
    let pieces: Vec<(Colour, String)> = pieces
        .iter()
        .map(|(colour, text)| (*colour, clean(text)))
        .collect();
    let total: usize = pieces.iter().map(|(_, text)| text.width()).sum();
    let ellipsis = if style.unicode { "…" } else { "..." };
    let mut room = match style.width {
        Some(width) if total > width => width.saturating_sub(ellipsis.width()),
        _ => usize::MAX,
    };
    let mut line = String::new();
    for (colour, text) in &pieces {
        let kept = cut(text, room);
        room -= kept.width();
        if style.colour && !colour.is_plain() && !kept.is_empty() {
            line.extend([
                colour.render().to_string(),
                kept.into(),
                colour.render_reset().to_string(),
            ]);
        } else {
            line.push_str(kept);
        }
        if kept.len() < text.len() {
            line.push_str(ellipsis);
            return line;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

fn cut(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}
