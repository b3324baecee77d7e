//! Events on objects.

use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource, ResourceExt};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::workload::error::reason;
use tatara_core::api::conditions::{Finding, Severity};
use tatara_core::api::names::FIELD_MANAGER;
use tatara_core::remedy;

/// Publishes Events, each as an object of its own: kube's recorder would count a second one of the
/// same reason as a repetition of the first and keep the first message.
pub struct Events {
    client: Client,
    /// Events that are being written.
    writes: TaskTracker,
    /// One for each that may be written at the same time.
    permits: Arc<Semaphore>,
}

/// Limit of Events that are written at the same time.
const AT_ONCE: usize = 8;

impl Events {
    /// A publisher of the manager's Events.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            writes: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Publishes an Event as [`Self::publish`] does, with the time of this call, and does not wait
    /// for the answer: nothing depends on it.
    pub fn publish_later<K: Resource<DynamicType = ()>>(&self, object: &K, finding: &Finding) {
        if finding.message().is_empty() {
            return;
        }
        let event = event(object, finding, generated(object));
        let (client, permits) = (self.client.clone(), self.permits.clone());
        self.writes.spawn(async move {
            let Ok(_permit) = permits.acquire().await else {
                return;
            };
            write(client, event).await;
        });
    }

    /// Waits until the Events that were published are written.
    pub async fn written(&self) {
        self.writes.close();
        self.writes.wait().await;
    }

    /// Publishes an Event on an object for a finding that is new and has a message. A failure is
    /// logged and not retried.
    pub async fn publish<K: Resource<DynamicType = ()>>(&self, object: &K, finding: &Finding) {
        if !finding.message().is_empty() {
            let event = event(object, finding, generated(object));
            write(self.client.clone(), event).await;
        }
    }

    /// Publishes the only Event of this generation of an object: its name contains the generation,
    /// so that a second one is refused. Returns whether the Event exists.
    pub async fn publish_once<K>(&self, object: &K, finding: &Finding) -> bool
    where
        K: Resource<DynamicType = ()>,
    {
        let uid = object.uid().unwrap_or_default();
        let generation = object.meta().generation.unwrap_or_default();
        let name = ObjectMeta {
            name: Some(format!("tatara-{uid}-{generation}")),
            ..ObjectMeta::default()
        };
        write(self.client.clone(), event(object, finding, name)).await
    }
}

fn generated<K: Resource<DynamicType = ()>>(object: &K) -> ObjectMeta {
    ObjectMeta {
        generate_name: Some(format!("{}-", object.name_any())),
        ..ObjectMeta::default()
    }
}

fn event<K: Resource<DynamicType = ()>>(object: &K, finding: &Finding, name: ObjectMeta) -> Event {
    let type_ = match finding.reason().severity() {
        Severity::Warning => "Warning",
        Severity::Normal => "Normal",
    };
    Event {
        metadata: ObjectMeta {
            namespace: object.namespace(),
            ..name
        },
        type_: Some(type_.into()),
        reason: Some(finding.reason().as_str().into()),
        note: Some(note(object, finding)),
        action: Some(finding.condition.as_str().into()),
        regarding: Some(object.object_ref(&())),
        event_time: Some(MicroTime(crate::clock::now())),
        reporting_controller: Some(FIELD_MANAGER.into()),
        reporting_instance: Some(FIELD_MANAGER.into()),
        ..Event::default()
    }
}

/// Returns whether the Event exists.
async fn write(client: Client, event: Event) -> bool {
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let events: Api<Event> = Api::namespaced(client, namespace);
    match events.create(&PostParams::default(), &event).await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.code == 409 => true,
        Err(error) => {
            if !is_refused_by_an_end(&error) {
                let object = event.regarding.and_then(|object| object.name);
                tracing::warn!(error = %reason(&error), object, reason = event.reason, "failed to publish an Event");
            }
            false
        }
    }
}

/// Limit of an Event's note in the API server, in bytes.
const NOTE_LIMIT: usize = 1024;

/// The message, or its first whole sentences: a command that is cut in the middle could be pasted.
fn note<K: Resource<DynamicType = ()>>(object: &K, finding: &Finding) -> String {
    let message = &finding.message();
    if message.len() <= NOTE_LIMIT {
        return message.clone();
    }
    let rest = format!(
        " ... (full message: {})",
        remedy::conditions(
            &K::kind(&()).to_lowercase(),
            &object.namespace().unwrap_or_default(),
            &object.name_any()
        )
    );
    let room = message.floor_char_boundary(NOTE_LIMIT.saturating_sub(rest.len()));
    let head = &message[..room];
    let end = head.rfind(". ").map(|at| at + 1);
    let end = end.or_else(|| head.rfind(char::is_whitespace));
    format!("{}{rest}", &head[..end.unwrap_or(room)])
}

/// Whether the namespace is being deleted: it accepts no new objects.
fn is_refused_by_an_end(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatara_core::api::conditions::{ConditionType, Reason};
    use tatara_core::api::{Machine, MachineSpec};

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
        let rest = " ... (full message: kubectl -n n describe machine m)";
        let command = format!("The cause. {}", "kubectl -n n delete x ".repeat(60));
        assert_eq!(note(command), format!("The cause.{rest}"));
        let words = note("word ".repeat(400));
        assert!(words.ends_with(&format!("word{rest}")) && words.len() <= 1024);
        let wide = note("ä".repeat(1000));
        assert!(wide.ends_with(rest) && wide.len() <= 1024, "{}", wide.len());
    }
}
