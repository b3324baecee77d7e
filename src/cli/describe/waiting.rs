//! What a cluster waits for, in one sentence.

use k8s_openapi::jiff::Timestamp;

use super::age::age;
use super::standing::{Mark, Standing};
use super::tree::Row;

/// What the cluster waits for, and since when.
pub fn sentence(rows: &[Row], now: Timestamp) -> String {
    let Some((cluster, below)) = rows.split_first() else {
        return "the Cluster was deleted".into();
    };
    let standing = &cluster.standing;
    match standing.mark {
        Mark::Paused => format!(
            "paused{}: nothing is done until the annotation is removed",
            lasting(standing, now)
        ),
        Mark::Trouble => format!(
            "{}/{}: {}",
            cluster.kind,
            cluster.name,
            reason(standing, now)
        ),
        mark => match (mark == Mark::Ready, blocking(below, now)) {
            (true, None) => format!("ready{}", lasting(standing, now)),
            (true, Some(what)) => format!("ready; {what}"),
            (false, Some(what)) => what,
            (false, None) => format!("waiting: {}", reason(standing, now)),
        },
    }
}

/// The object that holds up the rest: failed ones before those on their way, the control plane
/// before workers, Machines before what counts them.
fn blocking(rows: &[Row], now: Timestamp) -> Option<String> {
    let open = |row: &&Row| matches!(row.standing.mark, Mark::Working | Mark::Trouble);
    let first = rows.iter().filter(open).min_by_key(|row| {
        let depth = std::cmp::Reverse(row.rails.len());
        (
            row.kind != "Machine",
            row.standing.mark != Mark::Trouble,
            !row.control_plane,
            depth,
        )
    })?;
    let more = rows
        .iter()
        .filter(open)
        .filter(|row| row.kind == first.kind)
        .count()
        - 1;
    let more = match more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let Row {
        kind,
        name,
        standing,
        ..
    } = first;
    Some(format!(
        "waiting for {kind} {name}{more}: {}",
        reason(standing, now)
    ))
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
    format!("{why}{}", lasting(standing, now))
}

fn lasting(standing: &Standing, now: Timestamp) -> String {
    standing
        .since
        .map(|since| format!(", for {}", age(since, now)))
        .unwrap_or_default()
}
