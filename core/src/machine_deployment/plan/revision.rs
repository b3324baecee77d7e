//! Which set is the current one, revision numbers, and which old sets are forgotten.

use super::super::observed::{Observed, ObservedSet};
use super::super::revision::Revision;
use super::Action;
use super::roll::Roll;
use crate::api::names::{
    ANNOTATION_REVISION, ANNOTATION_REVISION_HISTORY, ANNOTATION_REVISION_X,
    LABEL_MACHINE_DEPLOYMENT,
};
use crate::machine_set::Owner;

/// The deployment's sets, without those that are being deleted.
pub fn own(observed: &Observed) -> impl Iterator<Item = &ObservedSet> {
    observed
        .sets
        .iter()
        .filter(|set| !set.deleting)
        .filter(|set| match set.owner {
            Owner::Ours => true,
            Owner::Orphan => is_left_over(observed, set),
            Owner::Other => false,
        })
}

/// A set that nobody controls is taken in only when a deployment of this name made it: labels that
/// happen to match are no reason to take over, and roll away, what somebody made by hand.
fn is_left_over(observed: &Observed, set: &ObservedSet) -> bool {
    set.hash().is_some() && set.labels.get(LABEL_MACHINE_DEPLOYMENT) == Some(&observed.name)
}

/// Takes in sets that an earlier deployment of this name left behind.
pub fn adopt(roll: &Roll) -> Vec<Action> {
    let orphans = roll.sets().filter(|set| set.owner == Owner::Orphan);
    orphans
        .map(|set| Action::AdoptSet {
            name: set.name.clone(),
            uid: set.uid.clone(),
        })
        .collect()
}

/// The set of this revision: where several match, the one with the most Machines, then the oldest.
/// `sets` are in the order of their age.
pub fn current(sets: &[&ObservedSet], wanted: Option<&Revision>) -> Option<usize> {
    let wanted = wanted?;
    let matching = (0..sets.len()).filter(|at| revision_of(sets[*at]) == *wanted);
    matching.max_by_key(|at| (sets[*at].counts.wanted, std::cmp::Reverse(*at)))
}

/// What a set means.
pub fn revision_of(set: &ObservedSet) -> Revision {
    Revision::of_set(&set.template, &set.annotations)
}

/// Whether the current set has the highest revision number already.
pub fn is_newest(current: Option<&ObservedSet>, old: &[&ObservedSet]) -> bool {
    let highest = old
        .iter()
        .map(|set| set.revision())
        .max()
        .unwrap_or_default();
    current.is_some_and(|set| set.revision() > highest)
}

/// The annotations that make the current set the newest, when it is not: its number, and the ones
/// that it had before. The number stands twice, for clients of two generations.
pub fn annotations(roll: &Roll) -> Vec<(&'static str, String)> {
    if !roll.superseding {
        let revision = roll.current.map(ObservedSet::revision);
        let revision = revision.filter(|revision| *revision > 0);
        return revision
            .map(|revision| (ANNOTATION_REVISION_X, revision.to_string()))
            .into_iter()
            .collect();
    }
    let highest = roll
        .sets()
        .map(ObservedSet::revision)
        .max()
        .unwrap_or_default();
    let number = (highest + 1).to_string();
    let mut annotations = vec![
        (ANNOTATION_REVISION, number.clone()),
        (ANNOTATION_REVISION_X, number),
    ];
    let before = roll
        .current
        .map(ObservedSet::revision)
        .filter(|revision| *revision > 0);
    if let (Some(set), Some(before)) = (roll.current, before) {
        let history = set.annotations.get(ANNOTATION_REVISION_HISTORY);
        let history = history.map_or_else(|| before.to_string(), |h| format!("{h},{before}"));
        annotations.push((ANNOTATION_REVISION_HISTORY, history));
    }
    annotations
}

/// Old sets without Machines beyond `revisionHistoryLimit`, the oldest revisions first, but before
/// them those that a later one repeats. Only when nothing rolls any more: until then, going back
/// may be wanted any moment.
pub fn forget(roll: &Roll) -> Vec<Action> {
    let limit = roll.observed.revision_history_limit;
    let old = roll.old.iter();
    let mut empty: Vec<_> = old
        .filter(|set| !set.is_active() && !set.is_owner)
        .collect();
    let is_repeated = |set: &ObservedSet| {
        let is = revision_of(set);
        roll.sets()
            .any(|other| other.revision() > set.revision() && revision_of(other).repeats(&is))
    };
    empty.sort_by_key(|set| (!is_repeated(set), set.revision()));
    let surplus = empty
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or_default());
    let because = format!(
        "revisionHistoryLimit is {limit}, and {} old sets are left",
        empty.len()
    );
    let oldest = empty.into_iter().take(surplus);
    oldest
        .map(|set| Action::DeleteSet {
            name: set.name.clone(),
            uid: set.uid.clone(),
            because: because.clone(),
        })
        .collect()
}
