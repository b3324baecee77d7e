//! A host that was released with `wipePolicy: retain`.

use kube::ResourceExt;

use super::super::observed::Observed;
use super::{Action, Plan, State, consumer, unavailable};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::node::{JobKind, Observation, Owner};
use crate::remedy;

/// Its data is kept. Its kubelet would bring the node back into the cluster, and its pods would go
/// on beside their successors: both end.
pub fn plan(observed: &Observed, seen: &Observation, owner: &Owner) -> Plan {
    // a job of its Machine would start the kubelet again
    let mut running = seen.running(&owner.marker);
    let runs = running.find(|kind| *kind != JobKind::Reset);
    let mut plan = if let Some(kind) = runs {
        let message = format!(
            "its Machine released it; its kubelet and its pods are stopped when the step that runs on it has ended ({}), and its data is kept, as set by spec.wipePolicy",
            kind.title()
        );
        unavailable(State::Releasing, Reason::WaitingForStep, message)
    } else if seen.kubelet_active || seen.pods_run {
        let mut plan = unavailable(
            State::Releasing,
            Reason::Retaining,
            "stopping its kubelet, its pods, and keepalived if it holds the virtual IP; its data is kept, as set by spec.wipePolicy",
        );
        plan.actions.push(Action::StopKubelet(owner.marker.clone()));
        plan
    } else {
        kept(observed)
    };
    plan.findings.insert(
        0,
        Finding::no(
            ConditionType::Clean,
            Reason::Retained,
            "what its Machine left is kept, as set by spec.wipePolicy",
        ),
    );
    plan
}

/// Left as its Machine left it.
pub fn kept(observed: &Observed) -> Plan {
    let command = remedy::host::wipe(
        &observed.host.namespace().unwrap_or_default(),
        &observed.host.name_any(),
    );
    let machine = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    unavailable(
        State::Quarantined,
        Reason::Retained,
        format!(
            "what Machine {machine} left on it is kept, as set by spec.wipePolicy, and no other Machine can claim it. When it \
             is no longer needed: {command}"
        ),
    )
}
