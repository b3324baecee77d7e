//! The annotations by which Tatara is steered: those that the objects of a tree have, and those
//! that a person may set on the described one.

use clap::builder::styling::Style as Colour;
use unicode_width::UnicodeWidthStr;

use super::kind::Kind;
use super::render::{Style, clean, faint, line, padded};
use super::snapshot::Snapshot;
use super::tree::rows;
use tatara_core::annotations::{Annotation, TEMPLATE, find, of};

/// Longest value that is shown whole, in characters.
const LONGEST: usize = 48;

/// An annotation of an object, as text.
struct Found {
    object: String,
    set: String,
    row: &'static Annotation,
}

/// What the objects of the tree have, a line for each annotation: the object, the value, who writes
/// it, what it does.
pub fn present(snapshot: &Snapshot, style: Style) -> Vec<String> {
    let found: Vec<Found> = rows(snapshot)
        .iter()
        .filter_map(|row| Some((Kind::parse(row.kind)?, &row.name)))
        .flat_map(|(kind, name)| on(snapshot, kind, name, style))
        .collect();
    let widest = |text: fn(&Found) -> &str| {
        let widths = found.iter().map(|one| text(one).width());
        widths.max().unwrap_or(0)
    };
    let (object, set) = (widest(|one| &one.object), widest(|one| &one.set));
    let lines = found.iter().map(|one| {
        let text = format!(
            "  {}  {}",
            padded(&one.object, object),
            padded(&one.set, set)
        );
        let who = one.row.writer.name();
        let what = format!("   # by {who}: {}", one.row.meaning);
        line(&[(Colour::new(), text), (faint(), what)], style)
    });
    lines.collect()
}

/// The commands that set one on the described object, each with what it does; of a verb of `tatara`
/// also what it sets.
pub fn settable(snapshot: &Snapshot, style: Style) -> Vec<String> {
    let kind = snapshot.kind;
    let of_template = of(TEMPLATE).filter(|_| kind == Kind::MachineDeployment);
    let lines = of(kind.as_str()).chain(of_template).filter_map(|one| {
        let command = one.command()?;
        let text = command(kind.singular(), &snapshot.namespace, &snapshot.name);
        let sets = if text.contains(one.name) {
            String::new()
        } else {
            format!("{}: ", one.name)
        };
        let text = format!("  {text}");
        let what = format!("   # {sets}{}", one.meaning);
        Some(line(&[(Colour::new(), text), (faint(), what)], style))
    });
    lines.collect()
}

/// Those of one object by which Tatara decides; of a MachineDeployment also those of its template.
fn on(snapshot: &Snapshot, kind: Kind, name: &str, style: Style) -> Vec<Found> {
    let own = snapshot.meta(kind, name);
    let own = own.and_then(|meta| meta.annotations.as_ref());
    let deployment = match kind {
        Kind::MachineDeployment => snapshot.deployments.get(name),
        _ => None,
    };
    let template = deployment.map(|one| &one.spec.template.metadata.annotations);
    let all = [(kind.as_str(), own), (TEMPLATE, template)];
    let all = all
        .into_iter()
        .flat_map(|(kind, all)| all.into_iter().flatten().map(move |one| (kind, one)));
    all.filter_map(|(kind, (key, value))| {
        let row = find(kind, key).filter(|row| row.is_read())?;
        Some(Found {
            object: match kind {
                TEMPLATE => format!("{}/{name}, template", Kind::MachineDeployment),
                kind => format!("{kind}/{name}"),
            },
            set: format!("{key}={}", short(value, style)),
            row,
        })
    })
    .collect()
}

/// A value, cut where it is long: some are JSON.
fn short(value: &str, style: Style) -> String {
    let value = clean(value);
    let ellipsis = if style.unicode { "…" } else { "..." };
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}{ellipsis}", &value[..at]),
        None => value,
    }
}
