//! What is done next for a Machine, and why. Pure.

mod action;
pub mod addons;
pub mod address;
mod bootstrap;
pub mod claim;
mod commands;
pub mod correct;
pub mod crowd;
pub mod dead;
mod delete;
pub mod doubt;
pub mod drain;
mod gates;
mod hooks;
mod hypervisor;
mod job;
pub mod joining;
pub mod leaving;
pub mod placement;
pub mod recorded;
pub(super) mod release;
mod requirements;
mod retained;
pub use action::{Acquire, Action, Power, Release};
pub use bootstrap::BOOTSTRAP;
pub use dead::unanswered;
pub use release::time_limit;
pub mod running;
mod summary;
mod taking;
mod unheld;
pub mod update;
pub use unheld::host_is_gone;
mod virtual_machine;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::member::LastLook;
use super::observed::{Contact, Infrastructure, Lookup, MOMENT, Observed, Placement};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{ANNOTATION_PAUSED, MANAGER_ACCOUNT, provider_ids};
use crate::kubeadm::version;
use crate::{Next, NodeView, new_for};

pub use summary::{Phase, terminal};

/// A finding made while acting may change without an event: it is checked again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How soon a refused eviction is retried, as `kubectl drain` does (5 s). The watch reports a deleted pod at once.
const DRAIN_AGAIN: Duration = Duration::from_secs(5);

/// What is done next for a Machine, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order. The next pass sees the result.
    pub actions: Vec<Action>,
    /// What is true of the Machine: its conditions.
    pub findings: Vec<Finding>,
    /// The phase, a summary.
    pub phase: Phase,
    /// When to look again, beside on every change.
    pub next: Next,
    /// Nothing is reported or done, because the state of the Machine was not read yet since the manager started.
    pub hands_off: bool,
}

/// What is done next for a Machine, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = decide(observed, now);
    if !plan.hands_off {
        drain::suspended(observed, &mut plan);
        plan.findings.extend(components(observed));
        if observed.last_look == LastLook::Silent {
            plan.next = plan.next.sooner(Next::After(bootstrap::ASK_AGAIN));
        }
        await_what_comes(observed, &mut plan, now);
        summary::summarise(observed, &mut plan);
    }
    plan
}

/// What a new Machine needs and does not exist may be applied after it.
fn await_what_comes(observed: &Observed, plan: &mut Plan, now: Timestamp) {
    let Some(left) = new_for(&observed.machine.metadata, now) else {
        return;
    };
    for finding in &mut plan.findings {
        let lacks = matches!(
            finding.reason(),
            Reason::ClusterMissing | Reason::MachineClassMissing | Reason::NoMatchingHost
        );
        if lacks && finding.condition == ConditionType::InfrastructureReady {
            finding.why.reason = Reason::Starting;
            plan.next = plan.next.sooner(Next::After(left));
        }
    }
}

/// How the components of its control plane are, of one that holds a machine.
fn components(observed: &Observed) -> Vec<Finding> {
    let cluster = observed.cluster.as_ref();
    let known = cluster.and_then(|cluster| cluster.components.as_ref());
    match (known, &observed.placement) {
        (Some(known), Placement::Held(held)) if !held.releasing => {
            known.findings(&held.name).collect()
        }
        _ => Vec::new(),
    }
}

fn decide(observed: &Observed, now: Timestamp) -> Plan {
    if let Some(object) = &observed.paused_by {
        return Plan::waiting(Finding::yes(
            ConditionType::Paused,
            Reason::Paused,
            format!("nothing is done while {object} has the annotation {ANNOTATION_PAUSED}"),
        ));
    }
    if let [_, _, ..] = observed.claims.as_slice() {
        return unheld::contested(observed);
    }
    if let Some(plan) = unheld::contradictory(observed) {
        return plan;
    }
    if let Some(plan) = unheld::moved(observed).or_else(|| hypervisor::moved(observed)) {
        return plan;
    }
    if observed.is_deleting() {
        return delete::plan(observed, now);
    }
    if let Some(problem) = unusable(observed) {
        return running::beside(observed, problem);
    }
    if let Some(plan) = unheld::adoption(observed) {
        return plan;
    }
    if matches!(observed.node, Lookup::NotYet(_)) {
        // A restart of ours is no news, nor an address that moves: the workload cluster's next answer wakes us.
        return Plan {
            hands_off: true,
            next: Next::After(MOMENT),
            ..Plan::default()
        };
    }
    let mut plan = match &observed.placement {
        Placement::None(_) if observed.claiming.is_some() => claiming(observed),
        Placement::None(choice) => unheld::plan(observed, choice),
        Placement::Held(held) => held_plan(observed, held, now),
    };
    if observed.machine.spec.config_source.is_some() {
        plan.findings.push(Finding::no(ConditionType::ConfigSourceUsed, Reason::Ignored, "spec.configSource is accepted as in 2019 and not used; use kubeletConfiguration of the Cluster"));
    }
    plan
}

/// Its claim is not in the store yet: nothing is known of the host.
fn claiming(observed: &Observed) -> Plan {
    let host = observed.claiming.as_deref().unwrap_or_default();
    Plan::waiting(Finding::no(
        ConditionType::InfrastructureReady,
        Reason::Claiming,
        format!("claimed Host {host}; waiting until the watch shows the claim"),
    ))
}

