//! What a drain does with each pod of a node: the rules of `kubectl drain` and of Cluster API.
//! Pure.

mod progress;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::api::names::{DRAIN_SKIP, DRAIN_WAIT_COMPLETED, LABEL_DRAIN, LABEL_DRAIN_UPSTREAM};

pub use progress::{BlockedPod, Budget, DrainProgress, waits_for};

/// Annotation of the mirror of a static pod, which the kubelet controls, not the API.
const MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// How long after its grace period a pod on an unreachable node is waited for, as in Cluster API (1
/// s). Its kubelet cannot confirm the end, so the API would show it forever.
const UNREACHABLE_PATIENCE: SignedDuration = SignedDuration::from_secs(1);

/// A pod; the UID distinguishes it from a later one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Why a pod is not evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Its DaemonSet would create it again at once.
    DaemonSet,
    /// A static pod: the kubelet runs it from a file.
    Static,
    /// It succeeded or failed; no container runs.
    Finished,
    /// Its label excludes it.
    Label,
    /// Its grace period is over, and its node cannot confirm the end.
    Unconfirmed,
}

/// A pod to evict, with the labels that its budgets select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The pod.
    pub pod: PodRef,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// What to do with the pods of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainPlan {
    /// Pods to evict.
    pub evict: Vec<Candidate>,
    /// Pods that are terminating, with the time at which they are killed.
    pub terminating: Vec<(PodRef, Timestamp)>,
    /// Pods that are waited for until they complete.
    pub completing: Vec<PodRef>,
    /// Pods that are not evicted.
    pub skipped: Vec<(PodRef, Skip)>,
}

/// Sorts the pods of a node by what a drain does with them. `unreachable`: the kubelet of
/// the node does not answer its control plane.
pub fn plan(pods: &[Pod], unreachable: bool, now: Timestamp) -> DrainPlan {
    let mut plan = DrainPlan::default();
    for pod in pods {
        let reference = PodRef {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
        };
        let killed_at = pod.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        if let Some(skip) = skip(pod) {
            plan.skipped.push((reference, skip));
        } else if let Some(killed_at) = killed_at {
            if unreachable && now.duration_since(killed_at) > UNREACHABLE_PATIENCE {
                plan.skipped.push((reference, Skip::Unconfirmed));
            } else {
                plan.terminating.push((reference, killed_at));
            }
        } else if completes(pod) {
            plan.completing.push(reference);
        } else {
            let labels = pod.metadata.labels.clone().unwrap_or_default();
            plan.evict.push(Candidate {
                pod: reference,
                labels,
            });
        }
    }
    plan
}

fn skip(pod: &Pod) -> Option<Skip> {
    let annotations = pod.metadata.annotations.as_ref();
    let upstream = label(pod, LABEL_DRAIN_UPSTREAM);
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if annotations.is_some_and(|all| all.contains_key(MIRROR_POD)) {
        Some(Skip::Static)
    } else if is_of_daemon_set(pod) {
        Some(Skip::DaemonSet)
    } else if matches!(phase, Some("Succeeded" | "Failed")) {
        Some(Skip::Finished)
    } else if label(pod, LABEL_DRAIN) == Some(DRAIN_SKIP)
        || upstream.is_some_and(|value| value.eq_ignore_ascii_case(DRAIN_SKIP))
    {
        Some(Skip::Label)
    } else {
        None
    }
}

fn is_of_daemon_set(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.any(|owner| owner.kind == "DaemonSet" && owner.api_version.starts_with("apps/"))
}

/// Whether it is to be waited for until it completes; Cluster API takes `WaitCompleted` for it too.
fn completes(pod: &Pod) -> bool {
    let is_it = |value: &str| {
        let plain = |text: &str| text.replacen('-', "", 1);
        plain(value).eq_ignore_ascii_case(&plain(DRAIN_WAIT_COMPLETED))
    };
    label(pod, LABEL_DRAIN_UPSTREAM).is_some_and(is_it)
}

fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests;
