//! The next commands, for the state of an object.

use super::kind::Kind;
use super::snapshot::Snapshot;
use super::standing::Mark;
use super::tree::{Row, parts, rows};
use super::waiting::blocking;
use crate::api::names::{ANNOTATION_PAUSED, ANNOTATION_RETRY};

/// A command and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command line.
    pub text: String,
    /// Its purpose.
    pub why: String,
}

/// The next commands, the most relevant first.
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
                commands.push(command(text, "the output of its steps"));
            }
            if is_broken && [Kind::Machine, Kind::Host].contains(&snapshot.kind) {
                let text = format!(
                    "kubectl annotate {kind} {name} -n {namespace} --overwrite {ANNOTATION_RETRY}=\"$(date +%s)\""
                );
                commands.push(command(text, "after fixing the cause: retry at once"));
            }
            if snapshot.kind == Kind::Cluster && mark == Mark::Ready {
                let text = format!("tatara kubeconfig {name} -n {namespace}");
                commands.push(command(text, "its kubeconfig"));
            }
        }
    }
    if commands.is_empty() {
        let above = rows.first().filter(|row| !row.is_focus);
        commands.extend(above.map(|row| {
            let (kind, name, namespace) = of(row.kind, &row.name);
            let text = format!("tatara describe {kind} {name} -n {namespace}");
            command(text, "its owner")
        }));
    }
    commands
}

/// The command that ends a pause: of the object itself, or of its owner.
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
        why: "end the pause".into(),
    })
}

/// Whether it is a Machine with a Host or virtual machine, where steps ran.
fn has_logs(snapshot: &Snapshot) -> bool {
    let machine = match snapshot.kind {
        Kind::Machine => snapshot.machines.get(&snapshot.name),
        _ => None,
    };
    let status = machine.and_then(|machine| machine.status.as_ref());
    status.is_some_and(|status| status.host.is_some())
}
