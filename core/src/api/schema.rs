//! Schema fragments that derive macros cannot say.
//!
//! Rules are attached to the field that they are about, so that the API server's answer names it.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::conditions::Status;

/// A CEL rule about a plain value, and its message if it fails; the server adds field and value.
pub fn rule(rule: &str, message: &str) -> Value {
    json!({ "rule": rule, "message": message })
}

/// A CEL rule about an object or list, whose value the server does not print: the message is a CEL
/// expression that names what is wrong in it.
fn rule_naming(rule: &str, message: &str) -> Value {
    json!({ "rule": rule, "messageExpression": message })
}

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
                "status": { "type": "string", "enum": Status::ALL.map(Status::as_str),
                    "description": "Whether the condition holds." },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Reason of the status, in CamelCase." },
                "message": { "type": "string", "maxLength": 32768,
                    "description": "Human-readable message: the cause, then the remedy." },
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
        "minimum": 0, "maximum": 10000, "maxLength": 8,
        "x-kubernetes-validations": [rule(
            "type(self) == int ? self >= 0 : string(self).matches('^[0-9]+%$')",
            "must be a number or a percentage, such as 1 or 25%",
        )],
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

/// The [`label_selector`] of a set: what a set counts as its own cannot change under it.
pub fn fixed_selector(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = label_selector(generator);
    schema.insert(
        "x-kubernetes-validations".into(),
        json!([rule(
            "self == oldSelf",
            "cannot change, because Machines would be left that no MachineSet counts; set it back, or create another object \
             with the new selector and delete this one",
        )]),
    );
    schema
}

/// Labels or annotations of an embedded object; `limit` bounds the length of a value.
fn string_map(limit: u32) -> Schema {
    json_schema!({
        "type": "object", "maxProperties": 64,
        "additionalProperties": { "type": "string", "maxLength": limit },
    })
}

/// Labels of an embedded object.
pub fn labels(_: &mut SchemaGenerator) -> Schema {
    let mut schema = string_map(63);
    let values = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
    schema.insert(
        "x-kubernetes-validations".into(),
        json!([rule_naming(
            &format!("self.all(k, self[k].matches('{values}'))"),
            &format!(
                "'label ' + self.filter(k, !self[k].matches('{values}'))[0] + ' has a value that is not a label value; \
                 use at most 63 letters, digits, dots, dashes and underscores'"
            ),
        )]),
    );
    schema
}

/// Annotations of an embedded object.
pub fn annotations(_: &mut SchemaGenerator) -> Schema {
    string_map(16384)
}

/// Taints of a Node.
pub fn taints(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 32, "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "object", "required": ["key", "effect"],
            "properties": {
                "key": { "type": "string", "minLength": 1, "maxLength": 317,
                    "description": "The taint's key." },
                "value": { "type": "string", "maxLength": 63,
                    "description": "The taint's value." },
                "effect": { "type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
                    "description": "What happens to pods that do not tolerate the taint." },
                "timeAdded": { "type": "string", "format": "date-time",
                    "description": "When a NoExecute taint was added." },
            },
        },
    })
}

/// Address ranges: one, or one of each family.
pub fn cidr_blocks(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "minItems": 1, "maxItems": 2, "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "string", "maxLength": 43,
            "x-kubernetes-validations": [
                rule("isCIDR(self)", "must be a range in CIDR notation, such as 10.244.0.0/16"),
                rule(
                    "!isCIDR(self) || cidr(self) == cidr(self).masked()",
                    "has host bits set; write the address of the network itself, such as 10.244.0.0/16",
                ),
            ],
        },
        "x-kubernetes-validations": [rule_naming(
            "size(self) < 2 || !self.all(c, isCIDR(c)) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()",
            "'both ' + self[0] + ' and ' + self[1] + ' are of the same family; two ranges must be one of IPv4 and one of IPv6'",
        )],
    })
}

/// A DNS domain.
pub fn dns_domain(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 253,
        "x-kubernetes-validations": [rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
            "must be a DNS domain, such as cluster.local",
        )],
    })
}

/// IP address or DNS name of a server.
pub fn address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 253,
        "x-kubernetes-validations": [rule(
            "isIP(self) || self.matches('^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$')",
            "must be an IP address or a DNS name alone, such as 192.0.2.10, \
             with user and port in their own fields",
        )],
    })
}

