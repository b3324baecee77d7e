//! What is remembered of Clusters between passes: it saves requests, and is no progress. A restart looks again.

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
use crate::api::names::{LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE};
use crate::api::{Cluster, ClusterProfile};
use crate::core::cluster::health::Verdict;
use crate::core::cluster_profile::access::ExistingSecret;
use crate::core::cluster_profile::plan::Plan;
use crate::core::cluster_profile::{Input, SecretSeen, Server};
use crate::core::{Next, backoff};

/// How often a workload cluster is asked for its properties again. Profiles are to be written less than once in
/// 30 s (KEP-4322), and properties are no readings.
const REFRESH: SignedDuration = SignedDuration::from_mins(5);
/// How soon a workload cluster is asked again at the earliest that did not tell, or has no token for consumers yet.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Namespace and name of a Cluster.
type Name = (String, String);

/// What is remembered of all Clusters.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<Name, ProfileRecord>>);

/// What was seen and done for a Cluster.
#[derive(Clone, Default)]
pub(super) struct ProfileRecord {
    /// What the last pass was given, if it found nothing left to do.
    pub(super) settled: Option<PublishInput>,
    /// Somebody changed a profile since that pass began.
    is_changed: bool,
    /// UID of the Cluster, and the server, that it is remembered of. Another workload cluster is asked anew: what one told, its token
    /// above all, is never another's.
    workload: Option<(Option<String>, Server)>,
    /// When the workload cluster last told everything.
    told_at: Option<Timestamp>,
    /// How often in a row it did not, and when it was last asked.
    in_vain: u32,
    asked_at: Option<Timestamp>,
    /// What it told.
    pub(super) told: WorkloadAnswer,
    /// Why the account of consumers in it is not as it should be, for people.
    pub(super) account: Option<String>,
    /// The profiles as they were last read or written.
    profiles: Option<Profiles>,
    /// resourceVersions that the watch has told of since, by namespace.
    changed: BTreeMap<String, String>,
    /// The Secret of consumers as it was last read or written.
    secret: Option<Kept>,
}

/// A Secret of consumers as it was read or written.
#[derive(Clone)]
pub(super) struct Kept {
    /// What the watch showed then.
    seen: SecretSeen,
    version: Option<String>,
    /// What there was.
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
    /// A pass begins. Returns what was remembered before it; until it ends well, nothing counts as settled.
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

    /// A pass found nothing left to do.
    fn settle(&self, cluster: &Cluster, given: &PublishInput) {
        self.update(cluster, |remembered| {
            if !remembered.is_changed {
                remembered.settled = Some(given.clone());
            }
        });
    }

    /// Changes what is remembered, and returns it. What was forgotten meanwhile stays so.
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

    /// The Cluster of a profile that somebody else changed or deleted. Changes that a pass has seen are left out.
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

/// A pass over a Cluster ended well with this plan.
pub fn remember(memory: &Memory, seen: &ProfileView, plan: &Plan) {
    if !seen.observed.cluster.deleting && plan.is_settled() {
        memory.settle(&seen.input.cluster, &seen.given);
    }
}

fn name(cluster: &Cluster) -> Name {
    (cluster.namespace().unwrap_or_default(), cluster.name_any())
}

impl ProfileRecord {
    /// Whether it is remembered of another Cluster of that name, or of another server. One that is not known at the moment
    /// is no other.
    fn is_of_another(&self, given: &PublishInput) -> bool {
        self.workload.as_ref().is_some_and(|(uid, server)| {
            *uid != given.uid || given.server.as_ref().is_ok_and(|given| given != server)
        })
    }

    /// Whether nothing was left to do for the same input, and there is nothing to ask.
    pub(super) fn is_settled(&self, given: &PublishInput, now: Timestamp) -> bool {
        self.settled.as_ref() == Some(given) && !self.is_due(given, now)
    }

    /// Whether the workload cluster is to be asked: what it told is old, and it can be expected to answer.
    pub(super) fn is_due(&self, given: &PublishInput, now: Timestamp) -> bool {
        self.is_old(now) && can_answer(given) && self.pause(now).is_zero()
    }

    fn is_old(&self, now: Timestamp) -> bool {
        let age = self.told_at.map(|at| now.duration_since(at));
        age.is_none_or(|age| age >= REFRESH)
    }

    /// What is left of the pause after it did not tell everything.
    fn pause(&self, now: Timestamp) -> Duration {
        backoff::left(self.in_vain, 1.0, self.asked_at, now)
    }

    /// When the workload cluster is asked next.
    pub(super) fn asks(&self, given: &PublishInput, now: Timestamp) -> Next {
        if self.is_old(now) {
            // one that cannot be expected to answer is asked when that changes
            return if can_answer(given) {
                Next::After(self.pause(now).max(ASK_AGAIN))
            } else {
                Next::OnChange
            };
        }
        Next::at(self.told_at.map(|at| at + REFRESH), now)
    }

    /// Takes in what the workload cluster tells now; what it does not tell stays as it was told.
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

    /// Takes in what came of making the account of consumers. Returns whether that is news, which the next pass says.
    pub(super) fn take_account(&mut self, problem: Option<String>) -> bool {
        let is_news = self.account != problem;
        self.account = problem;
        if is_news {
            self.settled = None;
            self.is_changed = true;
        }
        is_news
    }

    /// What keeps the profile from being up to date, for people.
    pub(super) fn problem(&self) -> Option<&String> {
        self.told.problem.as_ref().or(self.account.as_ref())
    }

    /// Whether the management cluster knew ClusterProfiles when they were last looked at.
    pub(super) fn served(&self) -> bool {
        self.profiles
            .as_ref()
            .is_some_and(|profiles| profiles.served)
    }

    /// Whether a profile was read or written as it has this resourceVersion, or later.
    fn knows(&self, namespace: &str, version: &str) -> bool {
        let profiles = self.profiles.as_ref();
        let known = profiles.and_then(|profiles| profiles.versions.get(namespace));
        known.is_some_and(|known| !is_newer(version, known))
    }

    /// The profiles as they were last read or written, unless the watch has told of a later change.
    pub(super) fn profiles(&self) -> Option<&Profiles> {
        let mut changed = self.changed.iter();
        let holds = changed.all(|(namespace, version)| self.knows(namespace, version));
        self.profiles.as_ref().filter(|_| holds)
    }

    /// Takes in which profiles there are, read after the watch had told what was remembered `before`.
    pub(super) fn see(&mut self, profiles: &Profiles, before: &Self) {
        self.profiles = Some(profiles.clone());
        self.changed
            .retain(|namespace, version| before.changed.get(namespace) != Some(version));
    }

    /// Takes in a profile that we wrote: no change of another's.
    pub(super) fn wrote(&mut self, cluster: &Cluster, profile: &ClusterProfile) {
        if let Some(profiles) = &mut self.profiles {
            profiles.take(cluster, profile);
        }
    }

    /// A profile was deleted: which are there is to be read.
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

    /// Takes in that Secret, read or written when the watch showed this, with its resourceVersion. Where nobody watches,
    /// nothing is kept.
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

/// Whether a resourceVersion is newer than another: they are numbers in the order of writes (KEP-5504). Where they are not,
/// any other is.
fn is_newer(version: &str, known: &str) -> bool {
    match (version.parse::<u128>(), known.parse::<u128>()) {
        (Ok(version), Ok(known)) => version > known,
        _ => version != known,
    }
}

/// Whether a workload cluster can be expected to answer.
fn can_answer(given: &PublishInput) -> bool {
    given.is_connected && given.server.is_ok() && given.verdict != Verdict::Unhealthy
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
