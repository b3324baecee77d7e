//! The kubelet of a machine is replaced, once its Node is drained.

use k8s_openapi::jiff::Timestamp;

use super::super::super::observed::Observed;
use super::super::{Plan, drain};
use super::on_host::OnHost;
use super::{steps, updating, waiting};
use crate::api::conditions::{Finding, Reason};
use crate::api::machine_provider_spec::SoftwareSource;
use crate::node::{JobKind, PlannedUnit};
use crate::remedy;

/// Drains the Node before the first attempt to replace its kubelet.
pub(super) fn replace(host: &OnHost<'_>, unit: &PlannedUnit, now: Timestamp) -> Plan {
    let observed = host.observed;
    let Some(node) = observed.known_node() else {
        return waiting(Reason::WaitingForNode, "its Node cannot be read");
    };
    let mut plan = steps::start(host, unit, now);
    let job = host.job(JobKind::Kubelet);
    if host.broke_off(JobKind::Kubelet) && job.is_some_and(|job| job.identity == unit.identity) {
        return plan;
    }
    let is_cordoned = node.is_cordoned_by_us();
    if let Some(machine) = ahead(observed).filter(|_| !is_cordoned) {
        let found = drained_after(observed, machine);
        return waiting(found.reason(), found.message());
    }
    if !host.has_kubelet()
        && let Some(version) = preinstalled(observed)
    {
        let message = format!(
            "software.source is preinstalled, and the kubelet on {} is {}. Install kubelet {version} there; it is drained and the kubelet started anew then",
            host.seen.facts.hostname,
            host.seen.versions.kubelet.as_deref().unwrap_or("missing")
        );
        return waiting(Reason::UpdateFailed, message);
    }
    let (action, finding) = drain::before_update(observed, node, now);
    if let Some(action) = action {
        plan.actions.insert(0, action);
        let message = format!(
            "evicting the pods of Node {} before its kubelet starts anew",
            node.name
        );
        plan.findings = vec![updating(Reason::Draining, message)];
    }
    plan.findings.extend(finding);
    plan
}

/// It waits to be drained until another Machine is updated.
pub fn drained_after(observed: &Observed, machine: &str) -> Finding {
    let rule = if observed.machine.is_owned() {
        "while one Node of a MachineDeployment follows new settings, no other of it is drained"
    } else {
        "Machines without a MachineSet are drained one at a time"
    };
    let look = remedy::describe_machine(&observed.marker.namespace, machine);
    let message = format!(
        "waiting until Machine {machine} is updated: {rule}. If that does not proceed: {look}; if it is paused, remove the annotation that its condition Paused names; if its machine is off, power it on; only if it is lost for good, delete that Machine"
    );
    updating(Reason::WaitingForTurn, message)
}

/// Another worker that is drained before this one. Control planes have a turn, and a
/// MachineDeployment counts its own.
fn ahead(observed: &Observed) -> Option<&String> {
    let cluster = observed.cluster.as_ref()?;
    cluster.peers.lane.drained_after.as_ref()
}

/// The version of the kubelet that a person has to install.
fn preinstalled(observed: &Observed) -> Option<&str> {
    let node = observed.spec.as_ref().ok()?.node()?;
    let versions = observed.machine.versions()?;
    (node.software.source == SoftwareSource::Preinstalled).then_some(&*versions.kubelet)
}
