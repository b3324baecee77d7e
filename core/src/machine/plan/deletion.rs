//! What the stages of a deletion have in common: who may say that nothing of a Machine runs any
//! more, and since when it is deleted. Hooks → drain → volumes → hooks → virtual IP → etcd member →
//! release the host → delete the Node → remove the finalizer.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::super::observed::Observed;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::proof::Proof;

pub(super) fn deleting(reason: Reason, message: impl Into<String>) -> Finding {
    Finding::yes(ConditionType::Deleting, reason, message)
}

/// The user's confirmation, by annotation, that nothing of the Machine runs any more.
pub(super) fn of_user(observed: &Observed) -> Option<Proof> {
    Proof::of_user(observed.uid(), observed.user_says_gone()?)
}

/// Whether the whole cluster is deleted: then no pods need to be moved to other nodes.
pub(super) fn cluster_goes(observed: &Observed) -> bool {
    observed
        .cluster
        .as_ref()
        .is_none_or(|cluster| cluster.deleting)
}

pub(super) fn deleted_at(observed: &Observed) -> Option<Timestamp> {
    let deleted = observed.machine.metadata.deletion_timestamp.as_ref();
    deleted.map(|time| time.0)
}

/// When a host that has not answered `since` then is given up, by the user's time limit; it counts
/// from the deletion at the earliest.
pub fn given_up_at(observed: &Observed, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let deletion = observed.machine.spec.deletion.as_ref();
    let limit = deletion.and_then(|deletion| deletion.host_release_timeout_seconds);
    let since = since.max(deleted_at(observed).unwrap_or(now));
    limit
        .filter(|limit| *limit > 0)
        .and_then(|limit| since.checked_add(SignedDuration::from_secs(limit)).ok())
}

/// Who creates another Machine once this one is deleted.
pub(super) fn after_deletion(observed: &Observed) -> &'static str {
    if observed.machine.is_owned() {
        "its MachineSet creates another"
    } else {
        "nothing creates another"
    }
}
