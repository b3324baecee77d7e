//! Events on objects.

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource, ResourceExt};

use crate::api::conditions::{Finding, Severity};
use crate::api::names::FIELD_MANAGER;
use crate::workload::error::reason;

/// Publishes Events, each as an object of its own: kube's recorder would count a second one of the same reason as a
/// repetition of the first and keep the first message.
pub struct Events(Client);

impl Events {
    /// A publisher of the manager's Events.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// Publishes an Event on an object for a finding that is new and has a message. A failure is logged and not
    /// retried.
    pub async fn publish<K: Resource<DynamicType = ()>>(&self, object: &K, finding: &Finding) {
        if !finding.message.is_empty() {
            let name = ObjectMeta {
                generate_name: Some(format!("{}-", object.name_any())),
                ..ObjectMeta::default()
            };
            self.write(object, finding, name).await;
        }
    }

    /// Publishes the only Event of this generation of an object: its name contains the generation, so that a second one
    /// is refused. Returns whether the Event exists.
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
        self.write(object, finding, name).await
    }

    async fn write<K>(&self, object: &K, finding: &Finding, name: ObjectMeta) -> bool
    where
        K: Resource<DynamicType = ()>,
    {
        let namespace = object.namespace().unwrap_or_default();
        let type_ = match finding.reason.severity() {
            Severity::Warning => "Warning",
            Severity::Normal => "Normal",
        };
        let event = Event {
            metadata: ObjectMeta {
                namespace: Some(namespace.clone()),
                ..name
            },
            type_: Some(type_.into()),
            reason: Some(finding.reason.as_str().into()),
            note: Some(note(object, finding)),
            action: Some(finding.condition.as_str().into()),
            regarding: Some(object.object_ref(&())),
            event_time: Some(MicroTime(crate::clock::now())),
            reporting_controller: Some(FIELD_MANAGER.into()),
            reporting_instance: Some(FIELD_MANAGER.into()),
            ..Event::default()
        };
        let events: Api<Event> = Api::namespaced(self.0.clone(), &namespace);
        match events.create(&PostParams::default(), &event).await {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 409 => true,
            Err(error) => {
                if !is_refused_by_an_end(&error) {
                    tracing::warn!(error = %reason(&error), object = %object.name_any(), reason = %finding.reason, "failed to publish an Event");
                }
                false
            }
        }
    }
}

/// Limit of an Event's note in the API server, in bytes.
const NOTE_LIMIT: usize = 1024;

/// The message, or its first whole sentences: a command that is cut in the middle could be pasted.
fn note<K: Resource<DynamicType = ()>>(object: &K, finding: &Finding) -> String {
    let message = &finding.message;
    if message.len() <= NOTE_LIMIT {
        return message.clone();
    }
    let rest = format!(
        " ... (full message: kubectl -n {} describe {} {})",
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
        let rest = " ... (full message: kubectl -n n describe machine m)";
        let command = format!("The cause. {}", "kubectl -n n delete x ".repeat(60));
        assert_eq!(note(command), format!("The cause.{rest}"));
        let words = note("word ".repeat(400));
        assert!(words.ends_with(&format!("word{rest}")) && words.len() <= 1024);
        let wide = note("ä".repeat(1000));
        assert!(wide.ends_with(rest) && wide.len() <= 1024, "{}", wide.len());
    }
}
