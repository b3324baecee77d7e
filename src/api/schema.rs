//! Schema fragments that derive macros cannot say.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Any object, kept as the user wrote it (`x-kubernetes-preserve-unknown-fields`).
pub fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A string that may be an explicit `null`.
pub fn nullable_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "nullable": true })
}

/// A list of metav1 Conditions, merged by type.
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": { "type": "string", "maxLength": 316,
                    "description": "What the condition is about, in CamelCase." },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether it holds." },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Why, as one CamelCase word." },
                "message": { "type": "string", "maxLength": 32768,
                    "description": "Why, for people: how far, and what to do." },
                "lastTransitionTime": { "type": "string", "format": "date-time",
                    "description": "When the status last changed." },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0,
                    "description": "The metadata.generation that was judged." },
            },
        },
    })
}

/// An integer or a percentage such as "25%".
pub fn int_or_percent(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": "^[0-9]+%?$",
        "maxLength": 8,
    })
}

/// A metav1 `LabelSelector`, with the limits that CEL's cost estimate needs.
pub fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {
                "type": "object", "maxProperties": 64,
                "additionalProperties": { "type": "string", "maxLength": 63 },
                "description": "Labels that must be there with this value.",
            },
            "matchExpressions": {
                "type": "array", "maxItems": 64, "x-kubernetes-list-type": "atomic",
                "description": "Requirements on labels; all must hold.",
                "items": {
                    "type": "object", "required": ["key", "operator"],
                    "properties": {
                        "key": { "type": "string", "maxLength": 317, "description": "The label's key." },
                        "operator": { "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "How the value is compared." },
                        "values": { "type": "array", "maxItems": 64, "x-kubernetes-list-type": "atomic",
                            "items": { "type": "string", "maxLength": 63 },
                            "description": "Values for In and NotIn." },
                    },
                },
            },
        },
    })
}

/// CEL: the selector of a set selects what the set makes.
pub const SELECTOR_MATCHES: &str = "\
(!has(self.selector.matchLabels) || (has(self.template.metadata) && has(self.template.metadata.labels) && \
self.selector.matchLabels.all(k, k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k]))) && \
(!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, \
e.operator == 'Exists' ? has(self.template.metadata.labels) && e.key in self.template.metadata.labels : \
e.operator == 'DoesNotExist' ? !has(self.template.metadata.labels) || !(e.key in self.template.metadata.labels) : \
e.operator == 'In' ? has(self.template.metadata.labels) && e.key in self.template.metadata.labels && has(e.values) && self.template.metadata.labels[e.key] in e.values : \
!has(self.template.metadata.labels) || !(e.key in self.template.metadata.labels) || !has(e.values) || !(self.template.metadata.labels[e.key] in e.values)))";
/// What [`SELECTOR_MATCHES`] says when it fails.
pub const SELECTOR_MESSAGE: &str = "spec.selector does not match spec.template.metadata.labels; add the selected labels to the template";
/// CEL: a selector that selects everything is a mistake.
pub const SELECTOR_NOT_EMPTY: &str = "\
(has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || \
(has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)";
/// What [`SELECTOR_NOT_EMPTY`] says when it fails.
pub const SELECTOR_EMPTY_MESSAGE: &str =
    "spec.selector is empty; set selector.matchLabels to labels of the template";