/// An https URL of a service: no path, no user.
pub fn https_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 512,
        "x-kubernetes-validations": [rule(
            "self.matches('^https://[A-Za-z0-9.:_-]+/?$') || self.matches('^https://\\\\[[0-9A-Fa-f:.]+\\\\](:[0-9]+)?/?$')",
            "must be an https URL of a host and port, without path and user, such as https://10.0.0.5:8774",
        )],
    })
}

/// URL of a BMC.
pub fn bmc_address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 253,
        "x-kubernetes-validations": [rule(
            "self.matches('^https://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[[][0-9a-fA-F:.]+[]])(:[0-9]{1,5})?/?$')",
            "must be the https URL of a BMC: https:// and its address, such as https://192.0.2.20, without user \
             and path (unencrypted http is not supported)",
        )],
    })
}

/// URL of an image that is fetched.
pub fn image_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 2048,
        "x-kubernetes-validations": [rule(
            "self.matches('^https?://[^ /@]+/[^ ]*$')",
            "must be an http or https URL of an image, without a user, such as https://images.example.com/installer.iso",
        )],
    })
}

/// SHA-256 of an image.
pub fn sha256(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "maxLength": 64,
        "x-kubernetes-validations": [rule(
            "self.matches('^[0-9a-f]{64}$')",
            "must be a SHA-256: the 64 lower-case hexadecimal digits that sha256sum prints",
        )],
    })
}

/// Serial number or WWN of a disk.
pub fn disk_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 128,
        "x-kubernetes-validations": [rule(
            "self.matches('^[A-Za-z0-9._:+/ =-]*[A-Za-z0-9][A-Za-z0-9._:+/ =-]*$')",
            "does not name a disk; write what lsblk -d -o NAME,SERIAL,WWN prints for it on the host",
        )],
    })
}

/// SHA-256 of a certificate.
pub fn fingerprint(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "maxLength": 128,
        "x-kubernetes-validations": [rule(
            "self.matches('^sha256:([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$')",
            "must be a SHA-256 fingerprint: sha256: and the 64 hexadecimal digits that \
             openssl x509 -noout -fingerprint -sha256 prints",
        )],
    })
}

/// Public keys of a server, as in a known-hosts file, without the name.
pub fn host_keys(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 8, "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "string", "maxLength": 2048,
            "x-kubernetes-validations": [rule(
                "self.matches('^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]{40,}={0,2}( .*)?$')",
                "must be a public host key, as ssh-keyscan prints it without the name, \
                 such as ssh-ed25519 AAAAC3Nza...",
            )],
        },
    })
}

/// Public keys of a jump host: at least one.
pub fn jump_host_keys(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = host_keys(generator);
    schema.insert("minItems".into(), json!(1));
    schema
}

/// CEL: the selector of a set selects what the set makes.
pub const SELECTOR_MATCHES: &str = "\
(!has(self.selector.matchLabels) || (has(self.template.metadata) && has(self.template.metadata.labels) && \
self.selector.matchLabels.all(k, k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k]))) && \
(!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, \
e.operator == 'Exists' ? has(self.template.metadata) && has(self.template.metadata.labels) && e.key in self.template.metadata.labels : \
e.operator == 'DoesNotExist' ? !has(self.template.metadata) || !has(self.template.metadata.labels) || !(e.key in self.template.metadata.labels) : \
e.operator == 'In' ? has(self.template.metadata) && has(self.template.metadata.labels) && e.key in self.template.metadata.labels && has(e.values) && self.template.metadata.labels[e.key] in e.values : \
!has(self.template.metadata) || !has(self.template.metadata.labels) || !(e.key in self.template.metadata.labels) || !has(e.values) || !(self.template.metadata.labels[e.key] in e.values)))";
/// The limit of one strategy is no limit of another. OnDelete uses none.
pub const LIMIT_FITS: &str = "\
!has(self.strategy) || (has(self.strategy.type) && self.strategy.type == 'OnDelete') || \
(has(self.strategy.type) && self.strategy.type == 'InPlace' ? !has(self.strategy.rollingUpdate) : !has(self.strategy.inPlace))";
/// Message of [`LIMIT_FITS`].
pub const LIMIT_FITS_MESSAGE: &str = "inPlace is the limit of type InPlace, and rollingUpdate that of RollingUpdate; remove the \
one that does not fit the type";
/// An update in place needs one Machine that may be missing.
pub const CAN_UPDATE_IN_PLACE: &str = "\
!has(self.strategy) || !has(self.strategy.inPlace) || !has(self.strategy.inPlace.maxUnavailable) || \
!(type(self.strategy.inPlace.maxUnavailable) == int ? self.strategy.inPlace.maxUnavailable == 0 : string(self.strategy.inPlace.maxUnavailable).matches('^0+%$'))";
/// Message of [`CAN_UPDATE_IN_PLACE`].
pub const CAN_UPDATE_IN_PLACE_MESSAGE: &str =
    "inPlace.maxUnavailable is 0, so no Machine could ever be updated; write 1 or more";
