//! The ClusterProfile controller's place in the manager: what a pass is given, and where its findings
//! go. The Cluster's own controller writes them on the Cluster.

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::context::Context;
use crate::api::names::ANNOTATION_INITIALIZED;
use crate::api::{Cluster, ClusterProviderSpec};
use crate::controllers::cluster_profile::{Input, inventories};
use crate::controllers::machine::cluster_endpoint;
use crate::controllers::{Chain, ReconcileError};

/// One pass over the profiles of a Cluster.
pub async fn reconcile(
    cluster: Arc<Cluster>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    context.must_lead()?;
    let uid = cluster.uid().unwrap_or_default();
    let own = cluster.namespace().unwrap_or_default();
    // A mistake in the settings is the Cluster controller's to report; its profile stays as it is.
    // A Cluster that goes must be let go whatever its settings say.
    let spec = match ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref()) {
        Ok(spec) => spec,
        Err(_) if cluster.metadata.deletion_timestamp.is_some() => ClusterProviderSpec::default(),
        Err(_) => return Ok(Action::await_change()),
    };
    let known = context.known.get(&uid);
    let (namespaces, forbidden) = inventories(&spec.profile, &own, &context.profile_namespaces);
    let initialized_by = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let endpoint = cluster_endpoint(&context, Some(&spec), initialized_by);
    let authorities = known.authorities.as_ref();
    let input = Input {
        endpoint: endpoint.filter(|_| initialized_by.is_some()),
        authority_pem: authorities.map(|all| all.cluster.certificate_pem().to_owned()),
        verdict: known.judgement.verdict,
        health: known.sentence,
        version: known.version,
        member: context
            .member(&cluster)
            .map(|member| member.client().clone()),
        cluster: cluster.clone(),
        namespaces,
        forbidden,
    };
    let report = context.publisher.pass(&input, crate::clock::now()).await;
    let report = report.map_err(|error| {
        if error.is_conflict() {
            ReconcileError::Conflict {
                what: error.what.clone(),
            }
        } else {
            ReconcileError::other(error.what.clone(), Chain(error.source.as_ref()))
        }
    })?;
    if !report.findings.is_empty() && known.profile_findings != report.findings {
        context
            .known
            .update(&uid, |known| known.profile_findings = report.findings);
        context.wakers.clusters.wake_object(&cluster);
    }
    Ok(report
        .next
        .map_or_else(Action::await_change, Action::requeue))
}
