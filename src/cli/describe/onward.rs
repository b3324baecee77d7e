//! The next commands, for the state of an object.

use super::kind::Kind;
use super::snapshot::Snapshot;
use super::standing::{Mark, Standing};
use super::tree::{Row, parts, rows};
use super::waiting::blocking;
use tatara_core::api::conditions::{ConditionType, Reason, is_false};
use tatara_core::api::names::{ANNOTATION_PAUSED, ANNOTATION_RETRY};
use tatara_core::remedy;

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
        let Standing { state, reason, .. } = &row.standing;
        // a Host stays Claimed, whatever is wrong with it
        let is_hidden = row.kind == Kind::Host.as_str() && row.standing.mark == Mark::Trouble;
        let why = match reason.as_str() {
            reason if is_hidden && !reason.is_empty() => format!("about {reason}"),
            _ => format!("why it is {state}"),
        };
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
            commands.extend(contradiction(snapshot, &focus.standing));
            let known = blocking(below).filter(|row| Kind::parse(row.kind).is_some());
            commands.extend(known.map(describe));
            let is_broken = mark == Mark::Trouble && is_retried(snapshot.kind, &focus.standing);
            if has_logs(snapshot) && mark != Mark::Ready {
                let text = format!("tatara logs machine {name} -n {namespace}");
                commands.push(command(text, "the output of its steps"));
            }
            if is_broken {
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

/// The command that shows how the records of a Cluster contradict each other.
fn contradiction(snapshot: &Snapshot, standing: &Standing) -> Option<Command> {
    let reason = Reason::parse(&standing.reason);
    let is_doubt =
        reason.is_some_and(|reason| reason.is_doubt() || reason == Reason::InitRecordMissing);
    (snapshot.kind == Kind::Cluster && is_doubt).then(|| Command {
        text: remedy::cluster::resolve(&snapshot.namespace, &snapshot.name),
        why: "what is recorded, what was last seen of each host, and what may be done".into(),
    })
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

/// Whether the annotation changes something: it ends the back-off of what failed on a machine, and
/// has a Host asked again.
fn is_retried(kind: Kind, standing: &Standing) -> bool {
    match kind {
        Kind::Host => true,
        Kind::Machine => Reason::parse(&standing.reason).is_some_and(|reason| {
            matches!(
                reason,
                Reason::PrepareFailed
                    | Reason::KubeadmInitFailed
                    | Reason::KubeadmJoinFailed
                    | Reason::PostKubeadmCommandsFailed
                    | Reason::AddressFailed
                    | Reason::UpdateFailed
                    | Reason::KubeadmAddonsFailed
                    | Reason::ResetFailed
                    | Reason::ImageFailed
                    | Reason::ImageChecksumDiffers
                    | Reason::StorageInactive
                    | Reason::StorageFull
                    | Reason::LibvirtUnavailable
                    | Reason::GatewayRefused
            )
        }),
        _ => false,
    }
}

/// Whether it is a Machine with a Host or virtual machine, where steps ran, and that can be asked
/// for them.
fn has_logs(snapshot: &Snapshot) -> bool {
    let machine = match snapshot.kind {
        Kind::Machine => snapshot.machines.get(&snapshot.name),
        _ => None,
    };
    let status = machine.and_then(|machine| machine.status.as_ref());
    let Some(name) = status.and_then(|status| status.host.as_ref()) else {
        return false;
    };
    let host = snapshot.hosts.get(name);
    let status = host.and_then(|host| host.status.as_ref());
    !status.is_some_and(|status| is_false(&status.conditions, ConditionType::Reachable))
}
