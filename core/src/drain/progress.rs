//! The progress of a drain, and a sentence about it.

use std::fmt;

use k8s_openapi::jiff::Timestamp;

use super::{PodRef, Skip};
use crate::api::names::LABEL_DRAIN_UPSTREAM;

/// At most this many pods are named in a sentence; the others are counted.
const NAMED: usize = 5;

/// The progress of a drain after one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainProgress {
    /// Pods that this pass evicted and that are terminating.
    pub evicted: Vec<PodRef>,
    /// Pods that are terminating since an earlier pass, and what they wait for.
    pub waiting: Vec<(PodRef, String)>,
    /// Pods that may not be evicted yet.
    pub blocked: Vec<BlockedPod>,
    /// Pods that are waited for until they complete.
    pub completing: Vec<PodRef>,
    /// Pods that a drain does not evict.
    pub skipped: Vec<(PodRef, Skip)>,
    /// The resourceVersion of the list of pods of this pass.
    pub version: String,
}

/// What a pod that is terminating waits for.
pub fn waits_for(killed_at: Timestamp, now: Timestamp) -> String {
    if killed_at < now {
        format!(
            "should have ended at {killed_at:.0}; its finalizers, or the kubelet of its host, hold it"
        )
    } else {
        format!("is terminating, and is killed at {killed_at:.0}")
    }
}

/// A pod that the API server refused to evict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedPod {
    /// Which pod.
    pub pod: PodRef,
    /// The `PodDisruptionBudgets` that select it, if they can be read.
    pub budgets: Vec<Budget>,
    /// Message of the API server.
    pub message: String,
}

/// A PodDisruptionBudget that blocks an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name; its namespace is the pod's.
    pub name: String,
    /// Number of disruptions that it allows now.
    pub disruptions_allowed: i32,
}

impl DrainProgress {
    /// Whether no pod remains to be evicted.
    pub fn is_done(&self) -> bool {
        self.left() == 0
    }

    /// Which pods were not waited for, because the kubelet of their node cannot confirm their end;
    /// `None` if there are none.
    pub fn unconfirmed(&self, node: &str) -> Option<String> {
        let unconfirmed = |skipped: &&(PodRef, Skip)| skipped.1 == Skip::Unconfirmed;
        let pods: Vec<_> = self.skipped.iter().filter(unconfirmed).collect();
        let names = pods.iter().take(NAMED).map(|(pod, _)| pod.to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let more = match pods.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!pods.is_empty()).then(|| {
            format!("Node {node} does not answer, so these pods were not waited for; they may run until the machine is reset: {names}{more}")
        })
    }

    /// Number of pods that remain to be evicted.
    pub fn left(&self) -> usize {
        self.evicted.len() + self.waiting.len() + self.blocked.len() + self.completing.len()
    }

    /// What is said where the release of a machine that does not answer ends the pods that hold its
    /// drain: a budget counts such pods as unhealthy already, and holding the power on would heal
    /// none. `None` while an eviction is under way.
    pub fn ended_by_release(&self, node: &str) -> Option<String> {
        if !self.evicted.is_empty() || !self.waiting.is_empty() {
            return None;
        }
        let blocked = self.blocked.iter().map(|blocked| &blocked.pod);
        let pods = blocked.chain(&self.completing);
        let names: Vec<_> = pods.take(NAMED).map(ToString::to_string).collect();
        let more = match self.left().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "Node {node} and its machine do not answer, so PodDisruptionBudgets are not waited for. The release of the machine ends these pods; they are deleted with the Node, once that is proven: {}{more}",
            names.join(", ")
        ))
    }
}

impl fmt::Display for DrainProgress {
    /// One sentence; pods that require action come first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_done() {
            return f.write_str("no pods left");
        }
        let plural = if self.left() == 1 { "" } else { "s" };
        write!(f, "{} pod{plural} left: ", self.left())?;
        let blocked = self.blocked.iter().map(ToString::to_string);
        let waiting = self.waiting.iter().map(|(pod, why)| format!("{pod} {why}"));
        let evicted = self
            .evicted
            .iter()
            .map(|pod| format!("{pod} was evicted and is terminating"));
        let completing = self.completing.iter().map(|pod| {
            format!("waiting until {pod} completes, as its label {LABEL_DRAIN_UPSTREAM} says")
        });
        let named = blocked.chain(waiting).chain(completing).chain(evicted);
        let named: Vec<_> = named.take(NAMED).collect();
        f.write_str(&named.join("; "))?;
        match self.left() - named.len() {
            0 => (),
            more => write!(f, "; and {more} more")?,
        }
        if self.blocked.iter().any(|pod| pod.budgets.len() > 1) {
            f.write_str(". Leave each pod to one PodDisruptionBudget: correct the selectors, or ask the owner of one to delete it")?;
        }
        if self.blocked.iter().any(|pod| pod.budgets.len() == 1) {
            f.write_str(". Let the budget allow an eviction, in that cluster: more replicas, a higher maxUnavailable or a lower minAvailable; spec.deletion.nodeDrainTimeoutSeconds of the Machine ends the wait: the pods of a deleted one are then killed with it, and its volumes are not waited for")?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockedPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pod = &self.pod;
        match self.budgets.as_slice() {
            [] => write!(f, "{pod} cannot be evicted: {}", self.message),
            [budget] => write!(
                f,
                "eviction of {pod} is blocked by PodDisruptionBudget {}/{} ({} disruptions allowed)",
                pod.namespace, budget.name, budget.disruptions_allowed
            ),
            several => {
                let names: Vec<_> = several.iter().map(|b| b.name.as_str()).collect();
                write!(
                    f,
                    "{pod} is selected by the PodDisruptionBudgets {} of {}: {}",
                    names.join(", "),
                    pod.namespace,
                    self.message
                )
            }
        }
    }
}
