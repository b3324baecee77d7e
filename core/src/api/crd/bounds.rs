//! Bounds on everything that a schema lets through. What is stored has to be read again: a number that does not
//! fit its type, or a text without end, would make the object unreadable for us.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

/// Longest text where a field says nothing closer, in characters: that of a condition's message.
const TEXT: u32 = 32_768;
/// Longest list where a field says nothing closer.
const ITEMS: u16 = 1024;
/// Most entries of a map where a field says nothing closer.
const ENTRIES: u16 = 256;
/// Largest number of 64 bits where a field says nothing closer: JSON's numbers are exact up to here.
pub const WIDE: i64 = 1 << 53;
/// RFC 3339, as the types read it, which end in the year 9999. The API server's `date-time` also takes what has no offset.
const TIME: &str = "^[0-8][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// Bounds every field of a definition that has no bounds of its own, but for those that the API server owns.
pub fn bound(crd: &mut CustomResourceDefinition) {
    for version in &mut crd.spec.versions {
        let root = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        for (name, field) in root
            .into_iter()
            .flat_map(|root| &mut root.properties)
            .flatten()
        {
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                schema(field);
            }
        }
    }
}

fn schema(node: &mut JSONSchemaProps) {
    match node.type_.as_deref() {
        Some("integer" | "number") => number(node),
        Some("string") => text(node),
        Some("array") => {
            node.max_items.get_or_insert(i64::from(ITEMS));
        }
        _ => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut node.additional_properties {
        node.max_properties.get_or_insert(i64::from(ENTRIES));
        schema(values);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut node.items {
        schema(items);
    }
    node.properties
        .iter_mut()
        .flatten()
        .for_each(|(_, field)| schema(field));
}

#[allow(clippy::cast_precision_loss)] // exact up to WIDE
fn number(node: &mut JSONSchemaProps) {
    let (low, high) = match node.format.as_deref() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (-WIDE, WIDE),
    };
    node.minimum.get_or_insert(low as f64);
    node.maximum.get_or_insert(high as f64);
}

fn text(node: &mut JSONSchemaProps) {
    match node.format.as_deref() {
        Some("date-time") => {
            node.pattern.get_or_insert(TIME.into());
            node.max_length.get_or_insert(64);
        }
        _ if node.enum_.is_some() => {}
        _ => {
            node.max_length.get_or_insert(i64::from(TEXT));
        }
    }
}

/// Most bytes of a status that is written. etcd takes no object of more than 1.5 MiB, and the rest of it is the user's.
const WHOLE: usize = 512 << 10;
/// Longest texts and lists while a status has more than that: each is tried after the one before it.
const CLOSER: [(u32, u16); 3] = [(4096, 256), (1024, 64), (256, 64)];

/// Cuts a status to what the bounds above let through, and closer while it is too large as a whole: what a host, a BMC or
/// another API server answered must never make a write of ours fail.
pub fn clip(status: &mut Value) {
    cut(status, TEXT, ITEMS);
    for (text, items) in CLOSER {
        if status.to_string().len() <= WHOLE {
            return;
        }
        cut(status, text, items);
    }
}

fn cut(status: &mut Value, text: u32, items: u16) {
    match status {
        Value::String(string) => {
            if let Some((end, _)) = string.char_indices().nth(text as usize) {
                string.truncate(end);
            }
        }
        Value::Array(all) => {
            all.truncate(items.into());
            for item in all {
                cut(item, text, items);
            }
        }
        Value::Object(fields) => {
            while fields.len() > ENTRIES.into() {
                let last = fields.keys().next_back().cloned();
                last.and_then(|last| fields.remove(&last));
            }
            let fields = fields.values_mut();
            fields.for_each(|field| cut(field, text, items));
        }
        Value::Number(number) => {
            if let Some(wide) = number.as_i64() {
                *status = wide.clamp(-WIDE, WIDE).into();
            } else if number.is_u64() {
                *status = WIDE.into();
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::api::HostStatus;
    use crate::api::host::HostFacts;

    #[test]
    fn a_status_is_cut_to_what_the_schema_lets_through_and_can_be_read_again() {
        let facts = HostFacts {
            hostname: "ä".repeat(TEXT as usize + 1),
            cpus: i64::MAX,
            memory_bytes: i64::MIN,
            addresses: vec!["10.0.0.1".into(); usize::from(ITEMS) + 1],
            extra: (0..=ENTRIES)
                .map(|i| (format!("{i:04}"), "x".repeat(256)))
                .collect::<BTreeMap<_, _>>(),
            ..HostFacts::default()
        };
        let mut status = json!(HostStatus {
            facts: Some(facts),
            ..HostStatus::default()
        });
        clip(&mut status);
        let facts = serde_json::from_value::<HostStatus>(status.clone())
            .unwrap()
            .facts
            .unwrap();
        assert_eq!(facts.hostname.chars().count(), TEXT as usize);
        assert_eq!((facts.cpus, facts.memory_bytes), (WIDE, -WIDE));
        assert_eq!(
            (facts.addresses.len(), facts.extra.len()),
            (ITEMS.into(), ENTRIES.into())
        );
        let once = status.clone();
        clip(&mut status);
        assert_eq!(status, once, "what fits stays");
    }

    #[test]
    fn a_status_of_many_long_texts_is_cut_until_etcd_takes_it() {
        for text in ["x", "\u{1}", "ä", "\u{1f600}"] {
            let long = || text.repeat(TEXT as usize);
            let facts = HostFacts {
                hostname: long(),
                addresses: (0..ITEMS).map(|_| long()).collect(),
                extra: (0..ENTRIES).map(|i| (format!("{i:04}"), long())).collect(),
                ..HostFacts::default()
            };
            let mut status = json!(HostStatus {
                facts: Some(facts),
                ..HostStatus::default()
            });
            clip(&mut status);
            let bytes = status.to_string().len();
            assert!(bytes <= WHOLE, "{bytes}");
            assert!(serde_json::from_value::<HostStatus>(status).is_ok());
        }
    }
}
