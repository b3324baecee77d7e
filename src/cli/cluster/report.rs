//! What contradicts what, what each host has, and what would come of each correction, in words.
//! Pure.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::known::{CaSecret, Candidate, Known};
use super::outcome::{capital, command, consequences, wishes};
use super::proof::{LOOK, place};
use super::resolve::{Objection, closed, objection};
use super::trouble::{Trouble, trouble};
use crate::cli::describe::age::age;
use crate::cli::place::answers;
use tatara_core::control_plane::turn::{Doubt, Holder, Marks, Side};
use tatara_core::remedy;
use tatara_core::words::word;

/// All that is to be seen: the records, the hosts, and what may be done.
pub fn all(known: &Known, now: Timestamp) -> Vec<String> {
    let mut lines = standing(known);
    lines.push(String::new());
    lines.extend(records(known));
    let candidates = known.candidates();
    if !candidates.is_empty() {
        lines.push(String::new());
        for candidate in &candidates {
            lines.extend(shown(candidate, now));
        }
        lines.push(format!(
            "That is as the manager, if it runs, wrote it last. To see it on a host, as root: {LOOK}"
        ));
        lines.push(
            "  \"initialized\":true in owner.json: kubeadm init succeeded there. A PID of etcd: a control plane runs, also one that joined. A PID of kubeadm: it runs now."
                .into(),
        );
    }
    lines.extend(choices(known));
    lines
}

/// What is wrong, in a line or two.
fn standing(known: &Known) -> Vec<String> {
    let (namespace, name) = (known.namespace(), known.name());
    if let Some(why) = closed(known) {
        return vec![format!(
            "Cluster {namespace}/{name}: not judged, because {why}."
        )];
    }
    let what = match trouble(known) {
        None => {
            "Cluster and CA Secret do not contradict each other, and no Machine reports a doubt"
                .to_owned()
        }
        Some(Trouble::Doubt(doubt)) => contradiction(&doubt),
        Some(Trouble::MadeTwice(by)) => {
            let by: Vec<String> = by.iter().map(|uid| known.candidate(uid).called()).collect();
            format!(
                "kubeadm init succeeded on the host of {}, as the marker there says, and another Machine is recorded as the one that ran it",
                by.join(", of ")
            )
        }
        Some(Trouble::Unrecorded(shown)) => format!(
            "neither Cluster nor CA Secret records which Machine ran kubeadm init, and there may be a control plane: {shown}"
        ),
        Some(Trouble::Reported { of, says }) => {
            format!("{of} reports a doubt that Cluster and CA Secret do not show now: {says}")
        }
    };
    vec![format!("Cluster {namespace}/{name}: {what}.")]
}

fn contradiction(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Unreadable(side, _) => format!(
            "the control-plane turn on the {} names no Machine, so that any may be running kubeadm init, or changing the control plane",
            match side {
                Side::Secret => "CA Secret",
                Side::Cluster => "Cluster",
            }
        ),
        Doubt::TwoHolders(..) => "Cluster and CA Secret name two Machines that have the control-plane turn, or one for two changes; each may be running kubeadm init".into(),
        Doubt::RecordOnSecretOnly(_) => "the CA Secret records which Machine ran kubeadm init, and the Cluster records none".into(),
        Doubt::TwoRecords(..) => "Cluster and CA Secret record two Machines as the one that ran kubeadm init".into(),
        Doubt::Reported(reason) => format!("{reason} is reported"),
    }
}

/// Turn and record of both objects, as a table.
fn records(known: &Known) -> Vec<String> {
    let both = known.marks();
    let name = known.name();
    let secret = match &known.secret {
        CaSecret::Seen(_) => row(known, format!("Secret {name}-ca"), &both.secret),
        CaSecret::Missing => [
            format!("Secret {name}-ca"),
            "does not exist".into(),
            String::new(),
        ],
        CaSecret::Hidden(_) => [
            format!("Secret {name}-ca"),
            "you may not read it".into(),
            String::new(),
        ],
    };
    let rows = [
        ["OBJECT", "TURN", "RAN KUBEADM INIT"].map(str::to_owned),
        secret,
        row(known, format!("Cluster {name}"), &both.cluster),
    ];
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths = [width(0), width(1)];
    let line = |row: &[String; 3]| {
        let [one, two, three] = row;
        let line = format!("{one:0$}   {two:1$}   {three}", widths[0], widths[1]);
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn row(known: &Known, object: String, marks: &Marks) -> [String; 3] {
    let turn = match &marks.turn {
        Holder::Nobody => "nobody".to_owned(),
        Holder::Unreadable(text) => format!("unreadable: {text:?}"),
        Holder::Of(turn) if known.cluster.metadata.uid.as_ref() == Some(&turn.machine) => {
            format!("{}: the Cluster itself", turn.action.as_str())
        }
        Holder::Of(turn) => {
            format!(
                "{}: Machine {} (uid {})",
                turn.action.as_str(),
                word(&turn.name),
                turn.machine
            )
        }
    };
    let record = marks.initialized.as_ref();
    let record = record.map_or_else(|| "no record".into(), |uid| known.candidate(uid).label());
    [object, turn, record]
}

/// What is to be seen of a Machine and its host.
fn shown(candidate: &Candidate, now: Timestamp) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(machine) = candidate.machine {
        facts.push(match (candidate.is_begun(), machine.is_control_plane()) {
            (_, false) => "it is a worker",
            (true, true) => "kubeadm was started for it",
            (false, true) => "nothing records that kubeadm was started for it",
        });
        if candidate.serves() {
            facts.push("its Node is Ready");
        } else if candidate.had_node() {
            facts.push("it has, or had, a Node, which is not Ready");
        }
        if machine.metadata.deletion_timestamp.is_some() {
            facts.push("it is being deleted");
        }
    }
    if candidate.shows_init {
        facts.push("the marker on its host says that kubeadm init succeeded there");
    }
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!(": {}", facts.join("; "))
    };
    let mut lines = vec![format!("{}{facts}", capital(&candidate.label()))];
    lines.push(format!("  {}{}", place(candidate), since(candidate, now)));
    lines
}

