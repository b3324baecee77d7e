//! Details of the described object, below the tree: its conditions, its Events, and the next commands.

use clap::builder::styling::Style as Colour;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::age::age;
use super::events::Occurrence;
use super::kind::Kind;
use super::onward::commands;
use super::render::{Style, colour, faint, line, mark, padded};
use super::snapshot::Snapshot;
use super::standing::{Mark, is_trouble};
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::conditions::{ConditionType, Status};
use tatara_core::api::machine_stage::{Clock, TurnRequest};
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::turn::{Holder, Marks};

/// Conditions, Events and commands as lines.
pub fn details(
    snapshot: &Snapshot,
    events: &[Occurrence],
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

/// Of a Cluster: whose turn it is to change the control plane, and who asks for it, the first first.
fn turn(snapshot: &Snapshot, now: Timestamp) -> Vec<String> {
    let cluster = match snapshot.kind {
        Kind::Cluster => snapshot.clusters.get(&snapshot.name),
        _ => None,
    };
    let Some(cluster) = cluster else {
        return Vec::new();
    };
    let holder = Marks::of(cluster.annotations()).turn;
    let mut lines = Vec::new();
    let of = |turn: &Turn| {
        let machine = snapshot.machines.get(&turn.name);
        machine.filter(|machine| machine.uid().as_deref() == Some(&turn.machine))
    };
    if let Holder::Of(turn) = &holder {
        lines.push(if Some(&turn.machine) == cluster.uid().as_ref() {
            format!(
                "  the Cluster has it, to remove an etcd member that belongs to no Machine{}",
                held(cluster, turn, now)
            )
        } else {
            let status = of(turn).and_then(|machine| machine.status.as_ref());
            let change = status.and_then(|status| status.change.as_ref());
            let stage = status.and_then(|status| status.stage.as_ref());
            let step = change.map(|change| {
                let step = change.step.as_deref().unwrap_or("step unknown");
                (step, &change.clock)
            });
            let step = step.or_else(|| stage.map(|stage| (&*stage.name, &stage.clock)));
            let step = step.map(|(step, clock)| format!("; at {step} {}", lasting(clock, now)));
            let (name, action) = (&turn.name, purpose(turn.action));
            format!(
                "  Machine {name} has it, {action}{}{}",
                held(cluster, turn, now),
                step.unwrap_or_default()
            )
        });
    }
    let has_it = |machine: &Machine| {
        let uid = machine.uid();
        matches!(&holder, Holder::Of(turn) if Some(&turn.machine) == uid.as_ref())
    };
    let asks = |machine: &&Machine| {
        let request = machine.status.clone()?.turn_request?;
        (!has_it(machine)).then(|| (machine.name_any(), request))
    };
    let mut waiting: Vec<_> = snapshot.machines.sorted().iter().filter_map(asks).collect();
    // whether one that leaves serves, which the planner heeds as well, is not told
    let order = [TurnAction::Join, TurnAction::Remove, TurnAction::Upgrade];
    let place = |request: &TurnRequest| {
        let action = TurnAction::parse(&request.action);
        let place = order.iter().position(|one| Some(*one) == action);
        (!request.half_done, place)
    };
    waiting.sort_by_key(|(_, request)| place(request));
    lines.extend(waiting.iter().map(|(name, request)| {
        let since = age(request.since.0, now);
        let action = TurnAction::parse(&request.action).map_or("for something", purpose);
        let begun = if request.half_done {
            " (half done)"
        } else {
            ""
        };
        format!("  Machine {name} asks for it, {action}{begun}, for {since}")
    }));
    lines
}

/// For how long somebody has the turn.
fn held(cluster: &Cluster, turn: &Turn, now: Timestamp) -> String {
    let status = cluster.status.as_ref();
    let held = status.and_then(|status| status.control_plane_turn.as_ref());
    let held = held.filter(|held| held.name == turn.name && held.action == turn.action.as_str());
    held.map_or_else(String::new, |held| {
        format!(", for {}", age(held.since.0, now))
    })
}

/// What the turn is for, of a Machine.
fn purpose(action: TurnAction) -> &'static str {
    match action {
        TurnAction::Init => "to run kubeadm init",
        TurnAction::Join => "to join",
        TurnAction::Remove => "to leave",
        TurnAction::Upgrade => "to be updated",
    }
}

fn lasting(clock: &Clock, now: Timestamp) -> String {
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
