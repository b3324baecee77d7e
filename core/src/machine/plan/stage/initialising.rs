//! kubeadm init, on the one host that has the turn for it: on that host, or the record that it
//! succeeded there.

use k8s_openapi::jiff::Timestamp;

use super::super::doubt::{self, ClusterName};
use super::super::{Action, Plan, job};
use super::{SeenHost, registering};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::node::JobKind;

/// Runs it, or records it.
pub(super) fn plan(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let SeenHost { observed, seen, .. } = *host;
    if is_unrecorded(host) {
        let message = "kubeadm init succeeded; recording it on the Cluster";
        return Plan::act(
            Action::RecordInitialized,
            Finding::no(ConditionType::BootstrapReady, Reason::KubeadmInit, message),
        );
    }
    let run = job::unfinished(observed, seen, JobKind::Init, now);
    run.unwrap_or_else(|| registering::plan(observed))
}

/// It succeeded on the host, by its marker, and the Cluster does not know of it.
pub(super) fn is_unrecorded(host: &SeenHost<'_>) -> bool {
    let owner = host.seen.owner.of(&host.observed.marker);
    owner.is_some_and(|owner| owner.initialized) && host.cluster.initialized_by.is_none()
}

/// What a control plane waits for that none has gone before; nothing where it is its turn.
pub(super) fn awaits(host: &SeenHost<'_>) -> Option<Plan> {
    let SeenHost {
        observed, cluster, ..
    } = *host;
    let bootstrap = ConditionType::BootstrapReady;
    let wait = |reason, message: String| Plan::waiting(Finding::no(bootstrap, reason, message));
    let named = ClusterName::of(&observed.marker);
    Some(match &cluster.turn {
        _ if cluster.external => Plan::waiting(doubt::external(bootstrap, named)),
        _ if !cluster.certificates_ready => wait(
            Reason::WaitingForCertificates,
            format!(
                "Cluster {} has no certificate authorities yet",
                cluster.name
            ),
        ),
        _ if let Some(doubt) = &cluster.in_doubt => Plan::waiting(doubt.finding(bootstrap, named)),
        // the turn of a later change: the record of init was lost, and comes again from the
        // initialised host
        Some(turn) if turn.is_later() => {
            Plan::waiting(doubt::lost_record(cluster, named).finding(bootstrap))
        }
        Some(turn) if turn.machine != observed.uid() => {
            Plan::waiting(doubt::blocked(bootstrap, turn, named))
        }
        Some(_) => return None,
        None => Plan::act(
            Action::TakeTurn,
            Finding::no(
                bootstrap,
                Reason::TakingTurn,
                "taking the turn to run kubeadm init",
            ),
        ),
    })
}
