//! What is true of a Hypervisor, and whether it may be deleted. Pure.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::observed::{AbandonedMachine, Observed};
use crate::api::Hypervisor;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::api::hypervisor::HypervisorResources;
use crate::api::names::ANNOTATION_PAUSED;
use crate::hypervisor::{Connectivity, View};
use crate::remedy;
use crate::wire::Capacity;
use crate::{Next, backoff, finalizers};

/// Where a Hypervisor is in its life: a summary for people; conditions are authoritative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum State {
    /// Its gateway has not answered yet.
    Registering,
    /// Virtual machines may be created on it.
    Available,
    /// It is in maintenance, paused, or being deleted.
    Maintenance,
    /// Its gateway does not answer.
    Unreachable,
}

/// What is true of a Hypervisor, and what to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// The state, a summary.
    pub state: State,
    /// Its capacity, and what of it is allocated; `None` keeps the last known.
    pub room: Option<(HypervisorResources, HypervisorResources)>,
    /// Number of Machines that are placed on it.
    pub machines: usize,
    /// When to look again, beside on every change.
    pub next: Next,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Action {
    /// Add the finalizer, for Machines are on it, or remove it.
    Hold(bool),
    /// Delete a virtual machine, unless a live read just before forbids it.
    End {
        /// Its id: the UID of the Machine that was given up.
        uid: String,
        /// Name of that Machine.
        name: String,
    },
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next
    }
}

/// Message about a virtual machine that is not deleted although a Machine of its UID was given up.
pub const NOT_OURS: &str =
    "left alone: according to its labels it is not a virtual machine of this management cluster";

/// Names that a message holds.
const NAMED: usize = 10;

/// What is true of a Hypervisor.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let (state, mut findings) = findings(observed);
    findings.extend(known(observed));
    findings.extend(ready(&findings));
    let is_used = !observed.machines.is_empty();
    let change = finalizers::held(observed.hypervisor.as_ref(), is_used);
    let (ends, next) = ends(observed, now);
    let capacity = observed
        .gateway
        .as_ref()
        .ok()
        .and_then(|view| view.capacity.as_ref());
    let hold = change.map(|_| Action::Hold(is_used));
    Plan {
        actions: hold.into_iter().chain(ends).collect(),
        findings,
        state,
        room: capacity.map(room),
        machines: observed.machines.len(),
        next,
    }
}

fn is_connected(observed: &Observed) -> bool {
    let view = observed.gateway.as_ref();
    view.is_ok_and(|view| view.connectivity == Connectivity::Connected)
}

/// What is ended now, and when the next try is due: each at growing intervals.
fn ends(observed: &Observed, now: Timestamp) -> (Vec<Action>, Next) {
    let is_paused = observed
        .hypervisor
        .annotations()
        .contains_key(ANNOTATION_PAUSED);
    let (mut ends, mut next) = (Vec::new(), Next::OnChange);
    if !is_connected(observed) || is_paused {
        return (ends, next);
    }
    for abandoned in observed.given_up.iter().flatten() {
        if abandoned.is_machine || abandoned.is_anothers {
            continue;
        }
        let tried = &abandoned.tried;
        let wait = backoff::left(tried.times, 1.0, tried.last, now);
        if wait.is_zero() {
            ends.push(Action::End {
                uid: abandoned.uid.clone(),
                name: abandoned.name.clone(),
            });
        } else {
            next = next.sooner(Next::After(wait));
        }
    }
    (ends, next)
}

fn findings(observed: &Observed) -> (State, Vec<Finding>) {
    let unreachable = |reason, message: &str| {
        // whether they run, only the gateway could say
        let away = format!(
            "{}its gateway does not answer; virtual machines on it may still run, and none is created: {message}. If its server never comes back: docs/virtual-machines.md#a-hypervisor-that-is-lost",
            deleting(observed)
        );
        (
            State::Unreachable,
            vec![
                Finding::no(ConditionType::Reachable, reason, message),
                Finding::no(ConditionType::Available, reason, away),
            ],
        )
    };
    match &observed.gateway {
        Err(why) => unreachable(why.reason, &why.message()),
        Ok(view) => match &view.connectivity {
            Connectivity::Connecting => (
                State::Registering,
                vec![
                    Finding::unknown(
                        ConditionType::Reachable,
                        Reason::Connecting,
                        "connecting to its gateway",
                    ),
                    Finding::no(
                        ConditionType::Available,
                        Reason::Connecting,
                        "connecting to its gateway",
                    ),
                ],
            ),
            Connectivity::Disconnected { reason, why, .. } => unreachable(*reason, why),
            Connectivity::Connected => connected(observed, view),
        },
    }
}

/// Whether it is as its owner asks: virtual machines may be put on it, or its owner keeps it back.
fn ready(findings: &[Finding]) -> Option<Finding> {
    let mut all = findings.iter();
    let available = all.find(|f| f.condition == ConditionType::Available)?;
    let is_kept = [Reason::Maintenance, Reason::Paused].contains(&available.reason());
    Some(Finding {
        condition: ConditionType::Ready,
        status: if is_kept {
            Status::True
        } else {
            available.status
        },
        ..available.clone()
    })
}

/// What a Hypervisor that is being deleted stays for, before the rest that is said of it.
fn deleting(observed: &Observed) -> String {
    if observed.hypervisor.metadata.deletion_timestamp.is_none() || observed.machines.is_empty() {
        return String::new();
    }
    format!(
        "is being deleted, but stays while these Machines are on it: {}; ",
        observed.machines.join(", ")
    )
}

