//! The ClusterProfile controller's place in the manager: what a pass is given, and where its findings
//! go. The Cluster's own controller writes them on the Cluster.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::context::Context;
use crate::api::conditions::Finding;
use crate::api::names::ANNOTATION_INITIALIZED;
use crate::api::{Cluster, ClusterProviderSpec};
use crate::controllers::cluster_profile::{Input, Server, inventories};
use crate::controllers::machine::cluster_endpoint;
use crate::controllers::unreadable;
use crate::controllers::whose::Shared;
use crate::core::kubeadm::Endpoint;
use crate::core::{self, Next};
use crate::engine::{Chain, Controller, Done, ReconcileError};
use crate::pki::Authorities;

/// The controller of the ClusterProfiles of Clusters.
pub struct ClusterProfiles {
    /// What controllers share.
    pub context: Arc<Context>,
}

/// What is done for the profiles of a Cluster.
pub struct Plan(Option<Publish>);

/// One pass of the publisher.
pub struct Publish;

impl core::Plan for Plan {
    type Action = Publish;

    fn actions(&self) -> &[Publish] {
        self.0.as_slice()
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn next(&self, _: Timestamp) -> Next {
        Next::OnChange
    }
}

impl Controller for ClusterProfiles {
    type Object = Cluster;
    type Observed = Option<Input>;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "cluster-profile";

    async fn is_held(&self, cluster: &Cluster) -> bool {
        unreadable::holds(&self.context, cluster).await
    }

    async fn observe(
        &self,
        cluster: &Arc<Cluster>,
        _: Timestamp,
    ) -> Result<Option<Input>, ReconcileError> {
        Ok(input(&self.context, cluster))
    }

    fn plan(input: &Option<Input>, _: Timestamp) -> Plan {
        Plan(input.as_ref().map(|_| Publish))
    }

    async fn perform(
        &self,
        input: &Option<Input>,
        _: &Publish,
        now: Timestamp,
    ) -> Result<Done, ReconcileError> {
        let Some(input) = input else {
            return Ok(Done::Yes);
        };
        let next = publish(&self.context, input, now).await?;
        Ok(next.map_or(Done::Yes, Done::LookAgain))
    }

    fn reported(_: &Cluster) -> Option<&()> {
        None
    }

    fn status(_: &Cluster, _: &Option<Input>, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}

fn input(context: &Context, cluster: &Arc<Cluster>) -> Option<Input> {
    if !cluster.is_ours(&context.stores) {
        return None;
    }
    let uid = cluster.uid().unwrap_or_default();
    let own = cluster.namespace().unwrap_or_default();
    // A mistake in the settings is the Cluster controller's to report; its profile stays as it is.
    // A Cluster that goes must be let go whatever its settings say.
    let spec = match ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref()) {
        Ok(spec) => spec,
        Err(_) if cluster.metadata.deletion_timestamp.is_some() => ClusterProviderSpec::default(),
        Err(_) => return None,
    };
    let known = context.known.get(&uid);
    let (namespaces, forbidden) = inventories(&spec.profile, &own, &context.profile_namespaces);
    let initialized_by = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let server = if known.kubeconfig.external {
        known.kubeconfig.server
    } else if initialized_by.is_none() {
        Err("its control plane is not initialised yet".to_owned())
    } else {
        let endpoint = cluster_endpoint(context, &own, Some(&spec), initialized_by);
        own_server(endpoint, known.authorities.as_deref())
    };
    // the name of its administrators' Secret would be that of our consumers'
    let rival = format!("{}-profile", cluster.name_any());
    let rival = context.stores.clusters.get(&own, &rival);
    Some(Input {
        rival: rival.map(|rival| rival.name_any()),
        server,
        verdict: known.judgement.verdict,
        health: known.sentence,
        version: known.version,
        member: context
            .member(cluster)
            .map(|member| member.client().clone()),
        cluster: cluster.clone(),
        namespaces,
        forbidden,
    })
}

async fn publish(
    context: &Context,
    input: &Input,
    now: Timestamp,
) -> Result<Option<Duration>, ReconcileError> {
    let report = context.publisher.pass(input, now).await;
    let report = report.map_err(|error| {
        if error.is_conflict() {
            ReconcileError::Conflict {
                what: error.what.clone(),
            }
        } else {
            ReconcileError::other(error.what.clone(), Chain(error.source.as_ref()))
        }
    })?;
    let uid = input.cluster.uid().unwrap_or_default();
    let known = context.known.get(&uid);
    if !report.findings.is_empty() && known.profile_findings != report.findings {
        context
            .known
            .update(&uid, |known| known.profile_findings = report.findings);
        context.wakers.clusters.wake_object(&input.cluster);
    }
    Ok(report.next)
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