/// The address of its Host, for how long that answers or not, and what the API has of its marker.
fn since(candidate: &Candidate, now: Timestamp) -> String {
    let Some(host) = candidate.host else {
        return String::new();
    };
    let status = host.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice());
    let since = answers(conditions.unwrap_or_default());
    let since = since.map_or_else(String::new, |(_, since)| {
        format!(" for {}", age(since, now))
    });
    let marker = status.and_then(|status| status.marker.as_ref());
    let marker = marker.map_or_else(String::new, |marker| {
        format!(
            "; the marker on its server names Machine {}/{} (uid {})",
            marker.namespace, marker.name, marker.uid
        )
    });
    let claim = host.spec.consumer_ref.as_ref();
    let other = claim.filter(|claim| claim.uid != candidate.uid);
    let other = other.map_or_else(String::new, |claim| {
        format!(
            "; its claim is that of Machine {} (uid {})",
            claim.name, claim.uid
        )
    });
    format!(
        "{since}; its address is {}{marker}{other}",
        host.spec.ssh.address
    )
}

/// What may be done, each with its command, what speaks against it, and what comes of it.
fn choices(known: &Known) -> Vec<String> {
    if closed(known).is_some() || trouble(known).is_none() {
        return Vec::new();
    }
    let wishes = wishes(known);
    let mut lines = vec![String::new(), "What may be done:".into()];
    let mut safe = Vec::new();
    for wish in &wishes {
        lines.push(format!("- {}", command(known, wish)));
        for what in consequences(known, wish) {
            lines.push(format!("    {what}."));
        }
        match objection(known, wish) {
            None => safe.push(command(known, wish)),
            Some(Objection::Refused(why)) => lines.push(format!("    It is refused: {why}.")),
            Some(Objection::Shown(all)) => {
                for speaks in all {
                    lines.push(format!(
                        "    It needs --force: {}. Only if {}.",
                        speaks.why, speaks.only_if
                    ));
                }
            }
        }
    }
    lines.extend(otherwise(known).into_iter().map(|what| format!("- {what}")));
    lines.push(String::new());
    match &safe[..] {
        [] => lines.push("Something speaks against each: look at the hosts first.".into()),
        all => {
            lines.push("Nothing that objects show speaks against:".into());
            lines.extend(all.iter().map(|command| format!("  {command}")));
        }
    }
    lines.push("If you are not sure, change nothing: what runs goes on, and until this is resolved no Machine begins kubeadm init, joins the control plane, leaves it or is updated in it.".into());
    lines
}

/// What may be done beside that, with other commands.
fn otherwise(known: &Known) -> Vec<String> {
    let (namespace, name) = (known.namespace(), known.name());
    let without = |uids: &[String]| {
        let machines = uids.iter().filter_map(|uid| known.candidate(uid).machine);
        let machines = machines.map(ResourceExt::name_any).map(|machine| {
            let delete = remedy::delete_machine(namespace, &machine);
            format!(
                "If the control plane of Machine {machine} is not the one that is needed: {delete}. Its condition Deleting then says how its host is reset"
            )
        });
        machines.collect::<Vec<String>>()
    };
    let mut all = match trouble(known) {
        Some(Trouble::MadeTwice(by)) => return without(&by),
        Some(Trouble::Doubt(Doubt::TwoHolders(on_secret, on_cluster))) => {
            let mut all = without(&[on_secret.machine, on_cluster.machine]);
            all.push(format!("A holder that is no Machine any more has the turn until its host is reset, or declared gone: {}", remedy::describe_cluster(namespace, name)));
            return all;
        }
        Some(Trouble::Reported { .. } | Trouble::Unrecorded(_)) => vec![format!(
            "If another host has \"initialized\":true in /var/lib/tatara/owner.json: {} --force",
            remedy::cluster::made_by_uid(namespace, name, "UID")
        )],
        _ => Vec::new(),
    };
    if !matches!(trouble(known), Some(Trouble::Doubt(Doubt::Unreadable(..)))) {
        all.push(format!(
            "Only if no host has a control plane that is needed: {}, and apply it again; delete CA Secrets that you supplied as well, and create them again. That resets all of its hosts, also those of its workers, and their state is lost",
            remedy::cluster::delete(namespace, name)
        ));
    }
    all
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
