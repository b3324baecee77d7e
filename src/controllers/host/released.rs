//! Whether a host must still be reset: read live just before, because a reset is irreversible.

use std::sync::Arc;

use kube::{Api, ResourceExt};

use super::Hosts;
use crate::engine::{ReconcileError, patch};
use tatara_core::api::{Cluster, Host, Machine};
use tatara_core::host::Observed;
use tatara_core::host::released::{goes, is_released};

/// Requires that the host, read live, is still released by its Machine, and that this Machine is
/// deleted or being deleted.
///
/// # Errors
/// `ReconcileError::Conflict` otherwise; `Api` when the Host or the Machine cannot be read.
pub async fn must_be_released(
    controller: &Hosts,
    observed: &Observed,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let live = patch::live(&controller.base.engine, host).await?;
    let machine = match &live.spec.consumer_ref {
        Some(consumer) => {
            let namespace = host.namespace().unwrap_or_default();
            let machines: Api<Machine> = Api::namespaced(controller.base.client(), &namespace);
            let what = format!("read Machine {}", consumer.name);
            let machine = machines.get_opt(&consumer.name).await;
            machine.map_err(ReconcileError::api(what))?
        }
        None => None,
    };
    if is_released(host, &live, machine.as_ref()) {
        return Ok(());
    }
    Err(ReconcileError::Conflict {
        what: format!("reset Host {}", host.name_any()),
    })
}

/// The Cluster that the claim of a Host names, if it is being deleted.
pub fn cluster_that_goes(controller: &Hosts, host: &Host) -> Option<Arc<Cluster>> {
    let claim = host.spec.consumer_ref.as_ref()?;
    let clusters = &controller.base.stores().clusters;
    let cluster = clusters.get(&host.namespace()?, &claim.cluster)?;
    goes(&cluster).then_some(cluster)
}

/// Requires that the Cluster that the claim of the Host names is being deleted, read live: the same
/// one, by its UID.
///
/// # Errors
/// `ReconcileError::Conflict` otherwise; `Api` when the Cluster cannot be read.
pub async fn must_go(controller: &Hosts, host: &Host) -> Result<(), ReconcileError> {
    let what = || format!("stop what runs on Host {}", host.name_any());
    let conflict = || ReconcileError::Conflict { what: what() };
    let known = cluster_that_goes(controller, host).ok_or_else(conflict)?;
    let live = patch::live(&controller.base.engine, known.as_ref()).await?;
    goes(&live).then_some(()).ok_or_else(conflict)
}
