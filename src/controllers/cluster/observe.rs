//! Gathers what a pass over a Cluster needs: from the stores, from its Secrets where they are not
//! known yet, and from its API.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Api, ResourceExt};

use super::addons;
use super::known::Known;
use super::observed::{Certificates, Health, MachineFact, Observed};
use crate::api::conditions::is_true;
use crate::api::names::{
    ANNOTATION_INITIALIZED, ANNOTATION_TURN, LABEL_MANAGED_BY, MANAGED_BY, kubeconfig_secret,
};
use crate::api::{Cluster, ClusterProviderSpec, Machine};
use crate::controllers::machine::cluster_endpoint;
use crate::controllers::{Chain, ReconcileError};
use crate::kubeadm::{self, ClusterInput};
use crate::manager::Context;
use crate::pki::{Authorities, AuthoritySecret, kubeconfig};
use crate::store::Key;
use crate::workload::health;

/// How long an API may take to say that it is ready.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer is good for.
const PROBE_AGE: SignedDuration = SignedDuration::from_secs(9);

/// Gathers what a pass over a Cluster needs.
pub async fn observe(context: &Context, cluster: Arc<Cluster>) -> Result<Observed, ReconcileError> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let uid = cluster.uid().unwrap_or_default();
    let annotation = |key: &str| cluster.annotations().get(key).cloned();
    let key = Key::Cluster(namespace.clone(), name.clone());
    let machines = context.stores.machines.by(&key);
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let initialized_by = annotation(ANNOTATION_INITIALIZED);
    let spec = spec(&cluster, &machines);
    let now = crate::clock::now();
    let known = context.known.get(&uid);
    let settled = initialized_by.is_some() && !deleting;
    let known = if deleting || known.external || known.kubeconfig_renew_at.is_some() {
        known
    } else {
        kubeconfig(context, &namespace, &name, &uid).await?
    };
    let certificates = if deleting || known.external {
        Certificates::Ready
    } else {
        certificates(context, &namespace, &name, &uid, now).await?
    };
    let turn = annotation(ANNOTATION_TURN).and_then(|text| serde_json::from_str(&text).ok());
    let health = if settled || known.external {
        probed(context, &cluster, &uid, now).await
    } else {
        None
    };
    let addons = match &spec {
        Ok(spec) if health.is_some() => addons::observe(context, &cluster, spec, now),
        _ => super::observed::Addons::Applied,
    };
    Ok(Observed {
        sets_left: sets_left(context, &key),
        endpoint: cluster_endpoint(context, spec.as_ref().ok(), initialized_by.as_ref()),
        kubeconfig_ready: known.external
            || known.kubeconfig_renew_at.is_some_and(|renew| now < renew),
        secrets_held: known.secrets_held,
        connected: context.member(&cluster).is_some(),
        external: known.external,
        machines: machines.iter().map(|machine| fact(machine)).collect(),
        profile: context.known.get(&uid).profile_findings,
        certificates,
        initialized_by,
        turn,
        health,
        addons,
        spec,
        cluster,
    })
}

fn fact(machine: &Machine) -> MachineFact {
    let conditions = machine
        .status
        .as_ref()
        .map(|s| s.conditions.as_slice())
        .unwrap_or_default();
    MachineFact {
        control_plane: machine.is_control_plane(),
        ready: is_true(conditions, "Ready"),
        deleting: machine.metadata.deletion_timestamp.is_some(),
    }
}

fn sets_left(context: &Context, key: &Key) -> usize {
    let sets = context.stores.machine_sets.by(key);
    let deployments = context.stores.machine_deployments.by(key);
    sets.iter()
        .filter(|set| set.metadata.deletion_timestamp.is_none())
        .count()
        + deployments
            .iter()
            .filter(|deployment| deployment.metadata.deletion_timestamp.is_none())
            .count()
}

/// The Cluster's settings, with what kubeadm would be told judged before a host is touched.
fn spec(cluster: &Cluster, machines: &[Arc<Machine>]) -> Result<ClusterProviderSpec, String> {
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref())?;
    let wanted = machines
        .iter()
        .find_map(|machine| machine.versions()?.control_plane.clone());
    let newest = format!("v1.{}.0", kubeadm::version::NEWEST_MINOR);
    let version = kubeadm::KubernetesVersion::parse(
        "spec.versions.controlPlane",
        wanted.as_deref().unwrap_or(newest.as_str()),
    );
    let Ok(version) = version else {
        return Ok(spec);
    };
    let endpoint = spec.control_plane_endpoint.as_ref();
    let input = cluster_input(
        cluster,
        version,
        kubeadm::Endpoint {
            host: endpoint.map_or_else(|| "127.0.0.1".into(), |endpoint| endpoint.host.clone()),
            port: endpoint.map_or(6443, |endpoint| endpoint.port),
        },
    );
    kubeadm::check(&input, &spec).map_err(|error| error.to_string())?;
    Ok(spec)
}

