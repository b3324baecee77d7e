//! The last Events of an object.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;

use crate::cli::caller::Caller;

/// Number of Events that are shown.
const SHOWN: usize = 10;

/// One Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When it last occurred.
    pub last: Timestamp,
    /// How often it occurred.
    pub times: i32,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// Reason of the Event.
    pub reason: String,
    /// Message of the Event.
    pub message: String,
}

/// The last Events of the object with this UID, oldest first. Empty if the caller may not read
/// Events: the conditions have the same information.
pub async fn events(caller: &Caller, uid: &str) -> Vec<Occurrence> {
    let api: Api<Event> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let of_object = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
    let list = api.list(&of_object).await;
    last(list.map(|list| list.items).unwrap_or_default())
}

fn last(events: Vec<Event>) -> Vec<Occurrence> {
    let mut all: Vec<Occurrence> = events.into_iter().filter_map(happened).collect();
    all.sort_by_key(|event| event.last);
    let old = all.len().saturating_sub(SHOWN);
    all.split_off(old)
}

/// Reads either form of an Event (core/v1, events.k8s.io/v1): times and counts are in different
/// fields.
fn happened(event: Event) -> Option<Occurrence> {
    let series = event.series.unwrap_or_default();
    let last = series.last_observed_time.or(event.event_time);
    let last = last.map(|time| time.0);
    let last = last.or(event.last_timestamp.map(|time| time.0));
    Some(Occurrence {
        last: last.or(event.metadata.creation_timestamp.map(|time| time.0))?,
        times: series.count.or(event.count).unwrap_or(1),
        is_warning: event.type_.as_deref() == Some("Warning"),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(mut fields: Value) -> Event {
        fields["involvedObject"] = json!({});
        fields["metadata"] = json!({});
        serde_json::from_value(fields).expect("an Event")
    }

    #[test]
    fn the_last_ones_are_kept_whatever_form_they_were_written_in() {
        let old = json!({"lastTimestamp": "2026-11-21T11:00:00Z", "count": 3, "type": "Warning", "reason": "Old"});
        let new = json!({"eventTime": "2026-11-21T10:00:00.000000Z", "reason": "New",
            "series": {"count": 7, "lastObservedTime": "2026-11-21T12:00:00.000000Z"}});
        let timeless = json!({"reason": "None"});
        let found = last(vec![event(new), event(timeless), event(old)]);
        let found: Vec<_> = found
            .iter()
            .map(|event| (event.reason.as_str(), event.times, event.is_warning))
            .collect();
        assert_eq!(found, [("Old", 3, true), ("New", 7, false)]);

        let many = (0..30).map(|minute| {
            event(
                json!({"eventTime": format!("2026-11-21T10:{minute:02}:00.000000Z"),
                "reason": minute.to_string()}),
            )
        });
        let found = last(many.collect());
        assert_eq!((found.len(), found[9].reason.as_str()), (SHOWN, "29"));
    }
}