fn connected(observed: &Observed, view: &View) -> (State, Vec<Finding>) {
    let hypervisor = &observed.hypervisor;
    let unreadable = view.unreadable.as_ref().map(|why| {
        format!("part of its answer cannot be read: {why}; upgrade tatara-gateway there to the release of the manager")
    });
    let unreadable = unreadable.unwrap_or_default();
    let mut findings = vec![Finding::yes(
        ConditionType::Reachable,
        Reason::GatewayAnswers,
        unreadable,
    )];
    let held_back = |reason, message: String| {
        (
            State::Maintenance,
            Finding::no(ConditionType::Available, reason, message),
        )
    };
    let (state, available) = if hypervisor.metadata.deletion_timestamp.is_some() {
        let message = match observed.machines.as_slice() {
            [] => "is being deleted".to_owned(),
            machines => format!(
                "is being deleted; delete these Machines first, which still use it: {}",
                machines.join(", ")
            ),
        };
        held_back(Reason::Deleting, message)
    } else if hypervisor.annotations().contains_key(ANNOTATION_PAUSED) {
        held_back(
            Reason::Paused,
            format!(
                "no virtual machine is created on it while it has the annotation {ANNOTATION_PAUSED}"
            ),
        )
    } else if hypervisor.spec.maintenance {
        held_back(
            Reason::Maintenance,
            "spec.maintenance is true: no virtual machine is created on it".into(),
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
        (
            State::Available,
            Finding::yes(ConditionType::Available, Reason::Ready, how),
        )
    };
    findings.push(available);
    (state, findings)
}

/// Whose the virtual machines are. While its gateway does not answer that is not known, but for
/// those that were given up.
fn known(observed: &Observed) -> Option<Finding> {
    let is_connected = is_connected(observed);
    let given_up = match &observed.given_up {
        Ok(given_up) => given_up,
        Err(error) => {
            let hypervisor = &observed.hypervisor;
            let message = format!(
                "{error}: {}. Until then no virtual machine is deleted for it, and no Machine here is removed by hostReleaseTimeoutSeconds or tatara.dev/host-is-gone",
                remedy::hypervisor::remove_given_up(
                    &hypervisor.namespace().unwrap_or_default(),
                    &hypervisor.name_any()
                )
            );
            return Some(Finding::no(
                ConditionType::MachinesKnown,
                Reason::GivenUpUnreadable,
                message,
            ));
        }
    };
    if is_connected && !observed.orphans.is_empty() {
        return Some(left_over(observed));
    }
    if !given_up.is_empty() {
        return Some(abandoned(&observed.hypervisor, given_up));
    }
    is_connected.then(|| Finding::yes(ConditionType::MachinesKnown, Reason::AllKnown, ""))
}

/// Machines that were given up, and why their virtual machines are not ended yet.
fn abandoned(hypervisor: &Hypervisor, given_up: &[AbandonedMachine]) -> Finding {
    let state = |abandoned: &AbandonedMachine| {
        if abandoned.is_machine {
            "its Machine still exists".to_owned()
        } else if abandoned.is_anothers {
            NOT_OURS.to_owned()
        } else {
            let refused = abandoned.tried.refused.as_ref();
            refused.map_or("waiting for the gateway".to_owned(), |finding| {
                finding.message()
            })
        }
    };
    let named = given_up.iter().map(|abandoned| {
        format!(
            "{} ({}): {}",
            abandoned.name,
            abandoned.uid,
            state(abandoned)
        )
    });
    Finding::no(
        ConditionType::MachinesKnown,
        Reason::EndingGivenUp,
        format!(
            "virtual machines of Machines that were removed before these could be deleted (hostReleaseTimeoutSeconds or tatara.dev/host-is-gone) may still run here; each is deleted when the gateway answers: {}. Bring it back. Only if that server never starts again, for then nothing deletes these any more: {}",
            listed(named),
            remedy::hypervisor::delete(
                &hypervisor.namespace().unwrap_or_default(),
                &hypervisor.name_any()
            )
        ),
    )
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let text = names.take(NAMED).collect::<Vec<_>>().join(", ");
    match more {
        0 => text,
        more => format!("{text}, and {more} more"),
    }
}

/// Virtual machines without a Machine may be live nodes, as after the restore of an old backup:
/// they are named, and never deleted.
fn left_over(observed: &Observed) -> Finding {
    let orphans = &observed.orphans;
    // a gateway may call them anything
    let short = |name: &str| name.chars().take(63).collect::<String>();
    let names = orphans
        .iter()
        .map(|(id, name)| format!("{} ({id})", short(name)));
    Finding::no(
        ConditionType::MachinesKnown,
        Reason::Orphaned,
        format!(
            "virtual machines of this management cluster whose Machines do not exist; they may be live nodes, and are left alone: {}. Check first that no Node runs in it. To delete one with its disks, by the token of the Secret (where that has tls.crt and tls.key instead: --cert and --key): \
             {}",
            listed(names),
            delete_command(&observed.hypervisor, &orphans[0].0),
        ),
    )
}

/// With the credentials that the manager uses, where these are a token.
fn delete_command(hypervisor: &Hypervisor, id: &str) -> String {
    let spec = &hypervisor.spec;
    remedy::hypervisor::delete_virtual_machine(
        (
            &hypervisor.namespace().unwrap_or_default(),
            &hypervisor.name_any(),
        ),
        &spec.credentials_ref.name,
        &spec.url,
        id,
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

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
