//! What a control plane answers: its API, its etcd and the components of its machines, each asked
//! again after a while.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::super::cluster_cache::ClusterMemory;
use super::Clusters;
use crate::workload::Connectivity;
use crate::workload::health::{self, Place};
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::api::{Cluster, Machine};
use tatara_core::cluster::Health;
use tatara_core::control_plane::Members;
use tatara_core::control_plane::component::lowest;
use tatara_core::control_plane::health::{FAILURE_THRESHOLD, TROUBLED_FOR, Verdict, judge};

/// Time limit of a readiness probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a probe result is valid.
const PROBE_AGE: SignedDuration = SignedDuration::from_secs(9);
/// How long what is known of etcd and the components is valid while a change of the control plane
/// waits for them,
const AWAITED_AGE: SignedDuration = SignedDuration::from_millis(900);
/// which is for at most this time: what lasts longer needs a person.
const AWAITED_FOR: SignedDuration = SignedDuration::from_mins(2);

/// Whether a change of the control plane goes on once its components are seen to serve, or etcd to
/// allow it; or workers follow once the API says its new version. Of what lasts seconds, news shall
/// not come after ten.
pub(super) fn is_awaited(
    controller: &Clusters,
    uid: &str,
    machines: &[Arc<Machine>],
    now: Timestamp,
) -> bool {
    let memory = &controller.workloads.known;
    let known = memory.get(uid);
    let before = known.awaited_since;
    let mut machines = machines.iter();
    let waits = is_behind(&known)
        || machines.any(|machine| waits_for_control_plane(machine) || restarts(machine));
    let since = waits.then(|| before.unwrap_or(now));
    if since != before {
        memory.update(uid, |known| known.awaited_since = since);
    }
    since.is_some_and(|since| now.duration_since(since) < AWAITED_FOR)
}

/// Whether a control plane gets another kubelet, which may start its static pods anew: its update
/// ends once these are seen to serve.
fn restarts(machine: &Machine) -> bool {
    machine.is_control_plane() && says(machine, ConditionType::Updating, &[Reason::KubeletUpdate])
}

/// Whether a Machine says that etcd does not allow its change, or its components do not serve yet.
pub(super) fn waits_for_control_plane(machine: &Machine) -> bool {
    let of_etcd = [
        Reason::EtcdUnreachable,
        Reason::MemberChanging,
        Reason::QuorumAtRisk,
        Reason::TooFewMembersAnswer,
    ];
    let updating = ConditionType::Updating;
    says(machine, updating, &[Reason::WaitingForControlPlane])
        || [
            ConditionType::UpToDate,
            updating,
            ConditionType::BootstrapReady,
            ConditionType::Deleting,
        ]
        .into_iter()
        .any(|condition| says(machine, condition, &of_etcd))
}

fn says(machine: &Machine, condition: ConditionType, reasons: &[Reason]) -> bool {
    let conditions = machine.status.as_ref().map(|status| &status.conditions);
    let said = conditions.and_then(|all| find(all, condition));
    said.is_some_and(|said| reasons.iter().any(|reason| said.reason == *reason))
}

/// The members of its etcd, read again after a while. What lasts less than [`TROUBLED_FOR`] is no
/// news for people.
pub(super) async fn etcd(
    controller: &Clusters,
    cluster: &Cluster,
    uid: &str,
    now: Timestamp,
    is_awaited: bool,
) -> Result<Arc<Members>, String> {
    let age = if is_awaited { AWAITED_AGE } else { PROBE_AGE };
    let read = match controller.workloads.known.get(uid).etcd {
        Some((read, at)) if now.duration_since(at).abs() <= age => read,
        _ => {
            let planes = &controller.control_planes;
            let (read, answers) = join(planes.look(cluster), planes.ask_components(cluster)).await;
            planes.remember(cluster, answers, &read);
            read
        }
    };
    let known = controller.workloads.known.get(uid);
    let since = known.etcd_troubled;
    let is_short = since.is_none_or(|since| now.duration_since(since).abs() < TROUBLED_FOR);
    known.etcd_well.filter(|_| is_short).map_or(read, Ok)
}

/// What the API answers to probes, of which the last is valid for a while. `None` while the manager
/// is not connected.
pub(super) async fn probed(
    controller: &Clusters,
    cluster: &Cluster,
    uid: &str,
    place: &Place,
    now: Timestamp,
) -> Option<Health> {
    let workload = controller.workloads.get(cluster)?;
    let known = controller.workloads.known.get(uid);
    // workers wait for the last control plane to be updated: what the API said before that is over
    let is_older = |age| {
        known
            .probed_at
            .is_none_or(|at| now.duration_since(at).abs() > age)
    };
    let is_due = is_older(PROBE_AGE) || known.judgement.verdict == Verdict::Undecided;
    let is_early = !is_due && is_older(AWAITED_AGE) && is_behind(&known);
    let answer = if is_due || is_early {
        Some(health::probe(workload.client(), PROBE_TIMEOUT).await)
    } else {
        None
    };
    // failures are counted at their interval
    if let Some(answer) = answer.filter(|answer| is_due || answer.is_ready()) {
        if matches!(answer.readiness, health::Readiness::Unreachable { .. }) {
            // its watch may show stale Nodes
            workload.relist();
        }
        controller.workloads.known.update(uid, |known| {
            if known.judgement.failures == 0 || answer.is_ready() {
                known.failing_since = now;
            }
            known.judgement = judge(known.judgement, answer.is_ready(), FAILURE_THRESHOLD);
            known.sentence = answer.sentence(place, known.failing_since);
            known.probed_at = Some(now);
            if answer.git_version.is_some() {
                known.version.clone_from(&answer.git_version);
            }
            if answer.readiness == health::Readiness::Refused {
                // the kubeconfig may have been replaced by a valid one
                known.secrets_at = None;
            }
        });
    }
    let known = controller.workloads.known.get(uid);
    Some(Health {
        judgement: known.judgement,
        sentence: known.sentence.clone(),
        // of several API servers that of the one which is behind
        version: lowest(of_machines(&known).chain(&known.version)).or(known.version),
        unread: match workload.connectivity() {
            Connectivity::Disconnected { why, .. } => Some(why),
            Connectivity::Connecting | Connectivity::Connected { .. } => None,
        },
    })
}

/// What the API servers of its machines run.
fn of_machines(known: &ClusterMemory) -> impl Iterator<Item = &String> {
    let components = known.components.values();
    components.filter_map(|components| components.version.as_ref())
}

/// Whether each API server of its machines runs a higher version than the API said last.
fn is_behind(known: &ClusterMemory) -> bool {
    let lowest_of_machines = lowest(of_machines(known));
    lowest_of_machines.is_some_and(|of_machines| {
        let both = [Some(&of_machines), known.version.as_ref()];
        known.version.as_ref() != Some(&of_machines)
            && lowest(both.into_iter().flatten()) == known.version
    })
}
