//! What the worst of several Machines says, for those above it: people look at a Cluster or a pool first.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::api::Machine;
use crate::api::conditions::{ConditionType, Reason, Severity, find};
use crate::api::readable::unreadable;

/// Longest part of a Machine's own words that is repeated, in characters; the rest is on the Machine.
const LONGEST: usize = 512;

/// Why a Machine is not ready, or not gone, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Name of the Machine.
    pub machine: String,
    /// Its reason; None for a word of another release.
    pub reason: Option<Reason>,
    /// Its message.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

impl Trouble {
    /// What a Machine says; None of one that is well, or that nothing was said of.
    pub fn of(machine: &Machine) -> Option<Self> {
        let name = machine.name_any();
        if let Some(why) = unreadable(machine) {
            return Some(Self {
                machine: name,
                reason: Some(Reason::Unreadable),
                message: format!("cannot be read: {why}"),
                since: Timestamp::UNIX_EPOCH,
            });
        }
        let conditions = machine.status.as_ref()?.conditions.as_slice();
        // of one in deletion Ready says no more than that
        let leaving =
            find(conditions, ConditionType::Deleting).filter(|said| said.status == "True");
        let unready =
            || find(conditions, ConditionType::Ready).filter(|said| said.status != "True");
        let said = leaving.or_else(unready)?;
        Some(Self {
            machine: name,
            reason: Reason::parse(&said.reason),
            message: said.message.clone(),
            since: said.last_transition_time.0,
        })
    }

    /// Whether somebody should look at it.
    pub fn is_warning(&self) -> bool {
        let severity = self.reason.map(Reason::severity);
        severity == Some(Severity::Warning)
    }

    /// The worst first.
    fn rank(&self) -> impl Ord + use<> {
        let is_stalled = self.reason.is_some_and(Reason::is_stalled);
        (
            !is_stalled,
            !self.is_warning(),
            self.since,
            self.machine.clone(),
        )
    }

    /// In its own words where somebody should look at it. How far one is that is on its way changes with each step, and is
    /// said on the Machine alone.
    fn words(&self) -> Option<String> {
        let reason = self.reason?;
        let mut lines = self.message.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty());
        let says = match line.filter(|_| self.is_warning()) {
            Some(line) => shortened(line),
            None => reason.as_str().to_owned(),
        };
        Some(format!("Machine {}: {says}", self.machine))
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// What the worst says, and how many more there are: "Machine cp66: port 6443 is in use by sshd; stop it. 2 more". The worst
/// is the one that cannot go on without a person, then the one that somebody should look at, then the oldest.
pub fn worst<'a>(troubles: impl IntoIterator<Item = &'a Trouble>) -> Option<String> {
    let troubles: Vec<&Trouble> = troubles
        .into_iter()
        .filter(|t| t.reason.is_some())
        .collect();
    let worst = troubles.iter().min_by_key(|trouble| trouble.rank())?;
    let words = worst.words()?;
    Some(match troubles.len() - 1 {
        0 => words,
        more => format!("{}. {more} more", words.trim_end_matches('.')),
    })
}

/// How many of which kind, and what the worst of them says.
pub fn beside(counts: impl Into<String>, worst: Option<String>) -> String {
    let counts = counts.into();
    match worst {
        Some(worst) => format!("{counts}. {worst}"),
        None => counts,
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
