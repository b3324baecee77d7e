//! The conditions that sum up the others, and the phase.

use kube::ResourceExt;
use serde::Serialize;

use super::super::observed::{Lookup, Observed, Placement};
use super::{Plan, drain};
use crate::api::conditions::{ConditionType, Finding, Reason, Severity, Status};
use crate::api::names::ANNOTATION_HOST_IS_GONE;
use crate::remedy;

/// Where a Machine is in its life: a summary for people; conditions are authoritative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Phase {
    /// It has no place yet.
    #[default]
    Pending,
    /// It has a place on which it does not have its marker yet.
    Provisioning,
    /// Its host is prepared, or kubeadm runs.
    Bootstrapping,
    /// Its Node is Ready.
    Running,
    /// It is brought to another version.
    Updating,
    /// Its Node is not Ready, or does not exist any more.
    NotReady,
    /// The state of its Node is unknown.
    Unknown,
    /// It has no place, and cannot get one before it is edited.
    Failed,
    /// It is being deleted.
    Deleting,
}

impl Phase {
    /// The phases of a Machine that has, or had, a Node.
    const WITH_NODE: [Self; 4] = [Self::Running, Self::Updating, Self::NotReady, Self::Unknown];

    /// As it is written in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Provisioning => "Provisioning",
            Self::Bootstrapping => "Bootstrapping",
            Self::Running => "Running",
            Self::Updating => "Updating",
            Self::NotReady => "NotReady",
            Self::Unknown => "Unknown",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
        }
    }
}

/// In the order in which a machine comes to life: the first that does not hold is the reason.
const PARTS: [ConditionType; 4] = [
    ConditionType::InfrastructureReady,
    ConditionType::HostClean,
    ConditionType::BootstrapReady,
    ConditionType::NodeHealthy,
];

/// Adds `Ready`, `Paused`, and the phase.
pub fn summarise(observed: &Observed, plan: &mut Plan) {
    plan.phase = phase(observed, plan);
    drain::repeat(&mut plan.findings);
    let find = |plan: &Plan, name: ConditionType| {
        plan.findings.iter().find(|f| f.condition == name).cloned()
    };
    if find(plan, ConditionType::Paused).is_some() {
        return;
    }
    plan.findings
        .push(Finding::no(ConditionType::Paused, Reason::NotPaused, ""));
    plan.findings.extend(armed(observed));
    // what needs a person is said first, then that it is stuck
    let stuck = find(plan, ConditionType::Progressing);
    let blocking = blocking(&plan.findings).cloned();
    let blocking = match blocking {
        Some(finding) if finding.reason().severity() == Severity::Normal => stuck.or(Some(finding)),
        other => other,
    };
    let healthy = find(plan, ConditionType::NodeHealthy)
        .is_some_and(|finding| finding.status == Status::True);
    let ready = match blocking {
        Some(finding) if observed.is_deleting() => finding.why.finding(ConditionType::Ready),
        Some(finding) => with_member(
            observed,
            Finding {
                condition: ConditionType::Ready,
                ..finding
            },
        ),
        None if healthy => {
            let (reason, message) = trouble(plan).unwrap_or((Reason::NodeReady, String::new()));
            Finding::yes(ConditionType::Ready, reason, message)
        }
        None => Finding::no(
            ConditionType::Ready,
            Reason::Starting,
            "accepted; nothing has been done yet",
        ),
    };
    plan.findings.push(ready);
}

/// What keeps it from being Ready, or from its end, in the order in which a machine comes to life.
pub(super) fn blocking(findings: &[Finding]) -> Option<&Finding> {
    let of = |name| findings.iter().find(|finding| finding.condition == name);
    let deleting = of(ConditionType::Deleting).filter(|finding| finding.status == Status::True);
    let mut parts = PARTS.into_iter().filter_map(of);
    deleting.or_else(|| parts.find(|finding| finding.status != Status::True))
}

/// Of a Machine in trouble also that its etcd member was added and does not vote: it stops every
/// change of its control plane.
fn with_member(observed: &Observed, mut finding: Finding) -> Finding {
    let cluster = observed.cluster.as_ref();
    let Some(Lookup::Known(members)) = cluster.map(|cluster| &cluster.etcd) else {
        return finding;
    };
    let member = observed.member(members);
    let pending = member.filter(|member| member.is_learner || !member.is_started());
    let is_trouble = finding.reason().severity() == Severity::Warning;
    if let Some(member) = pending.filter(|_| is_trouble) {
        let message = finding.message();
        let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
        let first = first.trim_end_matches('.');
        let marker = &observed.marker;
        let also = format!(
            "Its etcd member {} was added and does not vote yet: until it does, no other control plane of Cluster {} joins, leaves or is updated. Only if its server is lost for good: {}, which removes the member",
            member.label(),
            marker.cluster,
            remedy::machine::delete(&marker.namespace, &marker.machine)
        );
        let said = format!("{first}. {also}\n{rest}");
        finding.reword(said.trim_end());
    }
    finding
}

