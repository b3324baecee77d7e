//! What is done next for a Host, and why. Pure.

mod claimed;
mod deleted;
pub mod installation;
mod missing;
mod orphaned;
mod owned;
mod pace;
mod power;
mod ready;
mod reinstall;
mod reset;
mod retain;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::observed::{Contact, Observed};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::host::ConsumerRef;
use crate::api::installation::{Cause, WipePolicy};
use crate::api::names::ANNOTATION_PAUSED;
use crate::host::ContactError;
use crate::node::{Marker, Observation, Ownership};
use crate::pace::STANDING;
use crate::proof::{Clean, InitProof};

/// Where a host is in its life: a summary for people; conditions are authoritative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum State {
    /// It has not been reached yet.
    #[default]
    Registering,
    /// A Machine may claim it.
    Available,
    /// A Machine claims it.
    Claimed,
    /// It is being reset.
    Releasing,
    /// Its operating system is being installed.
    Installing,
    /// It is not clean, and no Machine can claim it.
    Quarantined,
    /// It is in maintenance, or being deleted.
    Maintenance,
    /// It does not answer.
    Unreachable,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Action {
    /// Pin the keys that the host showed at first contact, by compare-and-swap.
    PinKeys(Vec<String>),
    /// Run the reset unit of this Machine, or attach to it.
    Reset(Marker),
    /// Add the finalizer that keeps the Host while a Machine claims it.
    Hold,
    /// Clear the claim, by compare-and-swap: nothing of its Machine is on it.
    Free(Clean),
    /// Remove the finalizer of a Host that is being deleted, with its claim. Its server is not
    /// changed.
    LetGo,
    /// The same, because this other Host names the same server with the same claim, and stays.
    LeaveTo(String),
    /// Record on the Cluster that its control plane is on this host, of a Machine that does not
    /// exist.
    RecordInitialized(InitProof),
    /// Switch it on through its BMC, to boot from its own disk.
    SwitchOn,
    /// Shut it down through its BMC, if no Machine has claimed it meanwhile.
    SwitchOff,
    /// Cut its power through its BMC, if it is still released.
    Fence,
    /// Stop the kubelet of this Machine for good.
    StopKubelet(Marker),
    /// Stop the jobs of this Machine that need its Cluster, if that is being deleted, read live.
    StopJobs(Marker),
    /// Create a host key, and record on the Host that an installation is under way, with a
    /// compare-and-swap.
    BeginInstallation,
    /// Open the installer to the host, as it was before we started.
    OpenInstaller,
    /// Open the installer to the host, and have its BMC boot it.
    BootInstaller,
    /// Close the installer, and have the BMC boot what was installed.
    BootInstalled,
    /// Pin the key of the installed system, and remove the record of the installation; free the
    /// host if it was released.
    EndInstallation,
    /// Close the installer, have the BMC take it out, and write down why.
    GiveUpInstallation(Cause, String),
}

/// What is done next for a Host, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// The state, a summary.
    pub state: State,
    /// When to look again, beside on every change.
    pub next: Next,
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

/// Whether an answer of that time is recent enough, so that the host is not queried again.
pub fn is_fresh(heard_at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(heard_at).unsigned_abs() < STANDING
}

/// What is done next for a Host, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if observed.host.annotations().contains_key(ANNOTATION_PAUSED) {
        return paused(observed);
    }
    if !observed.first_contact_keys.is_empty() {
        // nothing is said of a host, or done to it, before it is sure that it is the same one the
        // next time
        return Plan {
            actions: vec![Action::PinKeys(observed.first_contact_keys.clone())],
            ..Plan::default()
        };
    }
    let mut plan = match &observed.installation {
        Some(underway) => installation::plan(observed, underway, now),
        None => by_contact(observed, now),
    };
    let is_free = || plan.actions.iter().any(|a| matches!(a, Action::Free(_)));
    if !is_free() {
        plan.actions.extend(owned::let_go(observed));
    }
    // else no other Machine may run init because of this host, and this host is not reset because
    // of its control plane
    let made = observed.unrecorded.clone().map(Action::RecordInitialized);
    plan.actions.extend(made);
    power::tell(observed, &mut plan);
    ready::tell(observed, &mut plan);
    plan.next = plan.next.sooner(pace::of(observed, &plan));
    plan.findings
        .push(Finding::no(ConditionType::Paused, Reason::NotPaused, ""));
    plan
}

/// According to the answer of the host.
fn by_contact(observed: &Observed, now: Timestamp) -> Plan {
    let stopped = owned::contested(observed).or_else(|| owned::not_meant(observed));
    if let Some(mut plan) = stopped {
        match &observed.contact {
            Contact::Seen(_) => {
                plan.findings
                    .push(Finding::yes(ConditionType::Reachable, Reason::Answers, ""));
            }
            Contact::Failed(error) => {
                let told = Finding::no(
                    ConditionType::Reachable,
                    error.reason,
                    error.message.clone(),
                );
                plan.findings.push(told);
            }
            Contact::NotAsked | Contact::Off => (),
        }
        return plan;
    }
    let mut plan = match &observed.contact {
        Contact::NotAsked => claimed::not_asked(observed, now),
        Contact::Off => power::off(observed, now),
        Contact::Failed(error) => {
            let mut plan = failed(observed, error);
            power::fence(observed, error, now, &mut plan);
            plan
        }
        Contact::Seen(seen) => answered(observed, seen, now),
    };
    reinstall::asked(observed, &mut plan);
    plan
}