/// A rollout needs room for one Machine more, or one Machine that may be missing. Without a value `maxSurge` is 1
/// and `maxUnavailable` 0. OnDelete uses neither.
pub const CAN_ROLL: &str = "\
!has(self.strategy) || (has(self.strategy.type) && self.strategy.type == 'OnDelete') || !has(self.strategy.rollingUpdate) || \
!has(self.strategy.rollingUpdate.maxSurge) || \
!(type(self.strategy.rollingUpdate.maxSurge) == int ? self.strategy.rollingUpdate.maxSurge == 0 : string(self.strategy.rollingUpdate.maxSurge).matches('^0+%$')) || \
(has(self.strategy.rollingUpdate.maxUnavailable) && \
!(type(self.strategy.rollingUpdate.maxUnavailable) == int ? self.strategy.rollingUpdate.maxUnavailable == 0 : string(self.strategy.rollingUpdate.maxUnavailable).matches('^0+%$')))";
/// Message of [`CAN_ROLL`].
pub const CAN_ROLL_MESSAGE: &str = "maxSurge and maxUnavailable are both 0 (maxUnavailable is 0 when it is left out), so no \
Machine could ever be replaced; write 1 or more for one of them";
/// A MachineDeployment of control planes has one at least: the last has the only copy of its cluster's data.
pub const CONTROL_PLANE_STAYS: &str = "\
self.replicas > 0 || !has(self.template.spec.versions) || !has(self.template.spec.versions.controlPlane) || \
self.template.spec.versions.controlPlane == ''";
/// Message of [`CONTROL_PLANE_STAYS`].
pub const CONTROL_PLANE_STAYS_MESSAGE: &str = "replicas is 0, and the template has versions.controlPlane: the last control \
plane has the only copy of the cluster's data. Write 1 or more, or delete the Cluster";
/// A MachineDeployment makes control planes or workers, and none becomes the other.
pub const ROLE_STAYS: &str = "\
(has(self.template.spec.versions) && has(self.template.spec.versions.controlPlane) && self.template.spec.versions.controlPlane != '') == \
(has(oldSelf.template.spec.versions) && has(oldSelf.template.spec.versions.controlPlane) && oldSelf.template.spec.versions.controlPlane != '')";
/// Message of [`ROLE_STAYS`].
pub const ROLE_STAYS_MESSAGE: &str = "versions.controlPlane of the template was added or removed, and a control plane becomes \
no worker, nor the reverse. Set it back, and create another MachineDeployment";
/// Message of [`SELECTOR_MATCHES`], as a CEL expression that names the first label that the template lacks.
/// Of expressions nothing is repeated: to name one costs the API server more than it lets a rule spend.
pub fn selector_message() -> String {
    const LABELS: &str = "self.template.metadata.labels";
    const WANTED: &str = "self.selector.matchLabels";
    let has = format!("has(self.template.metadata) && has({LABELS})");
    let missing = format!("!({has} && k in {LABELS} && {LABELS}[k] == {WANTED}[k])");
    let label = format!("{WANTED}.filter(k, {missing})[0]");
    format!(
        "(has({WANTED}) && {WANTED}.exists(k, {missing}) ? \
         'selector wants label ' + {label} + '=' + {WANTED}[{label}] + ', but template.metadata.labels lacks it' : \
         'selector.matchExpressions do not match template.metadata.labels') + \
         '; add the labels that it selects to template.metadata.labels'"
    )
}
/// CEL: a selector that selects everything is a mistake.
pub const SELECTOR_NOT_EMPTY: &str = "\
(has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || \
(has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)";
/// Message of [`SELECTOR_NOT_EMPTY`].
pub const SELECTOR_EMPTY_MESSAGE: &str =
    "selector is empty; set selector.matchLabels to labels of the template";
