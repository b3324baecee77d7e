//! The units of a Machine's jobs, with the keys and bootstrap tokens that they need.

use std::time::Duration;

use k8s_openapi::jiff::SignedDuration;

use super::Machines;
use crate::engine::{Chain, ReconcileError};
use crate::pki::{BootstrapToken, authorities};
use crate::workload::tokens;
use tatara_core::api::conditions::{ConditionType, Finding, Reason};
use tatara_core::machine::Observed;
use tatara_core::machine::units::{
    addons, address, archives, init, join, kubelet, prepare, upgrade,
};
use tatara_core::node::{JobKind, PlannedUnit, Unit};

/// Lifetime of a bootstrap token: a join takes seconds, and a retry gets a new token.
const TOKEN_LIFE: SignedDuration = SignedDuration::from_mins(15);
/// How long its signature is waited for. A join without it waits as well, and says what is in the
/// way.
const SIGNED_WITHIN: Duration = Duration::from_secs(10);

/// The unit for this job. The inner error is the finding that blocks it.
///
/// # Errors
/// `ReconcileError::Other` when a bootstrap token cannot be generated or written to the workload
/// cluster.
pub async fn build(
    controller: &Machines,
    observed: &Observed,
    name: JobKind,
) -> Result<Result<Unit, Finding>, ReconcileError> {
    let no = |reason, message| Finding::no(ConditionType::BootstrapReady, reason, message);
    let of_spec = match name {
        JobKind::Prepare => Some(prepare(observed)),
        JobKind::Images => {
            let none = || "there are no image archives".to_owned();
            Some(archives(observed).and_then(|unit| unit.ok_or_else(none)))
        }
        JobKind::Upgrade => Some(upgrade(observed)),
        JobKind::Kubelet => Some(kubelet(observed)),
        JobKind::Addons => Some(addons(observed)),
        _ => None,
    };
    let render = |unit: PlannedUnit| unit.render().map_err(|error| error.to_string());
    if let Some(planned) = of_spec {
        let made = planned.and_then(render);
        return Ok(made.map_err(|problem| no(Reason::InvalidConfiguration, problem)));
    }
    let cluster = observed.cluster.as_ref();
    let known =
        cluster.and_then(|cluster| controller.workloads.known.get(&cluster.uid).authorities);
    let Some(known) = known else {
        let message = "the certificate authorities of the Cluster are not known; if this stays, its condition CertificatesReady says what to do".into();
        return Ok(Err(no(Reason::WaitingForCertificates, message)));
    };
    let made = match name {
        JobKind::Join => {
            let Some(token) = token(controller, observed).await? else {
                let message = "the cluster's API is not connected yet".into();
                return Ok(Err(no(Reason::WaitingForControlPlane, message)));
            };
            let hashes = known.cluster.public_key_hashes();
            let pki = if observed.acts_as_control_plane() {
                authorities::control_plane_files(&known)
            } else {
                Vec::new()
            };
            join(observed, token.text(), hashes, pki)
        }
        JobKind::Address => address(observed)
            .ok_or_else(|| "it holds no virtual IP".to_owned())
            .and_then(render),
        JobKind::Init => init(observed, authorities::control_plane_files(&known)),
        JobKind::Prepare
        | JobKind::Images
        | JobKind::Upgrade
        | JobKind::Kubelet
        | JobKind::Addons
        | JobKind::Reset => Err("a Machine never resets its host; the Host does".into()),
    };
    Ok(made.map_err(|problem| no(Reason::InvalidConfiguration, problem)))
}

/// A new bootstrap token for this Machine in its cluster, with [`TOKEN_LIFE`]; `None` while its API
/// is not connected.
async fn token(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<BootstrapToken>, ReconcileError> {
    let cluster = controller
        .base
        .stores()
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    let Some(workload) = cluster.and_then(|cluster| controller.workloads.get(&cluster)) else {
        return Ok(None);
    };
    let token = BootstrapToken::generate()
        .map_err(|error| ReconcileError::other("make a bootstrap token", Chain(&error)))?;
    let machine = format!("{}/{}", observed.marker.namespace, observed.marker.machine);
    let secret = token.secret(&machine, crate::clock::now() + TOKEN_LIFE);
    tokens::apply(workload.client(), &secret)
        .await
        .map_err(|error| ReconcileError::other("write a bootstrap token", error.sentence()))?;
    if !tokens::until_signed(workload.client(), token.id(), SIGNED_WITHIN).await {
        tracing::debug!("a bootstrap token is not signed yet");
    }
    controller.tokens.insert(
        observed.uid().to_owned(),
        crate::pki::bootstrap_token::secret_name(token.id()),
    );
    Ok(Some(token))
}

/// Removes the token that a Machine joined with.
pub async fn remove_token(controller: &Machines, observed: &Observed) {
    let name = controller.tokens.remove(observed.uid());
    let cluster = controller
        .base
        .stores()
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    let (Some(name), Some(workload)) = (
        name,
        cluster.and_then(|cluster| controller.workloads.get(&cluster)),
    ) else {
        return;
    };
    if let Err(error) = tokens::delete(workload.client(), &name).await {
        // the token controller deletes the token after its expiry
        tracing::warn!(error = %error.sentence(), "failed to remove a used bootstrap token");
    }
}