fn is_installing(observed: &Observed) -> bool {
    let underway = observed.installation.as_ref();
    underway.is_some_and(|underway| underway.record.is_active())
}

/// Nothing is done to it; it is not handed out either.
fn paused(observed: &Observed) -> Plan {
    let message = "nothing is done to the Host while the annotation cluster.k8s.io/paused is set";
    let state = match consumer(observed) {
        Some(_) => State::Claimed,
        None => State::Maintenance,
    };
    let mut plan = unavailable(state, Reason::Paused, message);
    plan.findings
        .push(Finding::yes(ConditionType::Paused, Reason::Paused, message));
    plan
}

fn consumer(observed: &Observed) -> Option<&ConsumerRef> {
    observed.host.spec.consumer_ref.as_ref()
}

fn unavailable(state: State, reason: Reason, message: impl Into<String>) -> Plan {
    Plan {
        findings: vec![Finding::no(ConditionType::Available, reason, message)],
        state,
        ..Plan::default()
    }
}

fn failed(observed: &Observed, error: &ContactError) -> Plan {
    let state = if consumer(observed).is_some_and(|c| c.releasing) {
        State::Quarantined
    } else {
        State::Unreachable
    };
    let again = if error.reason.is_refused_login() {
        "; retried every minute"
    } else {
        ""
    };
    let message = format!("{}{again}{}", error.message, deleted::stays(observed));
    let mut plan = unavailable(state, error.reason, message);
    plan.next = Next::After(error.again());
    plan.findings.insert(
        0,
        Finding::no(
            ConditionType::Reachable,
            error.reason,
            error.message.clone(),
        ),
    );
    if consumer(observed).is_some_and(|consumer| !consumer.releasing) {
        plan.state = State::Claimed;
    }
    plan
}

fn is_deleted(observed: &Observed) -> bool {
    observed.host.metadata.deletion_timestamp.is_some()
}

fn answered(observed: &Observed, seen: &Observation, now: Timestamp) -> Plan {
    let mut plan = match &seen.owner {
        _ if consumer(observed).is_none() && !observed.duplicates.address.is_empty() => {
            // whatever the server says, another Host speaks for it too
            twin(observed, seen).unwrap_or_else(|| free(observed, seen))
        }
        Ownership::Nobody if let Some(plan) = missing::marker(observed, seen) => plan,
        Ownership::Nobody if seen.occupied.is_empty() => clean(observed, seen, now),
        Ownership::Nobody => {
            let found: Vec<String> = seen.occupied.iter().map(ToString::to_string).collect();
            owned::occupied(
                observed,
                format!(
                    "it runs a Kubernetes node that Tatara does not manage, and is left alone: {}. If that node is no longer needed, run on the host: kubeadm reset",
                    found.join("; ")
                ),
            )
        }
        Ownership::Unreadable(text) => owned::unreadable(text),
        Ownership::Owner(owner) if owner.marker.management != observed.management => {
            owned::occupied(
                observed,
                format!(
                    "it belongs to Machine {}/{} of another management cluster (uid {}), and is left alone. It may be a live node, or a control plane with the only copy of its state. If that management cluster is lost and nobody needs this node, undo by hand what was set up, which destroys that: docs/operating.md#undo",
                    owner.marker.namespace, owner.marker.machine, owner.marker.management
                ),
            )
        }
        Ownership::Owner(owner) => owned::plan(observed, seen, owner, now),
    };
    plan.findings.insert(
        0,
        Finding::yes(ConditionType::Reachable, Reason::Answers, ""),
    );
    plan
}

fn clean(observed: &Observed, seen: &Observation, now: Timestamp) -> Plan {
    let mut plan = match consumer(observed) {
        Some(consumer)
            if consumer.releasing && reinstall::policy(observed) == WipePolicy::Reinstall =>
        {
            reinstall::on_release(observed, now)
        }
        Some(consumer) if consumer.releasing => {
            let mut plan = owned::released(observed, seen);
            if plan.state == State::Quarantined {
                // what may come back with another disk is not clean
                let why = plan
                    .findings
                    .iter()
                    .find(|f| f.condition == ConditionType::Available);
                let why = why.map_or_else(String::new, Finding::message);
                plan.findings
                    .insert(0, Finding::no(ConditionType::Clean, Reason::NotReset, why));
                return plan;
            }
            plan
        }
        Some(_) => claimed::by_machine(observed),
        None => free(observed, seen),
    };
    plan.findings
        .insert(0, Finding::yes(ConditionType::Clean, Reason::Clean, ""));
    plan
}

/// Something of it is another Host's as well.
fn twin(observed: &Observed, seen: &Observation) -> Option<Plan> {
    let why = observed
        .duplicates
        .problem(&observed.host, Some(&seen.facts))?;
    Some(unavailable(State::Quarantined, why.reason, why.message()))
}

fn free(observed: &Observed, seen: &Observation) -> Plan {
    if let Some(plan) = twin(observed, seen) {
        return plan;
    }
    if observed.host.spec.maintenance {
        return unavailable(
            State::Maintenance,
            Reason::Maintenance,
            "spec.maintenance is true",
        );
    }
    if observed.host.metadata.deletion_timestamp.is_some() {
        return unavailable(
            State::Maintenance,
            Reason::Deleting,
            "the Host is being deleted",
        );
    }
    if let Some(plan) = power::switch_off(observed) {
        return plan;
    }
    Plan {
        findings: vec![Finding::yes(
            ConditionType::Available,
            Reason::Available,
            observed.duplicates.note(),
        )],
        state: State::Available,
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests;
