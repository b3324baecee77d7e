//! What all reconciles share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::events::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Api, Client, Resource, ResourceExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::leader::Leadership;
use super::metrics::Metrics;
use crate::api::Cluster;
use crate::api::conditions::{Finding, Severity};
use crate::api::names::FIELD_MANAGER;
use crate::controllers::cluster::{KnownClusters, Sources};
use crate::controllers::cluster_profile::Publisher;
use crate::controllers::machine::{Outcomes, PendingClaim};
use crate::controllers::machine_set::InFlight;
use crate::controllers::whose::Regarded;
use crate::controllers::{Failures, ReconcileError};
use crate::gateway;
use crate::media::Media;
use crate::provider::libvirt::{Reservations, Tries};
use crate::provider::{Bmcs, Follows, Hosts, Simulated};
use crate::store::{Stores, Wakers};
use crate::workload::drain_watch::DrainWatches;
use crate::workload::error::reason;
use crate::workload::{Member, MemberKey, Registry};

/// What all reconciles share.
pub struct Context {
    /// Client of the management cluster.
    pub client: Client,
    /// When this process began to lead.
    pub started: Timestamp,
    /// What is watched there.
    pub stores: Arc<Stores>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// Hosts over SSH.
    pub hosts: Arc<Hosts>,
    /// Their BMCs.
    pub bmcs: Bmcs,
    /// Installers for BMCs, where the manager serves any.
    pub media: Option<Arc<Media>>,
    /// What came of what Machines wanted.
    pub outcomes: Outcomes,
    /// Units of steps that are followed.
    pub follows: Follows,
    /// Gateways of hypervisors.
    pub gateways: Arc<gateway::Registry>,
    /// Room on hypervisors that was given away and may not be in the store yet.
    pub reservations: Reservations,
    /// What was tried in vain at hypervisors.
    pub tries: Tries,
    /// Machines in memory.
    pub simulated: Simulated,
    /// The clusters that we made.
    pub members: Arc<Registry>,
    /// Publishes ClusterProfiles.
    pub publisher: Arc<Publisher>,
    /// What was found out about clusters.
    pub known: KnownClusters,
    /// Nodes that are being drained.
    pub drains: DrainWatches,
    /// Watches what addons are read from.
    pub sources: Sources,
    /// Watches the Secrets of Clusters.
    pub secrets: Sources,
    /// Claims that were made and may not be in the store yet, by UID of the Machine.
    pub claims: Mutex<HashMap<String, PendingClaim>>,
    /// Machines that were made or deleted and that the store may not show so yet.
    pub in_flight: Mutex<InFlight>,
    /// Bootstrap tokens that were made: UID of the Machine to name of the Secret in its cluster.
    pub tokens: Mutex<HashMap<String, String>>,
    /// Whether this process leads.
    pub leadership: Leadership,
    /// Writes Events.
    pub recorder: Recorder,
    /// Counts.
    pub metrics: Metrics,
    /// What was said of objects that cannot be read.
    pub unreadable: crate::controllers::unreadable::Said,
    /// What was done about objects that are not ours.
    pub regarded: Regarded,
    /// Failures in a row.
    pub failures: Failures,
    /// UID of the management cluster: of its namespace kube-system.
    pub management: String,
    /// Namespaces beside a Cluster's own in which ClusterProfiles may be published.
    pub profile_namespaces: Vec<String>,
    /// Background work; waited for at the end.
    pub tasks: TaskTracker,
    /// Ends background work.
    pub stop: CancellationToken,
}

impl Context {
    /// The member cluster of a Cluster, once it is connected.
    pub fn member(&self, cluster: &Cluster) -> Option<Arc<Member>> {
        self.members.get(&member_key(cluster))
    }

    /// Refuses to go on when another process may lead.
    pub fn must_lead(&self) -> Result<(), ReconcileError> {
        if self.leadership.is_held() {
            Ok(())
        } else {
            Err(ReconcileError::NotLeading)
        }
    }

