//! The sets of a deployment, which of them is the current one, and how many Machines each shall
//! have.

use crate::Why;
use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Counts, Observed, ObservedSet};
use super::super::revision::Revision;
use super::{Limits, revision};
use crate::machine_set::Gate;
use crate::machine_set::plan::after;

/// A deployment, looked at as a roll.
pub struct Roll<'a> {
    /// The deployment.
    pub observed: &'a Observed,
    /// What `maxSurge` and `maxUnavailable` allow.
    pub limits: Limits,
    /// The revision that is wanted; None while the template cannot be resolved.
    pub wanted: Option<Revision>,
    /// The set of the wanted revision, once there is one.
    pub current: Option<&'a ObservedSet>,
    /// The other sets, oldest first.
    pub old: Vec<&'a ObservedSet>,
    /// Machines of sets that are being deleted.
    pub leaving: i32,
    /// The wanted revision is not the newest yet: this pass makes it so.
    pub superseding: bool,
    /// Why no Machine is given up for the template yet: none of it may be made.
    pub gate: Option<&'a Gate>,
    /// Nothing keeps it from rolling.
    pub free: bool,
    /// Since when there is something to do, if there is.
    pub since: Timestamp,
    /// When the deadline for progress passes.
    pub deadline: Option<Timestamp>,
    /// It has passed.
    pub stalled: bool,
}

impl<'a> Roll<'a> {
    /// A deployment, looked at as a roll.
    pub fn new(observed: &'a Observed, limits: Limits, now: Timestamp) -> Self {
        let versions = observed.template.spec.versions.as_ref();
        let resolved = observed.provider_spec.as_ref().ok();
        let wanted = resolved.map(|value| {
            Revision::new(versions, value).restarted(&observed.template.metadata.annotations)
        });
        let mut old: Vec<&ObservedSet> = revision::own(observed).collect();
        old.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.name.cmp(&b.name)));
        let current = revision::current(&old, wanted.as_ref()).map(|at| old.remove(at));
        let gone = observed.sets.iter().filter(|set| set.deleting);
        let superseding = !revision::is_newest(current, &old);
        let stopped = observed.deleting || observed.paused || observed.paused_by.is_some();
        let free = wanted.is_some() && !stopped;
        let is_roll = old.iter().any(|set| set.is_active());
        let gate = observed.gate.as_ref().filter(|_| is_roll);
        let known = observed.work_since.filter(|_| free && !superseding);
        let since = known.unwrap_or(now);
        let deadline = deadline(observed, since).filter(|_| free && gate.is_none());
        Self {
            observed,
            limits,
            superseding,
            gate,
            free,
            since,
            wanted,
            current,
            old,
            leaving: gone
                .map(|set| set.counts.current + set.counts.deleting)
                .sum(),
            deadline,
            stalled: deadline.is_some_and(|at| now >= at),
        }
    }

    /// It scales, and repairs each set with that set's own template, and rolls nothing.
    pub fn only_scales(&self) -> bool {
        self.observed.paused || self.gate.is_some()
    }

    /// The wanted number of Machines.
    pub fn replicas(&self) -> i32 {
        self.observed.wanted()
    }

    /// The fewest available Machines that a step may leave.
    pub fn min_available(&self) -> i32 {
        self.limits.min_available(self.replicas())
    }

    /// The most Machines that there may be, those in deletion included.
    pub fn max_total(&self) -> i32 {
        self.limits.max_total(self.replicas())
    }

    /// All sets, the current one last.
    pub fn sets(&self) -> impl Iterator<Item = &'a ObservedSet> + '_ {
        self.old.iter().copied().chain(self.current)
    }

    /// A set that has not answered to its last change yet: what it has by now is not known. A
    /// Machine that was adopted is there before its set counts it.
    pub fn lagging(&self) -> Option<&'a ObservedSet> {
        let is_control_plane = self.observed.is_control_plane();
        let mut sets = self.sets();
        sets.find(|set| set.lagging || (is_control_plane && set.is_behind()))
    }

    /// The current template has proven broken: time is up, and none of its Machines is available.
    pub fn is_broken(&self) -> bool {
        let available = self.current.map_or(0, |set| set.counts.available);
        self.stalled && available == 0
    }

    /// Machines that are being deleted.
    pub fn in_deletion(&self) -> i32 {
        self.sets().map(|set| set.counts.deleting).sum::<i32>() + self.leaving
    }
}

