//! Whether a Machine claims a Host, keeps the choice of it, and releases it, by what its objects
//! are now.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::observed::Observed;
use crate::api::conditions::{self, ConditionType};
use crate::api::host::{ConsumerRef, HostSpec};
use crate::api::machine::MachineSpec;
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_PAUSED, FINALIZER_IN_USE};
use crate::api::{Host, Machine};
use crate::claim::is_of;
use crate::finalizers;
use crate::node::Marker;
use crate::proof::Clean;

/// Who claims a Host that a Machine is to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// Nobody: the Machine claims it.
    Nobody,
    /// The Machine, even if it has released it since: a claim is never renewed.
    Own,
    /// Another Machine, of this name, since the choice was made.
    Other(String),
}

/// Who claims the Host.
pub fn claimant(host: &Host, machine: &Marker) -> Claimant {
    match &host.spec.consumer_ref {
        None => Claimant::Nobody,
        Some(_) if is_of(host, machine) => Claimant::Own,
        Some(other) => Claimant::Other(other.name.clone()),
    }
}

/// Every field of a Host that the choice of it depends on.
pub fn host_basis(host: &Host) -> (HostSpec, Option<Time>, bool, bool) {
    let status = host.status.as_ref();
    let is_available =
        status.is_some_and(|s| conditions::is_true(&s.conditions, ConditionType::Available));
    let deleted = host.metadata.deletion_timestamp.clone();
    let is_paused = host.annotations().contains_key(ANNOTATION_PAUSED);
    (host.spec.clone(), deleted, is_available, is_paused)
}

/// The claim of a Host, as a merge patch.
pub fn claim(host: &Host, machine: &Marker) -> Value {
    json!({
        "metadata": { "finalizers": finalizers::with(host, FINALIZER_IN_USE) },
        "spec": { "consumerRef": {
            "name": machine.machine,
            "uid": machine.uid,
            "cluster": machine.cluster,
            "releasing": false,
        } },
    })
}

/// The choice of a Machine whose claim met another one is cleared, as a merge patch of the Machine:
/// otherwise it would wait for that host. `None` if the claim on `live` is its own after all, as
/// when the response was lost.
pub fn without_choice(live: &Host, machine: &Marker) -> Option<Value> {
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HOST): null } } });
    (!is_of(live, machine)).then_some(change)
}

/// What a claim is released on: itself.
pub fn release_basis(host: &Host) -> Option<ConsumerRef> {
    host.spec.consumer_ref.clone()
}

/// The release of a claim, as a merge patch. `None` if it is not the Machine's: after a long drain
/// it may be another one's.
pub fn release(host: &Host, machine: &Marker) -> Option<Value> {
    let change = json!({ "spec": { "consumerRef": { "releasing": true } } });
    is_of(host, machine).then_some(change)
}

/// Whether the choice of a place is recorded on its Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is.
    Recorded,
    /// It has to be.
    Due,
}

/// Requires that a Machine may choose this host: it has chosen none or the same, or it is proven
/// (`instead`) that nothing of the Machine is on the former one.
///
/// # Errors
/// It may be there.
pub fn may_choose(
    observed: &Observed,
    host: &str,
    instead: Option<&Clean>,
) -> Result<Choice, &'static str> {
    let before = observed.chosen.as_ref().map(|chosen| chosen.host.as_str());
    let is_proven = instead.is_some_and(|clean| clean.is_about(observed.uid()));
    if before.is_some_and(|before| before != host) && !is_proven {
        return Err("there is no proof that the former host has nothing of it");
    }
    if before == Some(host) && observed.machine.spec.provider_id.is_some() {
        return Ok(Choice::Recorded);
    }
    Ok(Choice::Due)
}

/// Every field of a Machine that the choice of its place depends on.
pub fn machine_basis(machine: &Machine) -> (MachineSpec, Option<Time>, Option<String>) {
    (
        machine.spec.clone(),
        machine.metadata.deletion_timestamp.clone(),
        machine.annotations().get(ANNOTATION_HOST).cloned(),
    )
}
