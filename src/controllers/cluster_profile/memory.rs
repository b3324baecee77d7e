//! Memory of Clusters between passes. It saves requests and is no progress: a restart rebuilds it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;

use super::observe::ProfileView;
use super::profiles::Profiles;
use super::workload::WorkloadAnswer;
use tatara_core::api::names::{LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE};
use tatara_core::api::{Cluster, ClusterProfile};
use tatara_core::cluster_profile::access::ExistingSecret;
use tatara_core::cluster_profile::plan::Plan;
use tatara_core::cluster_profile::{Input, SecretSeen, Server};
use tatara_core::control_plane::health::Verdict;
use tatara_core::{Next, backoff};

/// How often a workload cluster is queried for its properties. Profiles are to be written less than
/// once in 30 s (KEP-4322), and properties are no metrics.
const REFRESH: SignedDuration = SignedDuration::from_mins(5);
/// Shortest interval between queries of a workload cluster whose query failed, or that has no token
/// for consumers yet.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Namespace and name of a Cluster.
type Name = (String, String);

/// The memory of all Clusters.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<Name, ProfileRecord>>);

/// The memory of a Cluster.
#[derive(Clone, Default)]
pub(super) struct ProfileRecord {
    /// The input of the last pass, if it had no action.
    pub(super) settled: Option<PublishInput>,
    /// A profile was changed by another client since that pass began.
    is_changed: bool,
    /// UID of the Cluster and its server that this memory is about. Another workload cluster is
    /// queried again: the answers of one, above all its token, must never be used for another.
    workload: Option<(Option<String>, Server)>,
    /// When the workload cluster last answered completely.
    told_at: Option<Timestamp>,
    /// How often in a row it did not, and the time of the last query.
    in_vain: u32,
    asked_at: Option<Timestamp>,
    /// Its last answer.
    pub(super) told: WorkloadAnswer,
    /// Why its `ServiceAccount` for consumers is not as specified, for messages.
    pub(super) account: Option<String>,
    /// The profiles as they were last read or written.
    profiles: Option<Profiles>,
    /// resourceVersions that the watch has shown since, by namespace.
    changed: BTreeMap<String, String>,
    /// The Secret of consumers as it was last read or written.
    secret: Option<Kept>,
}

/// A Secret of consumers as it was read or written.
#[derive(Clone)]
pub(super) struct Kept {
    /// The state in the watch at that time.
    seen: SecretSeen,
    version: Option<String>,
    /// The Secret, if it existed.
    pub(super) found: Option<ExistingSecret>,
}

/// The part of the input that decides what is published.
#[derive(Clone, PartialEq)]
pub(super) struct PublishInput {
    uid: Option<String>,
    labels: BTreeMap<String, String>,
    namespaces: Vec<String>,
    forbidden: Vec<String>,
    server: Result<Server, String>,
    verdict: Verdict,
    version: Option<String>,
    secret: Option<SecretSeen>,
    is_connected: bool,
}

impl PublishInput {
    pub(super) fn of(input: &Input) -> Self {
        Self {
            uid: input.cluster.uid(),
            labels: input.cluster.labels().clone(),
            namespaces: input.namespaces.clone(),
            forbidden: input.forbidden.clone(),
            server: input.server.clone(),
            verdict: input.verdict,
            version: input.version.clone(),
            secret: input.secret.clone(),
            is_connected: input.is_connected,
        }
    }
}

impl Memory {
    /// Begins a pass, and returns the memory from before. Until the pass succeeds, nothing counts
    /// as settled.
    pub(super) fn begin(
        &self,
        cluster: &Cluster,
        given: &PublishInput,
        now: Timestamp,
    ) -> ProfileRecord {
        let mut all = self.all();
        let remembered = all.entry(name(cluster)).or_default();
        if remembered.is_of_another(given) {
            *remembered = ProfileRecord::default();
        }
        if let Ok(server) = &given.server {
            remembered.workload = Some((given.uid.clone(), server.clone()));
        }
        let before = remembered.clone();
        if !before.is_settled(given, now) {
            remembered.settled = None;
            remembered.is_changed = false;
        }
        before
    }

