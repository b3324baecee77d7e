//! `status.whys`: why an object is not as it should be, short enough for the objects above it to repeat.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::why::Why;

/// Why an object is not as it should be, short enough for the objects above it to repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedWhy {
    /// The condition that this is of; its message is complete.
    #[serde(rename = "type")]
    pub type_: String,
    /// The reason of that condition; see docs/troubleshooting.md.
    pub reason: String,
    /// What is wrong; with what to do about it where `remedy` is absent. The first line alone, shortened where it is long.
    #[schemars(length(max = 1024))]
    pub cause: String,
    /// What to do about it, where that is known apart from the cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub remedy: String,
}

impl ReportedWhy {
    /// The one of a condition.
    pub fn find<'a>(whys: &'a [Self], condition: &Condition) -> Option<&'a Self> {
        whys.iter().find(|why| why.is_of(condition))
    }

    /// Whether it is of this condition, as it is now: not of an earlier trouble for the same reason.
    fn is_of(&self, condition: &Condition) -> bool {
        let cause = self.cause.split('…').next().unwrap_or_default();
        self.type_ == condition.type_
            && self.reason == condition.reason
            && condition.message.contains(cause)
    }

    /// Cause and remedy, as in the message of the condition.
    pub fn message(&self) -> String {
        Why::joined(&self.cause, &self.remedy)
    }
}
