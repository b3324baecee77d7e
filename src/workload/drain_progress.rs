//! How far a drain is, and a sentence about it for people. Pure.

use std::fmt;

use super::drain_plan::{PodRef, Skip};

/// How many pods a sentence names before it only counts.
const NAMED: usize = 5;

/// How far a drain is after one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainProgress {
    /// Pods that this pass evicted; their containers still stop.
    pub evicted: Vec<PodRef>,
    /// Pods that are on their way out since an earlier pass, and what they wait for.
    pub waiting: Vec<(PodRef, String)>,
    /// Pods that may not go yet.
    pub blocked: Vec<Blocked>,
    /// Pods that a drain leaves alone.
    pub skipped: Vec<(PodRef, Skip)>,
    /// The resourceVersion of the list that this pass began with.
    pub version: String,
}

/// A pod that the API server refused to evict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Which pod.
    pub pod: PodRef,
    /// The `PodDisruptionBudgets` that select it, as far as they could be read.
    pub budgets: Vec<Budget>,
    /// What the API server said.
    pub message: String,
}

/// A PodDisruptionBudget that holds a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name; its namespace is the pod's.
    pub name: String,
    /// How many pods it lets go now.
    pub disruptions_allowed: i32,
}

impl DrainProgress {
    /// Whether no pod is left that had to go.
    pub fn is_done(&self) -> bool {
        self.left() == 0
    }

    /// How many pods still have to go.
    pub fn left(&self) -> usize {
        self.evicted.len() + self.waiting.len() + self.blocked.len()
    }
}

impl fmt::Display for DrainProgress {
    /// One sentence, those pods first that somebody must do something about.
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
            .map(|pod| format!("{pod} was evicted and stops"));
        let named: Vec<_> = blocked.chain(waiting).chain(evicted).take(NAMED).collect();
        f.write_str(&named.join("; "))?;
        match self.left() - named.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pod = &self.pod;
        match self.budgets.as_slice() {
            [] => write!(f, "{pod} cannot be evicted: {}", self.message),
            [budget] => write!(
                f,
                "{pod} is held by PodDisruptionBudget {}/{} ({} disruptions allowed)",
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
