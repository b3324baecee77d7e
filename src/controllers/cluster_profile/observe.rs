//! Gathers the facts for a pass over the ClusterProfiles of a Cluster. No request is sent while
//! nothing changed since a pass without actions.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use secrecy::SecretString;

use super::ClusterProfiles;
use super::memory::{Memory, ProfileRecord, PublishInput};
use super::profiles::{Profiles, profiles};
use super::workload;
use crate::controllers::cluster::Now;
use crate::controllers::machine::cluster_endpoint;
use crate::engine::{Chain, ReconcileError};
use crate::pki::{Authorities, kubeconfig};
use tatara_core::api::cluster_provider_spec::{Addon, AddonKind};
use tatara_core::api::names::{
    ANNOTATION_INITIALIZED, FINALIZER_PROFILE, LABEL_MANAGED_BY, MANAGED_BY,
    profile_kubeconfig_secret,
};
use tatara_core::api::{Cluster, ClusterProviderSpec};
use tatara_core::cluster::live::end::other_cluster;
use tatara_core::cluster_profile::access::{self, ExistingSecret, Kubeconfig};
use tatara_core::cluster_profile::{
    ClusterFacts, Input, Observed, SecretSeen, Server, inventories,
};
use tatara_core::control_plane::health::Verdict;
use tatara_core::kubeadm::Endpoint;

/// User in the kubeconfig of consumers.
const USER: &str = "tatara-profile-consumer";

/// The facts of a pass, and the clients for its actions.
pub struct ProfileView {
    /// The facts about the Cluster.
    pub input: Input,
    /// The part of it that decides what is published.
    pub(super) given: PublishInput,
    /// The client of the workload cluster, once the manager is connected to it.
    pub(super) workload: Option<Client>,
    /// The input of the plan.
    pub observed: Observed,
}

/// The settings of a Cluster. Invalid ones must not block its deletion.
///
/// # Errors
/// Why the settings cannot be decoded, unless the Cluster is being deleted.
pub(super) fn settings(cluster: &Cluster) -> Result<ClusterProviderSpec, String> {
    match ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref()) {
        Err(_) if cluster.metadata.deletion_timestamp.is_some() => Ok(Default::default()),
        settings => settings,
    }
}

/// The facts about a Cluster with these settings.
pub(super) fn input(
    controller: &ClusterProfiles,
    cluster: &Arc<Cluster>,
    spec: &ClusterProviderSpec,
) -> Input {
    let uid = cluster.uid().unwrap_or_default();
    let own = cluster.namespace().unwrap_or_default();
    let known = controller.workloads.known.get(&uid);
    let (namespaces, forbidden) = inventories(&spec.profile, &own, &controller.namespaces);
    let initialized_by = cluster.annotations().get(ANNOTATION_INITIALIZED);
    let server = if known.kubeconfig.external {
        known.kubeconfig.server
    } else if initialized_by.is_none() {
        Err("its control plane is not initialised yet".to_owned())
    } else {
        let endpoint = cluster_endpoint(controller.base.stores(), &own, Some(spec), initialized_by);
        own_server(endpoint, known.authorities.as_deref())
    };
    // the kubeconfig Secret of a Cluster with this name would have the name of our consumers'
    // Secret
    let rival = format!("{}-profile", cluster.name_any());
    let rival = controller.base.stores().clusters.get(&own, &rival);
    Input {
        secret: Some(secret_seen(controller, cluster)),
        rival: rival.map(|rival| rival.name_any()),
        server,
        verdict: known.judgement.verdict,
        health: known.sentence,
        version: known.version,
        is_connected: controller.workloads.get(cluster).is_some(),
        cluster: cluster.clone(),
        namespaces,
        forbidden,
    }
}

/// The state of the Secret of consumers in the watch, which it follows until the Cluster is
/// deleted.
fn secret_seen(controller: &ClusterProfiles, cluster: &Cluster) -> SecretSeen {
    if cluster.metadata.deletion_timestamp.is_some() {
        return SecretSeen::Untold;
    }
    let namespace = cluster.namespace().unwrap_or_default();
    let (kind, name) = (
        AddonKind::Secret,
        profile_kubeconfig_secret(&cluster.name_any()),
    );
    let source = Addon {
        kind,
        name: name.clone(),
    };
    controller.consumers.follow(cluster, &[source]);
    let uid = cluster.uid().unwrap_or_default();
    let revision = controller.consumers.revision(&uid);
    match controller.consumers.now(kind, &namespace, &name) {
        Some(Now::At(version)) => SecretSeen::At(version),
        Some(Now::Deleted) => SecretSeen::Deleted(revision),
        None if controller.secret_names.is_missing(&namespace, &name) => {
            SecretSeen::Missing(revision)
        }
        None => SecretSeen::Untold,
    }
}

/// The API server address of our own control plane.
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

