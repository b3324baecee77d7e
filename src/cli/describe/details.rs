//! Details of the described object, below the tree: its conditions, its Events, and the next
//! commands.

use clap::builder::styling::Style as Colour;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::Output;
use super::age::age;
use super::annotations::{present, settable};
use super::events::Occurrence;
use super::kind::Kind;
use super::onward::commands;
use super::render::{Style, colour, faint, line, mark, padded};
use super::snapshot::Snapshot;
use super::standing::{Mark, is_trouble};
use super::turn::turn;
use tatara_core::api::conditions::{ConditionType, Status};
use tatara_core::api::machine_stage::Clock;

/// Conditions, Events and commands as lines; with annotations where the output is wide.
pub fn details(
    snapshot: &Snapshot,
    events: &[Occurrence],
    output: Option<Output>,
    now: Timestamp,
    style: Style,
) -> Vec<String> {
    let Some(object) = snapshot.described() else {
        return Vec::new();
    };
    let mut lines = section("stage", stage(snapshot, now));
    lines.extend(section("turn", turn(snapshot, now)));
    lines.extend(section(
        "conditions",
        conditions(object.conditions, now, style),
    ));
    if output == Some(Output::Wide) {
        lines.extend(section("annotations", present(snapshot, style)));
        lines.extend(section("annotations to set", settable(snapshot, style)));
    }
    let events = events.iter().flat_map(|event| happened(event, now, style));
    lines.extend(section("events", events.collect()));
    let commands = commands(snapshot).into_iter().map(|command| {
        let text = format!("  {}", command.text);
        let why = format!("   # {}", command.why);
        line(&[(Colour::new(), text), (faint(), why)], style)
    });
    lines.extend(section("next", commands.collect()));
    lines
}

/// Where a Machine is in its life, and whom or what it waits for.
fn stage(snapshot: &Snapshot, now: Timestamp) -> Vec<String> {
    let machine = match snapshot.kind {
        Kind::Machine => snapshot.machines.get(&snapshot.name),
        _ => None,
    };
    let status = machine.and_then(|machine| machine.status.as_ref());
    let Some(stage) = status.and_then(|status| status.stage.as_ref()) else {
        return Vec::new();
    };
    let mut lines = vec![format!("  {}, {}", stage.name, lasting(&stage.clock, now))];
    if let Some(change) = status.and_then(|status| status.change.as_ref()) {
        let step = change.step.as_deref().unwrap_or("step unknown");
        let lasts = lasting(&change.clock, now);
        lines.push(format!("  {}: {step}, {lasts}", change.kind));
    }
    lines
}

pub fn lasting(clock: &Clock, now: Timestamp) -> String {
    let waits = match (&clock.waits_for, &clock.waits_since) {
        (Some(what), Some(since)) => format!("; waits for {what}, for {}", age(since.0, now)),
        _ => String::new(),
    };
    format!("for {}{waits}", age(clock.since.0, now))
}

fn section(title: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let title = [String::new(), format!("{title}:")];
    title.into_iter().chain(lines).collect()
}

fn conditions(all: &[Condition], now: Timestamp, style: Style) -> Vec<String> {
    // duplicates for programs that do not know our kinds
    let repeats = [ConditionType::Reconciling, ConditionType::Stalled];
    let mut all: Vec<(Mark, &Condition)> = all
        .iter()
        .filter(|condition| repeats.iter().all(|type_| condition.type_ != *type_))
        .map(|condition| (judge(condition), condition))
        .collect();
    all.sort_by_key(|(mark, _)| match mark {
        Mark::Trouble => 0,
        Mark::Paused => 1,
        Mark::Working => 2,
        Mark::Ready => 3,
    });
    let widest = |text: fn(&Condition) -> &str| {
        let widths = all.iter().map(|(_, condition)| text(condition).len());
        widths.max().unwrap_or(0)
    };
    let (type_width, reason_width) = (widest(|c| &c.type_), widest(|c| &c.reason));
    all.iter()
        .flat_map(|(judged, condition)| {
            let text = format!(
                " {}  {}  {}",
                padded(&condition.type_, type_width),
                padded(&condition.status, "Unknown".len()),
                padded(&condition.reason, reason_width),
            );
            let pieces = vec![
                (Colour::new(), "  ".into()),
                (colour(*judged), mark(*judged, style).to_owned()),
                (Colour::new(), text),
                since(condition.last_transition_time.0, now),
            ];
            with_message(pieces, &condition.message, style)
        })
        .collect()
}

/// A reason that requires action is trouble, whatever the polarity of its condition.
fn judge(condition: &Condition) -> Mark {
    let is_true = condition.status == Status::True;
    let is = |types: &[ConditionType]| types.iter().any(|type_| condition.type_ == *type_);
    if is_trouble(&condition.reason) {
        Mark::Trouble
    } else if is(&[ConditionType::Paused]) && is_true {
        Mark::Paused
    } else if is(&[
        ConditionType::Paused,
        ConditionType::Deleting,
        ConditionType::Draining,
        ConditionType::Updating,
        ConditionType::ScalingUp,
        ConditionType::ScalingDown,
        ConditionType::RollingOut,
    ]) != is_true
    {
        Mark::Ready
    } else {
        Mark::Working
    }
}

fn happened(event: &Occurrence, now: Timestamp, style: Style) -> Vec<String> {
    let mark_of = if event.is_warning {
        Mark::Trouble
    } else {
        Mark::Ready
    };
    let times = match event.times {
        ..2 => String::new(),
        times => format!(" ({times} times)"),
    };
    let pieces = vec![
        (Colour::new(), "  ".into()),
        (colour(mark_of), mark(mark_of, style).to_owned()),
        since(event.last, now),
        (Colour::new(), format!("{}{times}", event.reason)),
    ];
    with_message(pieces, &event.message, style)
}

fn since(time: Timestamp, now: Timestamp) -> (Colour, String) {
    (faint(), format!("  {:>5}  ", age(time, now)))
}

/// A line that ends with the first line of a message, and the others below it.
fn with_message(mut pieces: Vec<(Colour, String)>, message: &str, style: Style) -> Vec<String> {
    let mut texts = message.lines().map(str::trim_end);
    if let Some(first) = texts.next() {
        let between = if pieces.last().is_some_and(|(_, text)| text.ends_with(' ')) {
            ""
        } else {
            ": "
        };
        pieces.push((Colour::new(), format!("{between}{first}")));
    }
    let rest = texts.map(|text| line(&[(Colour::new(), format!("      {text}"))], style));
    [line(&pieces, style)].into_iter().chain(rest).collect()
}
