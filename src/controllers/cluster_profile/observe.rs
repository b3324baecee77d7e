//! Gathers what a pass over the ClusterProfiles of a Cluster needs. No request is made while nothing changed since a pass
//! that left nothing to do.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use secrecy::SecretString;

use super::member;
use super::memory::{Given, Memory, Remembered};
use super::profiles::profiles;
use crate::api::names::{
    ANNOTATION_INITIALIZED, FINALIZER_PROFILE, LABEL_MANAGED_BY, MANAGED_BY,
    profile_kubeconfig_secret,
};
use crate::api::{Cluster, ClusterProviderSpec};
use crate::controllers::cluster::other_cluster;
use crate::controllers::machine::cluster_endpoint;
use crate::core::cluster::health::Verdict;
use crate::core::cluster_profile::access::{self, Found, Kubeconfig};
use crate::core::cluster_profile::{ClusterFacts, Input, Observed, Server, inventories};
use crate::core::kubeadm::Endpoint;
use crate::engine::{Chain, ReconcileError};
use crate::manager::Context;
use crate::pki::{Authorities, kubeconfig};

/// User in the kubeconfig of consumers.
const USER: &str = "tatara-profile-consumer";

/// What a pass knows, and what it acts with.
pub struct Seen {
    /// What the manager knows of the Cluster.
    pub input: Input,
    /// The part of it that decides what is published.
    pub(super) given: Given,
    /// The client of the member, once the manager is connected to it.
    pub(super) member: Option<Client>,
    /// What is planned by.
    pub observed: Observed,
}

/// The settings of a Cluster. One that goes must be let go whatever they say.
pub(super) fn settings(cluster: &Cluster) -> Result<ClusterProviderSpec, String> {
    match ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref()) {
        Err(_) if cluster.metadata.deletion_timestamp.is_some() => Ok(Default::default()),
        settings => settings,
    }
}

