//! The objects of a cluster as a tree: the control plane first, then workers.

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::forest::{Forest, cluster_of};
use super::kind::Kind;
use super::snapshot::Snapshot;
use super::standing::Standing;
use super::{kinds, users};

/// One object of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kind of the object.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Whether it belongs to the control plane.
    pub control_plane: bool,
    /// Its summary.
    pub standing: Standing,
    /// Whether it is the described object.
    pub is_focus: bool,
    /// For itself and each ancestor but the outermost, outermost first: whether a sibling follows.
    pub rails: Vec<bool>,
}

/// All rows: the owners of the described object, itself, and everything below it. Empty if it does
/// not exist.
pub fn rows(snapshot: &Snapshot) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(root) = root(snapshot) {
        flatten(root, &[], &mut rows);
    }
    rows
}

/// The row of the described object, and those of its parts.
pub fn parts(rows: &[Row]) -> Option<(&Row, &[Row])> {
    let at = rows.iter().position(|row| row.is_focus)?;
    let (focus, after) = rows[at..].split_first()?;
    if [Kind::Hypervisor, Kind::MachineClass]
        .map(Kind::as_str)
        .contains(&focus.kind)
    {
        // the objects below use it and are not parts of it
        return Some((focus, &[]));
    }
    let is_below = |row: &&Row| row.rails.len() > focus.rails.len();
    let end = after.iter().take_while(is_below).count();
    Some((focus, &after[..end]))
}

fn root(snapshot: &Snapshot) -> Option<Branch> {
    let name = snapshot.name.as_str();
    let all_of = |cluster: Option<&str>, places| Forest::of(snapshot, cluster, places).roots();
    let (roots, alone) = match snapshot.kind {
        Kind::Cluster => {
            snapshot.clusters.get(name)?;
            (all_of(Some(name), false), None)
        }
        Kind::MachineDeployment => {
            let cluster = cluster_of(snapshot.deployments.get(name)?);
            (all_of(cluster, false), None)
        }
        Kind::MachineSet => {
            let cluster = cluster_of(snapshot.sets.get(name)?);
            (all_of(cluster, false), None)
        }
        Kind::Machine => {
            let cluster = cluster_of(snapshot.machines.get(name)?);
            (all_of(cluster, true), None)
        }
        Kind::Host => {
            let host = snapshot.hosts.get(name)?;
            let alone = branch(Kind::Host.as_str(), host, kinds::host(host));
            let consumer = host.spec.consumer_ref.as_ref();
            let roots = consumer.map(|consumer| all_of(Some(&consumer.cluster), true));
            (roots.unwrap_or_default(), Some(alone))
        }
        Kind::MachineClass => return users::of_class(snapshot, name).map(Branch::focussed),
        Kind::Hypervisor => return users::of_hypervisor(snapshot, name).map(Branch::focussed),
    };
    let path = |root| pruned(root, snapshot.kind.as_str(), name);
    let alone = alone.map(Branch::focussed);
    roots.into_iter().find_map(path).or(alone)
}

/// A branch reduced to the path to an object and everything below it, if the branch has the object.
fn pruned(mut from: Branch, kind: &str, name: &str) -> Option<Branch> {
    if from.row.kind == kind && from.row.name == name {
        return Some(from.focussed());
    }
    let below = from.below.into_iter();
    from.below = below.filter_map(|one| pruned(one, kind, name)).collect();
    (!from.below.is_empty()).then_some(from)
}

/// The unclaimed Hosts of the namespace, in one line. None if there are no Hosts, or if the
/// described object is not a Cluster.
pub fn free_hosts(snapshot: &Snapshot) -> Option<String> {
    let hosts = snapshot.hosts.sorted();
    if hosts.is_empty() || snapshot.kind != Kind::Cluster {
        return None;
    }
    let mut free = Vec::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in hosts
        .into_iter()
        .filter(|host| host.spec.consumer_ref.is_none())
    {
        let Standing { state, reason, .. } = kinds::host(host);
        if state == "Available" {
            free.push(host.name_any());
        } else if reason.is_empty() {
            others.entry(state).or_default().push(host.name_any());
        } else {
            let name = format!("{} ({reason})", host.name_any());
            others.entry(state).or_default().push(name);
        }
    }
    let mut parts = vec![match free.len() {
        0 => "no free host".to_owned(),
        1 => format!("1 free host: {}", free[0]),
        n => format!("{n} free hosts: {}", free.join(", ")),
    }];
    let others = others
        .iter()
        .map(|(state, names)| format!("{} {state}: {}", names.len(), names.join(", ")));
    parts.extend(others);
    Some(parts.join("; "))
}

/// An object and the objects below it.
pub struct Branch {
    /// The object.
    pub row: Row,
    /// The objects below it.
    pub below: Vec<Branch>,
}

impl Branch {
    fn focussed(mut self) -> Self {
        self.row.is_focus = true;
        self
    }
}

/// An object with nothing below it.
pub fn branch(kind: &'static str, object: &impl ResourceExt, standing: Standing) -> Branch {
    let row = Row {
        kind,
        name: object.name_any(),
        control_plane: false,
        standing,
        is_focus: false,
        rails: Vec::new(),
    };
    Branch {
        row,
        below: Vec::new(),
    }
}

fn flatten(branch: Branch, rails: &[bool], rows: &mut Vec<Row>) {
    let Branch { row, below } = branch;
    rows.push(Row {
        rails: rails.to_vec(),
        ..row
    });
    let last = below.len().saturating_sub(1);
    for (at, child) in below.into_iter().enumerate() {
        let rails: Vec<bool> = rails.iter().copied().chain([at < last]).collect();
        flatten(child, &rails, rows);
    }
}
