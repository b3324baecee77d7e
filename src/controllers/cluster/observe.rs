//! Gathers what a pass over a Cluster needs: from the stores, from its Secrets where they are not
//! known as they are now, and from its API.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::observed::{Certificates, Health, MachineFact, Observed};
use super::{addons, secrets};
use crate::api::conditions::is_true;
use crate::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN};
use crate::api::{Cluster, ClusterProviderSpec, Machine};
use crate::controllers::ReconcileError;
use crate::controllers::machine::cluster_endpoint;
use crate::kubeadm::{self, ClusterInput};
use crate::manager::Context;
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
    if !deleting {
        secrets::observe(context, &cluster, now).await?;
    }
    let known = context.known.get(&uid);
    let settled = initialized_by.is_some() && !deleting;
    let certificates = if deleting || known.kubeconfig.external {
        Certificates::Ready
    } else {
        known.certificates
    };
    let turn = annotation(ANNOTATION_TURN).and_then(|text| serde_json::from_str(&text).ok());
    let health = if settled || known.kubeconfig.external {
        probed(context, &cluster, &uid, now).await
    } else {
        None
    };
    let addons = match &spec {
        Ok(spec) => addons::observe(context, &cluster, spec, now),
        Err(_) => addons::Standing::default(),
    };
    Ok(Observed {
        sets_left: sets_left(context, &key),
        endpoint: cluster_endpoint(context, spec.as_ref().ok(), initialized_by.as_ref()),
        kubeconfig_ready: known.kubeconfig.external
            || known.kubeconfig.renew_at.is_some_and(|renew| now < renew),
        secrets_held: known.secrets_held,
        connected: context.member(&cluster).is_some()
            && (known.kubeconfig.digest.is_none()
                || known.kubeconfig.digest == known.connected_with),
        external: known.kubeconfig.external,
        kubeconfig_problem: known.kubeconfig.problem,
        machines: machines.iter().map(|machine| fact(machine)).collect(),
        profile: context.known.get(&uid).profile_findings,
        certificates,
        initialized_by,
        turn,
        addons: addons.state,
        addons_due: addons.due && health.is_some(),
        addons_next: addons.next,
        health,
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
            if answer.readiness == health::Readiness::Refused {
                // what the Secret says now may be accepted
                known.secrets_at = None;
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