    /// Forgets what is remembered of a Machine that is gone.
    pub fn forget_machine(&self, uid: &str) {
        self.metrics.gone(uid);
        self.follows.forget(uid);
        self.outcomes.forget(uid);
        self.reservations.forget(uid);
        self.tries.forget(uid);
        self.hosts.sightings.forget_ended(uid);
        let claims = self.claims.lock();
        claims.unwrap_or_else(PoisonError::into_inner).remove(uid);
        let tokens = self.tokens.lock();
        tokens.unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Writes an Event on an object for a finding that is news and has something to say. A failure to do so is logged: an
    /// Event is worth no retry.
    pub async fn event<K: Resource<DynamicType = ()>>(&self, object: &K, finding: &Finding) {
        if finding.message.is_empty() {
            return;
        }
        let event = Event {
            type_: match finding.reason.severity() {
                Severity::Warning => EventType::Warning,
                Severity::Normal => EventType::Normal,
            },
            reason: finding.reason.as_str().into(),
            note: Some(note(object, finding)),
            action: finding.condition.as_str().into(),
            secondary: None,
        };
        let published = self.recorder.publish(&event, &object.object_ref(&())).await;
        failed(object, finding, published);
    }

    /// Writes a warning as the one Event on this generation of an object: its name says so, and a second one is refused.
    pub async fn event_once<K: Resource<DynamicType = ()>>(&self, object: &K, finding: &Finding) {
        let namespace = object.namespace().unwrap_or_default();
        let uid = object.uid().unwrap_or_default();
        let generation = object.meta().generation.unwrap_or_default();
        let event = v1::Event {
            metadata: ObjectMeta {
                name: Some(format!("tatara-{uid}-{generation}")),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            type_: Some("Warning".into()),
            reason: Some(finding.reason.as_str().into()),
            note: Some(note(object, finding)),
            action: Some(finding.condition.as_str().into()),
            regarding: Some(object.object_ref(&())),
            event_time: Some(MicroTime(crate::clock::now())),
            reporting_controller: Some(FIELD_MANAGER.into()),
            reporting_instance: Some(FIELD_MANAGER.into()),
            ..v1::Event::default()
        };
        let events: Api<v1::Event> = Api::namespaced(self.client.clone(), &namespace);
        match events.create(&PostParams::default(), &event).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            result => failed(object, finding, result.map(drop)),
        }
    }
}

/// How many bytes the API server takes as the note of an Event.
const NOTE_LIMIT: usize = 1024;

/// The message, or its first sentences: what was cut in the middle of a command could be pasted.
fn note<K: Resource<DynamicType = ()>>(object: &K, finding: &Finding) -> String {
    let message = &finding.message;
    if message.len() <= NOTE_LIMIT {
        return message.clone();
    }
    let rest = format!(
        " ... (whole text: kubectl -n {} describe {} {})",
        object.namespace().unwrap_or_default(),
        K::kind(&()).to_lowercase(),
        object.name_any()
    );
    let room = message.floor_char_boundary(NOTE_LIMIT.saturating_sub(rest.len()));
    let head = &message[..room];
    let end = head.rfind(". ").map(|at| at + 1);
    let end = end.or_else(|| head.rfind(char::is_whitespace));
    format!("{}{rest}", &head[..end.unwrap_or(room)])
}

fn failed<K: Resource<DynamicType = ()>>(
    object: &K,
    finding: &Finding,
    written: Result<(), kube::Error>,
) {
    if let Err(error) = written
        && !is_refused_by_an_end(&error)
    {
        tracing::warn!(error = %reason(&error), object = %object.name_any(), reason = %finding.reason, "failed to write an Event");
    }
}

/// A namespace that is being deleted takes nothing new, and nobody will read its Events.
fn is_refused_by_an_end(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}

/// Key of a Cluster's member.
pub fn member_key(cluster: &Cluster) -> MemberKey {
    MemberKey {
        namespace: cluster.namespace().unwrap_or_default(),
        name: cluster.name_any(),
        uid: cluster.uid().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::{ConditionType, Reason};
    use crate::api::{Machine, MachineSpec};

    #[test]
    fn a_note_that_is_too_long_ends_with_a_sentence_and_says_where_the_rest_is() {
        let mut machine = Machine::new("m", MachineSpec::default());
        machine.metadata.namespace = Some("n".into());
        let note = |message: String| {
            note(
                &machine,
                &Finding::no(ConditionType::Ready, Reason::Starting, message),
            )
        };
        let exact = "x".repeat(1024);
        assert_eq!(note(exact.clone()), exact);
        let rest = " ... (whole text: kubectl -n n describe machine m)";
        let command = format!("The cause. {}", "kubectl -n n delete x ".repeat(60));
        assert_eq!(note(command), format!("The cause.{rest}"));
        let words = note("word ".repeat(400));
        assert!(words.ends_with(&format!("word{rest}")) && words.len() <= 1024);
        let wide = note("ä".repeat(1000));
        assert!(wide.ends_with(rest) && wide.len() <= 1024, "{}", wide.len());
    }
}
