//! What is true of a Hypervisor, and whether it may go. Pure.

use kube::ResourceExt;

use super::observed::Observed;
use crate::api::conditions::Finding;
use crate::api::hypervisor::HypervisorResources;
use crate::api::names::ANNOTATION_PAUSED;
use crate::gateway::types::Capacity;
use crate::gateway::{Connectivity, View};

/// Where a Hypervisor is in its life: a summary for people; conditions are the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum State {
    /// Its gateway has not answered yet.
    Registering,
    /// Virtual machines may be put on it.
    Available,
    /// Its owner keeps it back.
    Maintenance,
    /// Its gateway does not answer.
    Unreachable,
}

/// What is true of a Hypervisor, and what to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// The summary for people.
    pub state: State,
    /// Whether it has to stay while it is being deleted: Machines are on it. Written as a finalizer.
    pub held: bool,
    /// What it has, and has given away; `None` keeps what was last seen.
    pub room: Option<(HypervisorResources, HypervisorResources)>,
    /// Virtual machines of ours on it.
    pub machines: usize,
}

/// What is true of a Hypervisor.
pub fn plan(observed: &Observed) -> Plan {
    let (state, findings) = findings(observed);
    let capacity = observed
        .gateway
        .as_ref()
        .ok()
        .and_then(|view| view.capacity.as_ref());
    Plan {
        findings,
        state,
        held: !observed.machines.is_empty(),
        room: capacity.map(room),
        machines: observed.machines.len(),
    }
}

fn findings(observed: &Observed) -> (State, Vec<Finding>) {
    let unreachable = |reason, message: &str| {
        let away = "its gateway does not answer; virtual machines that run on it go on";
        (
            State::Unreachable,
            vec![
                Finding::no("Reachable", reason, message),
                Finding::no("Available", reason, format!("{away}: {message}")),
            ],
        )
    };
    match &observed.gateway {
        Err((reason, message)) => unreachable(reason, message),
        Ok(view) => match &view.connectivity {
            Connectivity::Connecting => (
                State::Registering,
                vec![
                    Finding::unknown("Reachable", "Connecting", "connecting to its gateway"),
                    Finding::no("Available", "Connecting", "connecting to its gateway"),
                ],
            ),
            Connectivity::Disconnected { reason, why, .. } => unreachable(reason, why),
            Connectivity::Connected => connected(observed, view),
        },
    }
}

fn connected(observed: &Observed, view: &View) -> (State, Vec<Finding>) {
    let hypervisor = &observed.hypervisor;
    let mut findings = vec![Finding::yes("Reachable", "GatewayAnswers", "")];
    let held_back = |reason, message: String| {
        (
            State::Maintenance,
            Finding::no("Available", reason, message),
        )
    };
    let (state, available) = if hypervisor.metadata.deletion_timestamp.is_some() {
        let message = match observed.machines.as_slice() {
            [] => "is being deleted".to_owned(),
            machines => format!(
                "is being deleted; it goes when these Machines are gone: {}",
                machines.join(", ")
            ),
        };
        held_back("Deleting", message)
    } else if hypervisor.annotations().contains_key(ANNOTATION_PAUSED) {
        held_back(
            "Paused",
            format!("nothing is put on it while it has the annotation {ANNOTATION_PAUSED}"),
        )
    } else if hypervisor.spec.maintenance {
        held_back(
            "Maintenance",
            "spec.maintenance is true: nothing is put on it".into(),
        )
    } else {
        let how = match view
            .capacity
            .as_ref()
            .map(|capacity| capacity.acceleration.as_str())
        {
            Some("none") => {
                "without hardware virtualization: processors are emulated in software, and slow"
            }
            _ => "",
        };
        (State::Available, Finding::yes("Available", "Ready", how))
    };
    findings.push(available);
    findings.push(left_over(observed));
    (state, findings)
}

/// Virtual machines without a Machine may be live nodes, as after the restore of an old backup: they are
/// named, and never deleted without being told.
fn left_over(observed: &Observed) -> Finding {
    let orphans = &observed.orphans;
    if orphans.is_empty() {
        return Finding::yes("MachinesKnown", "AllKnown", "");
    }
    let names: Vec<String> = orphans
        .iter()
        .map(|(id, name)| format!("{name} ({id})"))
        .collect();
    Finding::no(
        "MachinesKnown",
        "Orphaned",
        format!(
            "virtual machines of this management cluster whose Machines do not exist; they may be live nodes, and are left alone: {}. To end one: \
             curl -X DELETE --cacert CA -H \"Authorization: Bearer $TOKEN\" {}/v1/machines/{}",
            names.join(", "),
            observed.hypervisor.spec.url.trim_end_matches('/'),
            orphans[0].0,
        ),
    )
}

fn room(capacity: &Capacity) -> (HypervisorResources, HypervisorResources) {
    let resources = |cpus: i64, memory: i64| HypervisorResources {
        cpus,
        memory: format!("{}Mi", memory >> 20),
    };
    (
        resources(capacity.cpus.limit, capacity.memory_bytes.limit),
        resources(capacity.cpus.allocated, capacity.memory_bytes.allocated),
    )
}