/// What kubeadm is told of a cluster.
pub fn cluster_input(
    cluster: &Cluster,
    version: kubeadm::KubernetesVersion,
    endpoint: kubeadm::Endpoint,
) -> ClusterInput {
    let network = &cluster.spec.cluster_network;
    ClusterInput {
        name: cluster.name_any(),
        version,
        pod_cidrs: network.pods.cidr_blocks.clone(),
        service_cidrs: network.services.cidr_blocks.clone(),
        service_domain: network.service_domain.clone(),
        cert_sans: vec![endpoint.host.clone()],
        endpoint,
    }
}

async fn certificates(
    context: &Context,
    namespace: &str,
    name: &str,
    uid: &str,
    now: Timestamp,
) -> Result<Certificates, ReconcileError> {
    if context.known.get(uid).authorities.is_some() {
        return Ok(Certificates::Ready);
    }
    let found = read_authorities(context, namespace, name).await?;
    let missing: Vec<String> = AuthoritySecret::ALL
        .into_iter()
        .filter(|which| !found.contains_key(which))
        .map(|which| which.name(name))
        .collect();
    if !missing.is_empty() {
        return Ok(Certificates::Missing(missing));
    }
    match Authorities::load_or_generate(name, &found, now) {
        Ok((authorities, _)) => {
            context
                .known
                .update(uid, |known| known.authorities = Some(Arc::new(authorities)));
            Ok(Certificates::Ready)
        }
        Err(error) => Ok(Certificates::Broken(Chain(&error).to_string())),
    }
}

/// The data of the authorities' Secrets that exist.
pub async fn read_authorities(
    context: &Context,
    namespace: &str,
    cluster: &str,
) -> Result<BTreeMap<AuthoritySecret, BTreeMap<String, ByteString>>, ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
    let mut found = BTreeMap::new();
    for which in AuthoritySecret::ALL {
        let name = which.name(cluster);
        let secret = secrets
            .get_opt(&name)
            .await
            .map_err(ReconcileError::api(format!("read Secret {name}")))?;
        if let Some(secret) = secret {
            found.insert(which, secret.data.unwrap_or_default());
        }
    }
    Ok(found)
}

/// Looks at the kubeconfig Secret: whose it is, and until when it is good.
async fn kubeconfig(
    context: &Context,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<Known, ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
    let secret_name = kubeconfig_secret(name);
    let secret = secrets
        .get_opt(&secret_name)
        .await
        .map_err(ReconcileError::api(format!("read Secret {secret_name}")))?;
    if let Some(secret) = secret {
        let ours = secret
            .labels()
            .get(LABEL_MANAGED_BY)
            .is_some_and(|by| by == MANAGED_BY);
        let text = secret
            .data
            .as_ref()
            .and_then(|data| data.get("value"))
            .map(|b| String::from_utf8_lossy(&b.0).into_owned());
        let parsed = text
            .as_deref()
            .and_then(|text| kubeconfig::parse(text).ok());
        context.known.update(uid, |known| {
            known.external = !ours;
            known.kubeconfig_renew_at = parsed.map(|parsed| parsed.renew_at());
        });
    }
    Ok(context.known.get(uid))
}

async fn probed(context: &Context, cluster: &Cluster, uid: &str, now: Timestamp) -> Option<Health> {
    let member = context.member(cluster)?;
    let known = context.known.get(uid);
    if known
        .probed_at
        .is_none_or(|at| now.duration_since(at) > PROBE_AGE)
        || known.judgement.verdict == health::Verdict::Undecided
    {
        let answer = health::probe(member.client(), PROBE_TIMEOUT).await;
        context.known.update(uid, |known| {
            known.judgement = health::judge(
                known.judgement,
                answer.is_ready(),
                health::FAILURE_THRESHOLD,
            );
            known.sentence = answer.sentence();
            known.probed_at = Some(now);
            if answer.git_version.is_some() {
                known.version.clone_from(&answer.git_version);
            }
        });
    }
    let known = context.known.get(uid);
    Some(Health {
        judgement: known.judgement,
        sentence: known.sentence,
        version: known.version,
    })
}
