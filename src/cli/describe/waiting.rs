//! One sentence about what an object waits for.

use k8s_openapi::jiff::Timestamp;

use super::age::age;
use super::kind::Kind;
use super::snapshot::Snapshot;
use super::standing::{Mark, Standing};
use super::tree::{Row, parts};

/// What the described object waits for, and for how long.
pub fn sentence(snapshot: &Snapshot, rows: &[Row], now: Timestamp) -> String {
    let Some((focus, below)) = parts(rows) else {
        return format!("the {} was deleted", snapshot.kind);
    };
    let standing = &focus.standing;
    match standing.mark {
        Mark::Paused => format!(
            "paused{}: it is not reconciled until the annotation is removed",
            lasting(standing, now)
        ),
        Mark::Trouble => format!("{}/{}: {}", focus.kind, focus.name, reason(standing, now)),
        mark => {
            let blocking = blocking(below).map(|row| blocked_by(row, below, now));
            match (mark == Mark::Ready, blocking) {
                (true, None) => format!("ready{}", lasting(standing, now)),
                (true, Some(what)) => format!("ready; {what}"),
                (false, Some(what)) => what,
                (false, None) => format!("waiting: {}", reason(standing, now)),
            }
        }
    }
}

/// The object that the others wait for: failed ones before those in progress, the control plane
/// before workers, Machines before their owners.
pub fn blocking(rows: &[Row]) -> Option<&Row> {
    rows.iter().filter(|row| is_open(row)).min_by_key(|row| {
        let depth = std::cmp::Reverse(row.rails.len());
        (
            row.kind != Kind::Machine.as_str(),
            row.standing.mark != Mark::Trouble,
            !row.control_plane,
            depth,
        )
    })
}

fn is_open(row: &Row) -> bool {
    matches!(row.standing.mark, Mark::Working | Mark::Trouble)
}

fn blocked_by(first: &Row, rows: &[Row], now: Timestamp) -> String {
    let same = rows
        .iter()
        .filter(|row| is_open(row))
        .filter(|row| row.kind == first.kind);
    let more = match same.count() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let Row {
        kind,
        name,
        standing,
        ..
    } = first;
    format!("waiting for {kind} {name}{more}: {}", reason(standing, now))
}

fn reason(standing: &Standing, now: Timestamp) -> String {
    let Standing {
        reason, message, ..
    } = standing;
    let why = match (message.is_empty(), standing.mark) {
        (true, _) => reason.clone(),
        (false, Mark::Trouble) if !reason.is_empty() => format!("{reason}: {message}"),
        (false, _) => message.clone(),
    };
    // the details are in the next lines
    let why = why.trim_end_matches(':');
    format!("{why}{}", lasting(standing, now))
}

fn lasting(standing: &Standing, now: Timestamp) -> String {
    standing
        .since
        .map(|since| format!(" (for {})", age(since, now)))
        .unwrap_or_default()
}
