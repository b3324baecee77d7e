//! Drains a node through the Eviction API, so that `PodDisruptionBudgets` are respected.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{Eviction, PodDisruptionBudget};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Preconditions};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ListParams, PostParams};
use kube::core::{ObjectMeta, Selector, SelectorExt, Status};
use kube::{Api, Client};

use super::error::{Error, code, reason};
use tatara_core::drain::{BlockedPod, Budget, Candidate, DrainProgress, PodRef, plan, waits_for};

/// Limit of concurrent evictions: enough for a full node in a second, too few to crowd out other
/// clients.
const CONCURRENCY: usize = 16;

/// Grace period on a node whose kubelet does not answer, as in Cluster API (1 s): no kubelet would
/// honour a longer one.
const UNREACHABLE_GRACE_SECONDS: i64 = 1;

/// The result of one eviction.
enum EvictionResult {
    Yes,
    Gone,
    No(String),
}

/// One pass over the pods of a node: evicts the pods that may be evicted, and reports what blocks
/// the others. To be called again until [`DrainProgress::is_done`]. Cordon the node first. The
/// client must not repeat requests by itself ([`client_config`](super::client_config)).
///
/// A pod that the API server refuses to evict is not an error but an entry of
/// [`DrainProgress::blocked`].
///
/// # Errors
/// The workload cluster does not answer.
pub async fn drain(
    client: &Client,
    node: &str,
    unreachable: bool,
    now: Timestamp,
) -> Result<DrainProgress, Error> {
    let (pods, version) = pods_on(client, node).await?;
    let plan = plan(&pods, unreachable, now);
    let grace = unreachable.then_some(UNREACHABLE_GRACE_SECONDS);
    let mut progress = DrainProgress {
        completing: plan.completing,
        skipped: plan.skipped,
        version,
        ..DrainProgress::default()
    };
    for (pod, killed_at) in plan.terminating {
        progress.waiting.push((pod, waits_for(killed_at, now)));
    }
    let mut results = stream::iter(plan.evict)
        .map(async |candidate| (evict(client, &candidate.pod, grace).await, candidate))
        .buffered(CONCURRENCY);
    let mut refused = Vec::new();
    while let Some((result, candidate)) = results.next().await {
        match result? {
            EvictionResult::Yes => progress.evicted.push(candidate.pod),
            EvictionResult::Gone => {}
            EvictionResult::No(message) => refused.push((candidate, message)),
        }
    }
    progress.blocked = with_budgets(client, refused).await;
    Ok(progress)
}

/// The pods that are bound to a node, and the resourceVersion of that list.
pub(super) async fn pods_on(client: &Client, node: &str) -> Result<(Vec<Pod>, String), Error> {
    let of_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let listed = Api::<Pod>::all(client.clone()).list(&of_node).await;
    let pods =
        listed.map_err(|error| Error::new(format!("list the pods of node {node}"), error))?;
    Ok((
        pods.items,
        pods.metadata.resource_version.unwrap_or_default(),
    ))
}

async fn evict(client: &Client, pod: &PodRef, grace: Option<i64>) -> Result<EvictionResult, Error> {
    // not kube's `Api::evict`, which spells `deleteOptions` so that the API server ignores it
    let eviction = Eviction {
        metadata: ObjectMeta {
            name: Some(pod.name.clone()),
            namespace: Some(pod.namespace.clone()),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            grace_period_seconds: grace,
            // not another pod of the same name that a StatefulSet created since
            preconditions: Some(Preconditions {
                uid: Some(pod.uid.clone()),
                ..Preconditions::default()
            }),
            ..DeleteOptions::default()
        }),
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let params = PostParams::default();
    let answer = pods
        .create_subresource::<_, Status>("eviction", &pod.name, &params, &eviction)
        .await;
    match answer {
        Ok(_) => Ok(EvictionResult::Yes),
        Err(error) => match code(&error) {
            Some(404 | 409) => Ok(EvictionResult::Gone),
            Some(_) => Ok(EvictionResult::No(refusal(&error))),
            None => Err(Error::new(format!("evict pod {pod}"), error)),
        },
    }
}

/// The API server's message, with the cause that names the budget and its count.
fn refusal(error: &kube::Error) -> String {
    let mut message = reason(error);
    if let kube::Error::Api(status) = error {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        for cause in causes.filter(|cause| !cause.message.is_empty()) {
            message.push(' ');
            message.push_str(&cause.message);
        }
    }
    message
}

/// Adds the budgets that block the refused pods. If they cannot be read, the API server's message
/// is shown alone.
async fn with_budgets(client: &Client, refused: Vec<(Candidate, String)>) -> Vec<BlockedPod> {
    let namespaces: BTreeSet<_> = refused
        .iter()
        .map(|(c, _)| c.pod.namespace.clone())
        .collect();
    let mut budgets = BTreeMap::new();
    for namespace in namespaces {
        let api: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), &namespace);
        let listed = api.list(&ListParams::default()).await;
        budgets.insert(namespace, listed.map(|list| list.items).unwrap_or_default());
    }
    let blocked = refused.into_iter().map(|(candidate, message)| {
        let of_namespace = budgets.get(&candidate.pod.namespace).into_iter().flatten();
        let holding = of_namespace.filter(|budget| selects(budget, &candidate));
        BlockedPod {
            budgets: holding.map(budget).collect(),
            pod: candidate.pod,
            message,
        }
    });
    blocked.collect()
}

fn selects(budget: &PodDisruptionBudget, candidate: &Candidate) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    // without a selector a budget of policy/v1 selects nothing; with an empty one, everything
    selector
        .and_then(|selector| Selector::try_from(selector).ok())
        .is_some_and(|selector| selector.matches(&candidate.labels))
}

fn budget(budget: &PodDisruptionBudget) -> Budget {
    let allowed = budget
        .status
        .as_ref()
        .and_then(|status| status.disruptions_allowed);
    Budget {
        name: budget.metadata.name.clone().unwrap_or_default(),
        disruptions_allowed: allowed.unwrap_or_default(),
    }
}