/// Why the update of a Machine does not proceed whose Node is Ready, or who else has its provider
/// ID: what people see first is its Ready.
fn trouble(plan: &Plan) -> Option<(Reason, String)> {
    let mut all = plan.findings.iter();
    let found = all.find(|finding| {
        let tells = match finding.condition {
            ConditionType::Updating | ConditionType::NodeHealthy | ConditionType::Progressing => {
                true
            }
            // one that is over is no obstacle, however it ended
            ConditionType::Draining => finding.status == Status::True,
            _ => false,
        };
        tells && finding.reason().severity() == Severity::Warning
    })?;
    let message = found.message();
    let line = message.lines().next().unwrap_or_default();
    Some((found.reason(), line.to_owned()))
}

/// The annotation `tatara.dev/host-is-gone` on a Machine that is not being deleted: it takes effect
/// once it is.
fn armed(observed: &Observed) -> Option<Finding> {
    let machine = &observed.machine;
    let said = machine.annotations().get(ANNOTATION_HOST_IS_GONE)?;
    if observed.is_deleting() {
        return None;
    }
    let (reason, what) = if said != observed.uid() {
        (
            Reason::OtherMachine,
            "is ignored, because it names another UID",
        )
    } else if is_last(observed) {
        (
            Reason::LastControlPlane,
            "is ignored, because this is the last control-plane Machine, which is removed only with its Cluster",
        )
    } else if observed.virtual_machine.is_some() {
        (
            Reason::WaitsForDeletion,
            "takes effect when this Machine is deleted and its Hypervisor does not answer, or fails to delete its virtual machine, which is then abandoned",
        )
    } else {
        (
            Reason::WaitsForDeletion,
            "takes effect when this Machine is deleted: its pods are then not evicted, and its host is not waited for",
        )
    };
    let message = format!(
        "annotation {ANNOTATION_HOST_IS_GONE} {what}. If that is not intended, remove it: {}",
        remedy::machine::take_back_gone(&observed.marker.namespace, &observed.marker.machine)
    );
    Some(Finding::no(ConditionType::HostIsGoneUsed, reason, message))
}

/// It created the control plane, and no other Machine has joined that.
fn is_last(observed: &Observed) -> bool {
    let cluster = observed.cluster.as_ref();
    observed.is_initializer() && cluster.is_some_and(|c| c.other_control_planes.is_empty())
}

fn phase(observed: &Observed, plan: &Plan) -> Phase {
    if observed.is_deleting() {
        return Phase::Deleting;
    }
    if terminal(observed, plan).is_some() {
        return Phase::Failed;
    }
    let has = |name: ConditionType| plan.findings.iter().any(|f| f.condition == name);
    if observed.paused_by.is_some()
        && let Some(phase) = told(observed)
    {
        return phase;
    }
    match &observed.placement {
        Placement::None(_) => Phase::Pending,
        Placement::Held(_) if has(ConditionType::Updating) => Phase::Updating,
        Placement::Held(_) if let Some(phase) = by_node(observed, plan) => phase,
        Placement::Held(_) if has(ConditionType::BootstrapReady) => Phase::Bootstrapping,
        Placement::Held(_) => Phase::Provisioning,
    }
}

/// The phase that was reported, of a Machine that had a Node: while it is paused, it stays.
fn told(observed: &Observed) -> Option<Phase> {
    let told = observed.machine.status.as_ref()?.phase.as_deref();
    let mut phases = Phase::WITH_NODE.into_iter();
    phases.find(|phase| Some(phase.as_str()) == told)
}

/// By what its Node says, once it has had one and no step is left to be done on its host.
fn by_node(observed: &Observed, plan: &Plan) -> Option<Phase> {
    let says = |name: ConditionType| {
        let mut findings = plan.findings.iter();
        findings.find(|f| f.condition == name).map(|f| f.status)
    };
    let has_node = observed.known_node().is_some() || observed.had_node();
    let is_made = says(ConditionType::BootstrapReady).is_none_or(|status| status == Status::True);
    match says(ConditionType::NodeHealthy).filter(|_| has_node && is_made)? {
        Status::True => Some(Phase::Running),
        Status::False => Some(Phase::NotReady),
        Status::Unknown => Some(Phase::Unknown),
    }
}

/// The finding that keeps a Machine without a place from becoming a node until it is edited; an
/// autoscaler then tries another group. A running node does not fail because of an invalid edit.
pub fn terminal<'a>(observed: &Observed, plan: &'a Plan) -> Option<&'a Finding> {
    let holds_nothing = matches!(observed.placement, Placement::None(_)) && !observed.had_node();
    let mut findings = plan.findings.iter();
    findings.find(|finding| {
        holds_nothing
            && finding.condition == ConditionType::InfrastructureReady
            && [Reason::InvalidConfiguration, Reason::UnsupportedVersion]
                .contains(&finding.reason())
    })
}