    /// Records that a pass had no action.
    fn settle(&self, cluster: &Cluster, given: &PublishInput) {
        self.update(cluster, |remembered| {
            if !remembered.is_changed {
                remembered.settled = Some(given.clone());
            }
        });
    }

    /// Changes the memory of a Cluster, and returns it. A forgotten Cluster stays forgotten.
    pub(super) fn update(
        &self,
        cluster: &Cluster,
        change: impl FnOnce(&mut ProfileRecord),
    ) -> ProfileRecord {
        let mut forgotten = ProfileRecord::default();
        let mut all = self.all();
        let remembered = all.get_mut(&name(cluster)).unwrap_or(&mut forgotten);
        change(remembered);
        remembered.clone()
    }

    /// Forgets a Cluster.
    pub fn forget(&self, cluster: &Cluster) {
        self.all().remove(&name(cluster));
    }

    /// The Cluster of a profile that another client changed or deleted. Changes known to a pass are
    /// omitted.
    pub fn changed(
        &self,
        profile: &PartialObjectMeta<ClusterProfile>,
    ) -> Option<ObjectRef<Cluster>> {
        let label = |key: &str| profile.labels().get(key).cloned();
        let name = (label(LABEL_CLUSTER_NAMESPACE)?, label(LABEL_CLUSTER)?);
        if let Some(remembered) = self.all().get_mut(&name) {
            let namespace = profile.namespace().unwrap_or_default();
            let version = profile.resource_version().unwrap_or_default();
            if remembered.knows(&namespace, &version) {
                return None;
            }
            remembered.changed.insert(namespace, version);
            remembered.settled = None;
            remembered.is_changed = true;
        }
        Some(ObjectRef::new(&name.1).within(&name.0))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Name, ProfileRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records that a pass over a Cluster succeeded with this plan.
pub fn remember(memory: &Memory, seen: &ProfileView, plan: &Plan) {
    if !seen.observed.cluster.deleting && plan.is_settled() {
        memory.settle(&seen.input.cluster, &seen.given);
    }
}

fn name(cluster: &Cluster) -> Name {
    (cluster.namespace().unwrap_or_default(), cluster.name_any())
}

impl ProfileRecord {
    /// Whether this memory is about another Cluster of that name, or another server. A server that
    /// is unknown at the moment does not count as another.
    fn is_of_another(&self, given: &PublishInput) -> bool {
        self.workload.as_ref().is_some_and(|(uid, server)| {
            *uid != given.uid || given.server.as_ref().is_ok_and(|given| given != server)
        })
    }

    /// Whether the same input led to no action, and no query is due.
    pub(super) fn is_settled(&self, given: &PublishInput, now: Timestamp) -> bool {
        self.settled.as_ref() == Some(given) && !self.is_due(given, now)
    }

    /// Whether to query the workload cluster: its last answer is old, and it can be expected to
    /// respond.
    pub(super) fn is_due(&self, given: &PublishInput, now: Timestamp) -> bool {
        self.is_old(now) && can_answer(given) && self.pause(now).is_zero()
    }

    fn is_old(&self, now: Timestamp) -> bool {
        let age = self.told_at.map(|at| now.duration_since(at));
        age.is_none_or(|age| age >= REFRESH)
    }

    /// The remaining back-off after incomplete answers.
    fn pause(&self, now: Timestamp) -> Duration {
        backoff::left(self.in_vain, 1.0, self.asked_at, now)
    }

    /// When the workload cluster is queried next.
    pub(super) fn asks(&self, given: &PublishInput, now: Timestamp) -> Next {
        if self.is_old(now) {
            // a cluster that is not expected to respond is queried when that changes
            return if can_answer(given) {
                Next::After(self.pause(now).max(ASK_AGAIN))
            } else {
                Next::OnChange
            };
        }
        Next::at(self.told_at.map(|at| at + REFRESH), now)
    }

    /// Records an answer of the workload cluster; missing parts keep their last value.
    pub(super) fn take(&mut self, told: WorkloadAnswer, now: Timestamp) {
        self.asked_at = Some(now);
        if told.properties.is_some() && told.token.is_some() {
            self.told_at = Some(now);
            self.in_vain = 0;
        } else {
            self.in_vain += 1;
        }
        if told.properties.is_some() {
            self.told = told;
        } else {
            self.told.problem = told.problem;
        }
    }

    /// Records the result of creating the `ServiceAccount` for consumers. Returns whether it
    /// changed, which the next pass reports.
    pub(super) fn take_account(&mut self, problem: Option<String>) -> bool {
        let is_news = self.account != problem;
        self.account = problem;
        if is_news {
            self.settled = None;
            self.is_changed = true;
        }
        is_news
    }

    /// Why the profile is not up to date, for messages.
    pub(super) fn problem(&self) -> Option<&String> {
        self.told.problem.as_ref().or(self.account.as_ref())
    }

    /// Whether the management cluster served ClusterProfiles at the last list.
    pub(super) fn served(&self) -> bool {
        self.profiles
            .as_ref()
            .is_some_and(|profiles| profiles.served)
    }

    /// Whether a profile was read or written at this resourceVersion or a later one.
    fn knows(&self, namespace: &str, version: &str) -> bool {
        let profiles = self.profiles.as_ref();
        let known = profiles.and_then(|profiles| profiles.versions.get(namespace));
        known.is_some_and(|known| !is_newer(version, known))
    }

    /// The profiles as they were last read or written, unless the watch has shown a later change.
    pub(super) fn profiles(&self) -> Option<&Profiles> {
        let mut changed = self.changed.iter();
        let holds = changed.all(|(namespace, version)| self.knows(namespace, version));
        self.profiles.as_ref().filter(|_| holds)
    }

    /// Records listed profiles. The list was read after the watch events that are in `before`.
    pub(super) fn see(&mut self, profiles: &Profiles, before: &Self) {
        self.profiles = Some(profiles.clone());
        self.changed
            .retain(|namespace, version| before.changed.get(namespace) != Some(version));
    }

    /// Records a profile that we wrote, so that its watch event is not a change by another client.
    pub(super) fn wrote(&mut self, cluster: &Cluster, profile: &ClusterProfile) {
        if let Some(profiles) = &mut self.profiles {
            profiles.take(cluster, profile);
        }
    }

    /// Records the deletion of a profile: the next pass lists them.
    pub(super) fn withdrew(&mut self) {
        self.profiles = None;
    }

    /// The Secret of consumers as it was last read or written, unless the watch shows another.
    pub(super) fn secret(&self, seen: Option<&SecretSeen>) -> Option<&Kept> {
        let (kept, seen) = (self.secret.as_ref()?, seen?);
        let holds = match seen {
            SecretSeen::Untold => true,
            SecretSeen::At(version) if kept.version.as_ref() == Some(version) => true,
            _ => kept.seen == *seen,
        };
        holds.then_some(kept)
    }

    /// Records that Secret with its resourceVersion, read or written when the watch showed `seen`.
    /// Without a watch nothing is recorded.
    pub(super) fn keep(
        &mut self,
        seen: Option<&SecretSeen>,
        secret: Option<(String, ExistingSecret)>,
    ) {
        let (version, found) = secret.unzip();
        self.secret = seen.cloned().map(|seen| Kept {
            seen,
            version,
            found,
        });
    }
}

/// Whether a resourceVersion is newer than another: they are numbers in the order of writes
/// (KEP-5504). If they are not numbers, any other version counts as newer.
fn is_newer(version: &str, known: &str) -> bool {
    match (version.parse::<u128>(), known.parse::<u128>()) {
        (Ok(version), Ok(known)) => version > known,
        _ => version != known,
    }
}

/// Whether a workload cluster can be expected to respond.
fn can_answer(given: &PublishInput) -> bool {
    given.is_connected && given.server.is_ok() && given.verdict != Verdict::Unhealthy
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