/// Observes the workload cluster, the Secret of its consumers and its profiles, if they may have
/// changed.
///
/// # Errors
/// `ReconcileError::Api` when the Secret or the profiles cannot be read; `Other` when the
/// kubeconfig cannot be rendered.
pub async fn observe(
    client: &Client,
    memory: &Memory,
    (input, workload): (Input, Option<Client>),
    now: Timestamp,
) -> Result<ProfileView, ReconcileError> {
    let cluster = input.cluster.as_ref();
    let given = PublishInput::of(&input);
    let mut observed = if cluster.metadata.deletion_timestamp.is_some() {
        memory.forget(cluster);
        facts(&input, &ProfileRecord::default())
    } else {
        asked(client, memory, (&input, &given, workload.as_ref()), now).await?
    };
    if !observed.unchanged {
        let before = memory.update(cluster, |_| ());
        let known = before
            .profiles()
            .filter(|known| !makes_one(&observed, known));
        let found = match known {
            Some(known) => known.clone(),
            None => profiles(client, cluster, &input.namespaces).await?,
        };
        if !observed.cluster.deleting {
            memory.update(cluster, |remembered| remembered.see(&found, &before));
        }
        observed.served = found.served;
        observed.profiles = found.existing;
    }
    Ok(ProfileView {
        input,
        given,
        workload,
        observed,
    })
}

/// Whether a profile may have to be created: only a list shows whether another manager's profile
/// still exists.
fn makes_one(observed: &Observed, known: &Profiles) -> bool {
    let is_open = observed.kubeconfig.is_some() || observed.secret.is_some();
    is_open && !known.are_ours(&observed.namespaces)
}

/// The facts about a Cluster that is not being deleted, without its profiles.
async fn asked(
    client: &Client,
    memory: &Memory,
    (input, given, workload): (&Input, &PublishInput, Option<&Client>),
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    let cluster = input.cluster.as_ref();
    let before = memory.begin(cluster, given, now);
    let mut remembered = before.clone();
    let mut account_due = false;
    if let Some(workload) = workload.filter(|_| before.is_due(given, now)) {
        let told = workload::ask(workload).await;
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
        observed.secret = if let Some(kept) = remembered.secret(input.secret.as_ref()) {
            kept.found.clone()
        } else {
            let secret = secret(client, input).await?;
            let kept = secret.as_ref().map(|secret| kept(secret, cluster));
            let found = kept.as_ref().map(|(_, found)| found.clone());
            memory.update(cluster, |remembered| {
                remembered.keep(input.secret.as_ref(), kept);
            });
            found
        };
        // the answer of the workload cluster is the same, and the watch has shown no change
        observed.unchanged = before.settled.as_ref() == Some(given)
            && !remembered.is_due(given, now)
            && before.told.properties == remembered.told.properties
            && before.problem() == remembered.problem()
            && before.served()
            // the watch does not show the deletion of another manager's profile
            && before.profiles().is_some_and(|profiles| profiles.are_ours(&observed.namespaces))
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
    text.map(Kubeconfig).map_err(|error| {
        ReconcileError::other("generate the kubeconfig of consumers", Chain(&error))
    })
}

/// The Secret with the name of the consumers' one. If the watch does not show it, it is written
/// with a create request, which fails if it exists.
async fn secret(client: &Client, input: &Input) -> Result<Option<Secret>, ReconcileError> {
    if matches!(
        input.secret,
        Some(SecretSeen::Missing(_) | SecretSeen::Deleted(_))
    ) {
        return Ok(None);
    }
    let namespace = input.cluster.namespace().unwrap_or_default();
    let name = profile_kubeconfig_secret(&input.cluster.name_any());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let found = secrets.get_opt(&name).await;
    found.map_err(ReconcileError::api(format!(
        "read Secret {namespace}/{name}"
    )))
}

/// The recorded parts of that Secret: its resourceVersion, and the input of the plan.
pub(super) fn kept(secret: &Secret, cluster: &Cluster) -> (String, ExistingSecret) {
    let manager = secret.labels().get(LABEL_MANAGED_BY);
    let text = secret.data.as_ref().and_then(|data| data.get(access::KEY));
    let text = text.map(|text| String::from_utf8_lossy(&text.0).into_owned());
    let found = ExistingSecret {
        is_ours: manager.is_some_and(|manager| manager == MANAGED_BY),
        other: other_cluster(secret, cluster),
        kubeconfig: text.map(|text| Kubeconfig(text.into())),
        uid: secret.uid(),
    };
    (secret.resource_version().unwrap_or_default(), found)
}

/// Why consumers have no access yet, for messages.
fn waits_for(input: &Input, remembered: &ProfileRecord) -> String {
    match &input.server {
        Err(why) => why.clone(),
        Ok(_) if !input.is_connected => "the manager is not connected to its API yet".into(),
        Ok(_) if input.verdict == Verdict::Unhealthy => input.health.clone(),
        Ok(_) => remembered.problem().cloned().unwrap_or_else(|| {
            "its controller manager has made no token of the account of its consumers yet".into()
        }),
    }
}

/// The facts that are known without a request.
fn facts(input: &Input, remembered: &ProfileRecord) -> Observed {
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
