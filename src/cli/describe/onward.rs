//! The command to go on with, for how an object stands.

use super::kind::Kind;
use super::snapshot::Snapshot;
use super::standing::Mark;
use super::tree::{Row, parts, rows};
use super::waiting::blocking;
use crate::api::names::{ANNOTATION_PAUSED, ANNOTATION_RETRY};

/// A command and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As it is typed.
    pub text: String,
    /// What it does.
    pub why: String,
}

/// The commands to go on with, the nearest first.
pub fn commands(snapshot: &Snapshot) -> Vec<Command> {
    let rows = rows(snapshot);
    let Some((focus, below)) = parts(&rows) else {
        return Vec::new();
    };
    let of = |kind: &str, name: &str| {
        let kind = kind.to_lowercase();
        (kind, name.to_owned(), snapshot.namespace.clone())
    };
    let command = |text: String, why: &str| Command {
        text,
        why: why.to_owned(),
    };
    let describe = |row: &Row| {
        let (kind, name, namespace) = of(row.kind, &row.name);
        let why = format!("why it is {}", row.standing.state);
        command(
            format!("tatara describe {kind} {name} -n {namespace}"),
            &why,
        )
    };
    let (kind, name, namespace) = of(focus.kind, &focus.name);
    let mut commands = Vec::new();
    match focus.standing.mark {
        Mark::Paused => commands.extend(paused(snapshot, &rows)),
        mark => {
            let known = blocking(below).filter(|row| Kind::parse(row.kind).is_some());
            commands.extend(known.map(describe));
            let is_broken = mark == Mark::Trouble;
            if has_logs(snapshot) && mark != Mark::Ready {
                let text = format!("tatara logs machine {name} -n {namespace}");
                commands.push(command(text, "what its steps printed"));
            }
            if is_broken && [Kind::Machine, Kind::Host].contains(&snapshot.kind) {
                let text = format!(
                    "kubectl annotate {kind} {name} -n {namespace} --overwrite {ANNOTATION_RETRY}=\"$(date +%s)\""
                );
                commands.push(command(text, "once it is mended: try again at once"));
            }
            if snapshot.kind == Kind::Cluster && mark == Mark::Ready {
                let text = format!("tatara kubeconfig {name} -n {namespace}");
                commands.push(command(text, "access to it"));
            }
        }
    }
    if commands.is_empty() {
        let above = rows.first().filter(|row| !row.is_focus);
        commands.extend(above.map(|row| {
            let (kind, name, namespace) = of(row.kind, &row.name);
            let text = format!("tatara describe {kind} {name} -n {namespace}");
            command(text, "what it is part of")
        }));
    }
    commands
}

/// How a pause ends: on the object itself, or on what is above it.
fn paused(snapshot: &Snapshot, rows: &[Row]) -> Option<Command> {
    let is_own = snapshot.described().is_some_and(|object| {
        let annotations = object.meta.annotations.as_ref();
        annotations.is_some_and(|all| all.contains_key(ANNOTATION_PAUSED))
    });
    let mut paused = rows.iter().filter(|row| row.standing.mark == Mark::Paused);
    let row = paused.find(|row| row.is_focus == is_own)?;
    let (kind, name, namespace) = (row.kind.to_lowercase(), &row.name, &snapshot.namespace);
    Some(Command {
        text: format!("kubectl annotate {kind} {name} -n {namespace} {ANNOTATION_PAUSED}-"),
        why: "ends the pause".into(),
    })
}

/// Whether it is a Machine with a place that steps ran on.
fn has_logs(snapshot: &Snapshot) -> bool {
    let machine = match snapshot.kind {
        Kind::Machine => snapshot.machines.get(&snapshot.name),
        _ => None,
    };
    let status = machine.and_then(|machine| machine.status.as_ref());
    status.is_some_and(|status| status.host.is_some())
}