fn held_plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    if held.releasing {
        return Plan::waiting(Finding::no(
            ConditionType::InfrastructureReady,
            Reason::Released,
            unheld::released(observed, held),
        ));
    }
    let machine = observed.virtual_machine.as_ref();
    let first = machine.and_then(|machine| virtual_machine::plan(observed, machine, now));
    let mut plan = match (&observed.node, first) {
        (Lookup::Known(Some(node)), None) => bootstrap::record_beside_node(observed, held, now)
            .unwrap_or_else(|| commands::plan(observed, held, node, now)),
        (Lookup::Known(Some(node)), Some(trouble)) => {
            let running = running::plan(observed, node);
            let is_told = machine.is_some_and(|machine| machine.told.is_ok());
            virtual_machine::beside_node(running, trouble, is_told)
        }
        (_, Some(first)) => first,
        (_, None) => bootstrap::plan(observed, held, now),
    };
    address::keep(observed, held, &mut plan, now);
    update::keep(observed, held, &mut plan, now);
    addons::keep(observed, held, &mut plan, now);
    virtual_machine::remove_seed(observed, held, &mut plan);
    hypervisor::record(observed, &mut plan);
    plan
}

/// A mistake or a missing object that a person must correct.
fn unusable(observed: &Observed) -> Option<Finding> {
    let no = |reason, message: String| {
        Some(Finding::no(
            ConditionType::InfrastructureReady,
            reason,
            message,
        ))
    };
    let label = observed
        .machine
        .labels()
        .get(crate::api::names::LABEL_CLUSTER);
    let Some(cluster) = &observed.cluster else {
        return match label {
            None => no(Reason::ClusterLabelMissing, "metadata.labels has no cluster.k8s.io/cluster-name; set it to the name of a Cluster in this namespace".into()),
            Some(name) => no(Reason::ClusterMissing, format!("Cluster {name}, named by the label cluster.k8s.io/cluster-name, does not exist in this namespace; create it, or correct the label")),
        };
    };
    if let Err(problem) = &observed.spec {
        let message = match problem.reason {
            Reason::InvalidConfiguration => {
                format!("{problem}. {}", correct::remedy(&observed.machine))
            }
            _ => problem.message(),
        };
        return no(problem.reason, message);
    }
    if let Some(id) = &observed.machine.spec.provider_id
        && !provider_ids(observed.uid()).contains(id)
    {
        return no(
            Reason::ProviderIDNotOwn,
            format!(
                "spec.providerID is {id}, which does not belong to this Machine (uid {}), for example because it was copied from the YAML of another; nothing is done. Delete this Machine, and apply it again without spec.providerID",
                observed.uid()
            ),
        );
    }
    if let (Ok(spec), Ok(Some(kind))) = (&observed.spec, observed.kind())
        && spec.provider() != kind.provider()
    {
        let (is, was) = (spec.provider(), kind.provider());
        return no(
            Reason::InvalidConfiguration,
            format!(
                "spec.providerSpec is for provider {is}, but this Machine was created with provider {was}; its host or virtual machine is left alone. Set spec.providerSpec back, in the manager's name: kubectl -n {} edit --as={MANAGER_ACCOUNT} machine {}",
                observed.marker.namespace, observed.marker.machine
            ),
        );
    }
    if let Err(problem) = &cluster.spec {
        return no(
            Reason::ClusterInvalid,
            format!("Cluster {}: {problem}", cluster.name),
        );
    }
    if let Some(refusal) = unsupported(observed) {
        return no(Reason::UnsupportedVersion, refusal);
    }
    (cluster.deleting).then(|| {
        Finding::no(
            ConditionType::InfrastructureReady,
            Reason::ClusterDeleting,
            format!("Cluster {} is being deleted", cluster.name),
        )
    })
}

/// Why the wanted versions cannot be run, if they cannot.
fn unsupported(observed: &Observed) -> Option<String> {
    let versions = observed.machine.versions();
    let kubelet = versions.map_or("", |versions| versions.kubelet.as_str());
    let control_plane = versions.and_then(|versions| versions.control_plane.as_deref());
    // as in 2019, the block may stand beside spec
    let block = match observed.machine.spec.versions {
        Some(_) => "spec.versions",
        None => "versions",
    };
    let refusal = version::check_block(block, kubelet, control_plane).err()?;
    Some(refusal.to_string())
}

impl Plan {
    /// Nothing to do until something changes; the finding says what.
    fn waiting(finding: Finding) -> Self {
        Self {
            findings: vec![finding],
            ..Self::default()
        }
    }

    /// Adds a finding that was made while acting; returns whether there was one.
    pub fn learn(&mut self, observed: &Observed, found: Option<Finding>) -> bool {
        let Some(found) = found else {
            return false;
        };
        self.findings.retain(|old| {
            old.condition != ConditionType::Ready && old.condition != found.condition
        });
        drain::learned(self, &found);
        self.findings.push(found);
        self.findings
            .retain(|finding| finding.condition != ConditionType::Paused);
        if self.next == Next::OnChange {
            self.next = Next::After(LOOK_AGAIN);
        }
        summary::summarise(observed, self);
        true
    }

    /// One action, and the finding that says why.
    fn act(action: Action, finding: Finding) -> Self {
        Self {
            actions: vec![action],
            findings: vec![finding],
            ..Self::default()
        }
    }
}

/// The Node of an observed Machine, when it is known.
fn known_node(observed: &Observed) -> Option<&NodeView> {
    match &observed.node {
        Lookup::Known(Some(node)) => Some(node),
        _ => None,
    }
}

/// Who creates another Machine once this one is deleted.
fn after_deletion(observed: &Observed) -> &'static str {
    if observed.machine.is_owned() {
        "its MachineSet creates another"
    } else {
        "nothing creates another"
    }
}

/// What a host that could not be asked means for the Machine.
fn unreachable(held: &Infrastructure) -> Option<Finding> {
    match &held.contact {
        Contact::Unreachable { reason, message } => Some(Finding::no(
            ConditionType::InfrastructureReady,
            *reason,
            message.clone(),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