/// What the manager knows of a Cluster with these settings.
pub(super) fn input(
    context: &Context,
    cluster: &Arc<Cluster>,
    spec: &ClusterProviderSpec,
) -> Input {
    let uid = cluster.uid().unwrap_or_default();
    let own = cluster.namespace().unwrap_or_default();
    let known = context.known.get(&uid);
    let (namespaces, forbidden) = inventories(&spec.profile, &own, &context.profile_namespaces);
    let initialized_by = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let server = if known.kubeconfig.external {
        known.kubeconfig.server
    } else if initialized_by.is_none() {
        Err("its control plane is not initialised yet".to_owned())
    } else {
        let endpoint = cluster_endpoint(context, &own, Some(spec), initialized_by);
        own_server(endpoint, known.authorities.as_deref())
    };
    // the name of its administrators' Secret would be that of our consumers'
    let rival = format!("{}-profile", cluster.name_any());
    let rival = context.stores.clusters.get(&own, &rival);
    Input {
        rival: rival.map(|rival| rival.name_any()),
        server,
        verdict: known.judgement.verdict,
        health: known.sentence,
        version: known.version,
        has_member: context.member(cluster).is_some(),
        cluster: cluster.clone(),
        namespaces,
        forbidden,
    }
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

/// Looks at the member, the Secret of its consumers and its profiles, as far as one of them may have changed.
pub async fn observe(
    client: &Client,
    memory: &Memory,
    (input, member): (Input, Option<Client>),
    now: Timestamp,
) -> Result<Seen, ReconcileError> {
    let cluster = input.cluster.as_ref();
    let given = Given::of(&input);
    let mut observed = if cluster.metadata.deletion_timestamp.is_some() {
        memory.forget(cluster);
        facts(&input, &Remembered::default())
    } else {
        asked(client, memory, (&input, &given, member.as_ref()), now).await?
    };
    if !observed.unchanged {
        let found = profiles(client, cluster, &input.namespaces).await?;
        if !observed.cluster.deleting {
            memory.update(cluster, |remembered| remembered.see(&found));
        }
        observed.served = found.served;
        observed.profiles = found.existing;
    }
    Ok(Seen {
        input,
        given,
        member,
        observed,
    })
}

/// What is known of a Cluster that stays, its profiles apart.
async fn asked(
    client: &Client,
    memory: &Memory,
    (input, given, member): (&Input, &Given, Option<&Client>),
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    let cluster = input.cluster.as_ref();
    let before = memory.begin(cluster, given, now);
    let mut remembered = before.clone();
    let mut account_due = false;
    if let Some(member) = member.filter(|_| before.is_due(given, now)) {
        let told = member::ask(member).await;
        account_due = told.properties.is_some();
        remembered = memory.update(cluster, |remembered| remembered.take(told, now));
    }
    let mut observed = Observed {
        account_due,
        asks: remembered.asks(given, now),
        unchanged: before.is_settled(given, now),
        ..facts(input, &remembered)
    };
    if let (Ok(server), false) = (&input.server, observed.unchanged) {
        let token = remembered.told.token.as_ref();
        let text = token.map(|token| text(cluster, server, token)).transpose();
        observed.kubeconfig = text?;
        observed.secret = secret(client, cluster).await?;
        // the member told the same, and the watch has told of no change
        observed.unchanged = before.settled.as_ref() == Some(given)
            && !remembered.is_due(given, now)
            && before.told.properties == remembered.told.properties
            && before.problem() == remembered.problem()
            && before.served
            && access::is_open(&observed);
    }
    Ok(observed)
}

/// The kubeconfig for consumers.
fn text(
    cluster: &Cluster,
    server: &Server,
    token: &SecretString,
) -> Result<Kubeconfig, ReconcileError> {
    let (name, authority) = (cluster.name_any(), &server.authority_pem);
    let text = kubeconfig::with_token(&name, &server.url, authority, USER, token);
    text.map(Kubeconfig)
        .map_err(|error| ReconcileError::other("make the kubeconfig of consumers", Chain(&error)))
}

/// The Secret that has the name of the one for consumers.
async fn secret(client: &Client, cluster: &Cluster) -> Result<Option<Found>, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let name = profile_kubeconfig_secret(&cluster.name_any());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let found = secrets.get_opt(&name).await;
    let found = found.map_err(ReconcileError::api(format!(
        "read Secret {namespace}/{name}"
    )))?;
    Ok(found.map(|secret| {
        let manager = secret.labels().get(LABEL_MANAGED_BY);
        let text = secret.data.as_ref().and_then(|data| data.get(access::KEY));
        let text = text.map(|text| String::from_utf8_lossy(&text.0).into_owned());
        Found {
            is_ours: manager.is_some_and(|manager| manager == MANAGED_BY),
            other: other_cluster(&secret, cluster),
            kubeconfig: text.map(|text| Kubeconfig(text.into())),
            uid: secret.metadata.uid,
        }
    }))
}

/// What keeps consumers from getting a way in, for people.
fn waits_for(input: &Input, remembered: &Remembered) -> String {
    match &input.server {
        Err(why) => why.clone(),
        Ok(_) if !input.has_member => "the manager is not connected to its API yet".into(),
        Ok(_) if input.verdict == Verdict::Unhealthy => input.health.clone(),
        Ok(_) => remembered.problem().cloned().unwrap_or_else(|| {
            "its controller manager has made no token of the account of its consumers yet".into()
        }),
    }
}

/// What is known without asking.
fn facts(input: &Input, remembered: &Remembered) -> Observed {
    let cluster = input.cluster.as_ref();
    let properties = remembered.told.properties.clone();
    let (properties, skipped) = properties.map(|told| (told.values, told.skipped)).unzip();
    Observed {
        cluster: ClusterFacts {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
            uid: cluster.uid().unwrap_or_default(),
            labels: cluster.labels().clone(),
            deleting: cluster.metadata.deletion_timestamp.is_some(),
            held: cluster
                .finalizers()
                .iter()
                .any(|finalizer| finalizer == FINALIZER_PROFILE),
        },
        namespaces: input.namespaces.clone(),
        forbidden: input.forbidden.clone(),
        server: input.server.as_ref().ok().cloned(),
        rival: input.rival.clone(),
        waits_for: waits_for(input, remembered),
        problem: remembered.problem().cloned(),
        verdict: input.verdict,
        health: input.health.clone(),
        version: input.version.clone(),
        properties,
        skipped: skipped.unwrap_or_default(),
        ..Observed::default()
    }
}