/// When the deadline for progress passes: so long after there was something to do, or after the
/// last Machine was made, became Ready, was told to go or was lost. A Machine that is Ready may
/// take `minReadySeconds` more.
fn deadline(observed: &Observed, since: Timestamp) -> Option<Timestamp> {
    let limit = i64::from(observed.progress_deadline_seconds);
    let sets = || observed.sets.iter();
    let steps = sets().filter_map(|set| set.last_progress);
    let losses = sets().filter_map(|set| set.missing_since);
    let last = steps
        .chain(losses)
        .chain([since])
        .max()
        .filter(|_| limit > 0)?;
    Some(after(last, limit + i64::from(observed.min_ready_seconds)))
}

/// How many Machines a set shall have.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The set's counters.
    pub counts: Counts,
    /// Machines that it has, and that a user marked to go first.
    pub marked: i32,
    /// How many Machines it shall have.
    pub to: i32,
    /// Why that differs from what it should have so far.
    pub because: Vec<String>,
}

impl Target {
    fn unchanged(set: &ObservedSet) -> Self {
        Self {
            counts: set.counts,
            marked: set.marked,
            to: set.counts.wanted,
            because: Vec::new(),
        }
    }

    /// Sets the number, with the reason.
    pub fn set(&mut self, to: i32, because: impl Into<String>) {
        if to != self.to {
            self.to = to;
            self.because.push(because.into());
        }
    }

    /// Whether the number changes.
    pub fn changes(&self) -> bool {
        self.to != self.counts.wanted
    }

    /// Machines that may be there at most, until the set has followed.
    pub fn most(&self) -> i32 {
        self.to.max(self.counts.wanted).max(self.counts.current)
    }

    /// Machines that the set still has to make.
    pub fn missing(&self) -> i32 {
        (self.to - self.counts.current).max(0)
    }

    /// Machines that are left when the set has followed: not those that it deletes at the moment,
    /// in several passes.
    pub fn staying(&self) -> i32 {
        self.to.min(self.counts.current).min(self.counts.wanted)
    }

    /// Machines that the set has beyond what it shall have: they move, or are deleted.
    pub fn surplus(&self) -> i32 {
        (self.counts.current - self.counts.wanted).max(0)
    }

    /// Whether Machines are given up that the set has not counted: lost ones, or such as are on
    /// their way to it.
    pub fn gives_up(&self) -> bool {
        self.to < self.counts.wanted && self.to >= self.counts.current
    }

    /// Marked Machines that are left: a set lets go of them before all others. None where the set
    /// would give up first what it has not made yet.
    pub fn marked_left(&self) -> i32 {
        let leaving = self.counts.current - self.to;
        if leaving < 0 {
            return 0;
        }
        (self.marked - leaving).min(self.to).max(0)
    }

    /// Available Machines that are left: a set lets go of the others first.
    pub fn available(&self) -> i32 {
        self.counts.available.min(self.staying())
    }

    /// Unhealthy Machines that are left: a set lets go of them first of all.
    pub fn unhealthy(&self) -> i32 {
        let leaving = (self.counts.current - self.staying()).max(0);
        (self.counts.unhealthy - leaving).max(0)
    }

    /// Machines that are left and neither available nor unhealthy: they may yet become either.
    pub fn unsettled(&self) -> i32 {
        (self.staying() - self.available() - self.unhealthy()).max(0)
    }
}

/// How many Machines each set shall have, and what is waited for.
#[derive(Clone, Debug)]
pub struct Targets {
    /// The set of the wanted revision.
    pub current: Target,
    /// The others, oldest first.
    pub old: Vec<Target>,
    /// What is waited for.
    pub waiting: Vec<String>,
    /// What the old sets give up moves to the current one.
    pub moves: bool,
    /// Why the roll cannot go on before a person changes something.
    pub refused: Option<Why>,
}

impl Targets {
    /// Everything stays as it is.
    pub fn unchanged(roll: &Roll) -> Self {
        Self {
            current: roll.current.map(Target::unchanged).unwrap_or_default(),
            old: roll.old.iter().map(|set| Target::unchanged(set)).collect(),
            waiting: Vec::new(),
            moves: false,
            refused: None,
        }
    }

    /// All targets.
    pub fn all(&self) -> impl Iterator<Item = &Target> {
        self.old.iter().chain([&self.current])
    }

    /// Whether any number changes.
    pub fn changes(&self) -> bool {
        self.all().any(Target::changes)
    }

    /// Available Machines that are left when all sets have followed.
    pub fn available(&self) -> i32 {
        self.all().map(Target::available).sum()
    }

    /// Machines that there may be at most, until all sets have followed, without those in deletion.
    pub fn most(&self) -> i32 {
        self.all().map(Target::most).sum()
    }
}
