//! The ClusterProfile controller's place in the manager: what a pass is given, and where its findings
//! go. The Cluster's own controller writes them on the Cluster.

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::context::Context;
use crate::api::names::ANNOTATION_INITIALIZED;
use crate::api::{Cluster, ClusterProviderSpec};
use crate::controllers::cluster_profile::{Input, Server, inventories};
use crate::controllers::machine::cluster_endpoint;
use crate::controllers::whose::Shared;
use crate::controllers::{Chain, ReconcileError};
use crate::kubeadm::Endpoint;
use crate::pki::Authorities;

/// One pass over the profiles of a Cluster.
pub async fn reconcile(
    cluster: Arc<Cluster>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    context.must_lead()?;
    if !cluster.is_ours(&context.stores) {
        return Ok(Action::await_change());
    }
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
    let server = if known.kubeconfig.external {
        known.kubeconfig.server
    } else if initialized_by.is_none() {
        Err("its control plane is not initialised yet".to_owned())
    } else {
        let endpoint = cluster_endpoint(&context, &own, Some(&spec), initialized_by);
        own_server(endpoint, known.authorities.as_deref())
    };
    // the name of its administrators' Secret would be that of our consumers'
    let rival = format!("{}-profile", cluster.name_any());
    let rival = context.stores.clusters.get(&own, &rival);
    let input = Input {
        rival: rival.map(|rival| rival.name_any()),
        server,
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

/// Where the API of a control plane of ours is served.
fn own_server(
    endpoint: Option<Endpoint>,
    authorities: Option<&Authorities>,
) -> Result<Server, String> {
    let endpoint = endpoint.ok_or("the address of its control-plane machine is not known yet")?;
    let authorities = authorities.ok_or("its certificate authorities cannot be read")?;
    Ok(Server {
        url: format!("https://{endpoint}"),
        authority_pem: authorities.cluster.certificate_pem().to_owned(),
    })
}
