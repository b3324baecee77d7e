//! One pass over the ClusterProfiles of a Cluster, and what is remembered between passes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::jiff::Timestamp;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};

use super::access::{Kept, Told, ask, keep_secret, provider};
use super::execute::execute;
use super::input::{Error, Input, Report};
use super::memory::{Given, Name, Remembered};
use super::observe::{Profiles, profiles};
use super::plan::{ClusterFacts, Observed, plan};
use crate::api::cluster_profile::AccessProvider;
use crate::api::names::{
    ANNOTATION_PAUSED, FINALIZER_PROFILE, LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE,
    LABEL_PROFILE_MANAGER, PROFILE_MANAGER,
};
use crate::api::{Cluster, ClusterProfile};
use crate::workload::health::Verdict;

/// How soon a profile is tried again that was refused: a namespace may be made meanwhile.
const REFUSED_AGAIN: Duration = Duration::from_secs(30);
/// How soon a member is asked again that did not tell, or has no token for consumers yet.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Publishes Clusters. What it remembers saves requests and is no progress: a new one does the same.
pub struct Publisher {
    client: Client,
    memory: Mutex<HashMap<Name, Remembered>>,
}

impl Publisher {
    /// One that writes to this management cluster.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            memory: Mutex::default(),
        }
    }

    /// One pass over the profiles of a Cluster: makes no request when nothing changed since the last
    /// one found nothing to do.
    pub async fn pass(&self, input: &Input, now: Timestamp) -> Result<Report, Error> {
        let cluster = input.cluster.as_ref();
        let name = (cluster.namespace().unwrap_or_default(), cluster.name_any());
        let deleting = cluster.metadata.deletion_timestamp.is_some();
        if cluster.annotations().contains_key(ANNOTATION_PAUSED) {
            return Ok(Report::default());
        }
        let given = Given::of(input);
        let mut remembered = self.memory().get(&name).cloned().unwrap_or_default();
        if deleting {
            self.memory().remove(&name);
        } else if remembered.is_settled(&given, now) {
            return Ok(Report {
                findings: Vec::new(),
                next: remembered.refresh_in(now),
            });
        }
        let told_before = remembered.told.clone();
        let (mut access, mut taken_by) = (None, None);
        if let Some(server) = given.server.as_ref().ok().filter(|_| !deleting) {
            if remembered.is_due(&given, now) {
                self.ask(input, &mut remembered, now).await;
            }
            let token = remembered.told.token.as_ref();
            match keep_secret(&self.client, input, server, token).await? {
                Kept::There => access = Some(provider(cluster, server)),
                Kept::NotYet => {}
                Kept::Taken(by) => taken_by = Some(by),
            }
        }
        let is_told_the_same = access.is_some() && remembered.told.is_same(&told_before);
        if is_told_the_same && remembered.is_settled(&given, now) {
            // The watch has told of no change, so the profiles need not be looked at.
            let next = remembered.refresh_in(now);
            self.memory().insert(name, remembered);
            return Ok(Report {
                findings: Vec::new(),
                next,
            });
        }
        let found = profiles(&self.client, cluster, &input.namespaces).await?;
        remembered.versions.clone_from(&found.versions);
        let mut observed = observed(input, &remembered.told, access, found);
        observed.taken_by = taken_by;
        let plan = plan(&observed, now);
        let idle = plan.actions.is_empty();
        let refused = execute(&self.client, cluster, plan.actions).await?;
        let next = match (&refused, idle) {
            (Some(_), _) => Some(REFUSED_AGAIN),
            // what was done is looked at again, and remembered when nothing is left to do
            (None, false) => Some(Duration::ZERO),
            (None, true) if deleting => plan.next,
            (None, true) if remembered.is_due(&given, now) => Some(ASK_AGAIN),
            (None, true) => remembered.refresh_in(now),
        };
        if !deleting {
            remembered.settled = idle.then_some(given);
            self.memory().insert(name, remembered);
        }
        Ok(Report {
            findings: refused.map_or(plan.findings, |refused| vec![refused]),
            next,
        })
    }

    /// Asks the member anew; what it does not tell now stays as it was told.
    async fn ask(&self, input: &Input, remembered: &mut Remembered, now: Timestamp) {
        let Some(member) = &input.member else { return };
        let told = ask(member, &input.cluster.name_any()).await;
        if told.properties.is_some() && told.token.is_some() {
            remembered.told_at = Some(now);
        }
        if told.properties.is_some() {
            remembered.told = told;
        } else {
            remembered.told.problem = told.problem;
        }
    }

    /// Clusters whose profiles somebody else changed or deleted: to be passed over again. Changes of
    /// our own are left out.
    pub fn changes(self: &Arc<Self>) -> impl Stream<Item = ObjectRef<Cluster>> + Send + 'static {
        let publisher = Arc::clone(self);
        let profiles = Api::<PartialObjectMeta<ClusterProfile>>::all(self.client.clone());
        let ours = format!("{LABEL_PROFILE_MANAGER}={PROFILE_MANAGER}");
        watcher(profiles, watcher::Config::default().labels(&ours))
            .default_backoff()
            .touched_objects()
            .filter_map(move |profile| {
                let changed = profile.ok().and_then(|profile| publisher.changed(&profile));
                futures::future::ready(changed)
            })
    }

    fn changed(&self, profile: &PartialObjectMeta<ClusterProfile>) -> Option<ObjectRef<Cluster>> {
        let label = |key: &str| profile.labels().get(key).cloned();
        let name = (label(LABEL_CLUSTER_NAMESPACE)?, label(LABEL_CLUSTER)?);
        let mut memory = self.memory();
        if let Some(remembered) = memory.get_mut(&name) {
            let namespace = profile.namespace().unwrap_or_default();
            if remembered.versions.get(&namespace) == profile.resource_version().as_ref() {
                return None;
            }
            remembered.settled = None;
        }
        Some(ObjectRef::new(&name.1).within(&name.0))
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<Name, Remembered>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What keeps consumers from getting a way in, for people.
fn waits_for(input: &Input, told: &Told) -> String {
    match &input.server {
        Err(why) => why.clone(),
        Ok(_) if input.member.is_none() => "the manager is not connected to its API yet".into(),
        Ok(_) if input.verdict == Verdict::Unhealthy => input.health.clone(),
        Ok(_) => told.problem.clone().unwrap_or_else(|| {
            "its controller manager has made no token of the account of its consumers yet".into()
        }),
    }
}

fn observed(
    input: &Input,
    told: &Told,
    access: Option<AccessProvider>,
    found: Profiles,
) -> Observed {
    let cluster = input.cluster.as_ref();
    let properties = told.properties.as_ref();
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
        waits_for: waits_for(input, told),
        access,
        taken_by: None,
        verdict: input.verdict,
        health: input.health.clone(),
        version: input.version.clone(),
        properties: properties.map(|properties| properties.values.clone()),
        skipped: properties
            .map(|properties| properties.skipped.clone())
            .unwrap_or_default(),
        served: found.served,
        profiles: found.existing,
    }
}
