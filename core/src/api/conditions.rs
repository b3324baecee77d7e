//! Conditions: one question each, positive polarity, always with a reason and a message for people.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub use super::condition_type::ConditionType;
pub use super::reason::{Reason, Severity};
use super::why::Why;
use super::words::word;

/// Deserializes the conditions that have all fields of `metav1.Condition`. Others, such as those that a provider of 2019
/// copied from a Node, are left out.
///
/// # Errors
/// The value is neither a list nor null.
pub fn as_far_as_they_are<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Condition>, D::Error> {
    let all = Option::<Vec<Value>>::deserialize(from)?.unwrap_or_default();
    let read = |condition| serde_json::from_value(condition).ok();
    Ok(all.into_iter().filter_map(read).collect())
}

/// The answer of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Not known at present.
    Unknown,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::True, Self::False, Self::Unknown];

    /// As it is written in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Parses a stored status; any other text is `Unknown`.
    pub fn parse(text: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|status| status.as_str() == text)
            .unwrap_or(Self::Unknown)
    }
}

word!(Status);

/// What a plan found out about one condition: the only source of conditions, Events and log lines.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The condition's type.
    pub condition: ConditionType,
    /// Whether it holds.
    pub status: Status,
    /// Why: its reason, the cause, and the remedy.
    #[serde(flatten)]
    pub why: Why,
}

impl Finding {
    /// This status of a condition, because of this.
    pub fn new(condition: ConditionType, status: Status, why: Why) -> Self {
        Self {
            condition,
            status,
            why,
        }
    }

    /// Its reason.
    pub fn reason(&self) -> Reason {
        self.why.reason
    }

    /// Cause and remedy.
    pub fn message(&self) -> String {
        self.why.message()
    }

    /// Replaces cause and remedy; the reason stays.
    pub fn reword(&mut self, message: impl Into<String>) {
        self.why = Why::new(self.reason(), message);
    }

    /// The same, with what a person does about it.
    #[must_use]
    pub fn remedied(self, remedy: impl Into<String>) -> Self {
        Self {
            why: self.why.remedied(remedy),
            ..self
        }
    }

    /// The condition holds.
    pub fn yes(condition: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(condition, Status::True, Why::new(reason, message))
    }
    /// The condition does not hold.
    pub fn no(condition: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(condition, Status::False, Why::new(reason, message))
    }
    /// It is not known whether the condition holds.
    pub fn unknown(condition: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(condition, Status::Unknown, Why::new(reason, message))
    }
}

impl Why {
    /// A condition that does not hold because of it.
    pub fn finding(&self, condition: ConditionType) -> Finding {
        Finding::new(condition, Status::False, self.clone())
    }
}

/// Longest message that a condition carries, in bytes: enough for the tail of a log.
const MAX_MESSAGE: usize = 4096;

/// The conditions that follow from the old ones and the findings. `lastTransitionTime` moves only
/// when the status does; conditions without a finding stay as they are.
pub fn merge(
    old: &[Condition],
    findings: &[Finding],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut merged = old.to_vec();
    for finding in findings {
        let status = finding.status.as_str();
        let same = find(old, finding.condition).filter(|c| c.status == status);
        let condition = Condition {
            type_: finding.condition.as_str().into(),
            status: status.into(),
            reason: finding.reason().as_str().into(),
            message: truncated(finding.message()),
            last_transition_time: same.map_or(Time(now), |c| c.last_transition_time.clone()),
            observed_generation: generation,
        };
        match merged
            .iter_mut()
            .find(|c| c.type_ == finding.condition.as_str())
        {
            Some(slot) => *slot = condition,
            None => merged.push(condition),
        }
    }
    merged
}

fn truncated(message: String) -> String {
    if message.len() <= MAX_MESSAGE {
        return message;
    }
    let cut = (0..=MAX_MESSAGE)
        .rev()
        .find(|&i| message.is_char_boundary(i))
        .unwrap_or(0);
    format!("{}…", &message[..cut])
}

/// The condition of this type.
pub fn find(conditions: &[Condition], type_: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|c| c.type_ == type_.as_str())
}

/// Whether a finding is news beside these conditions. The first one of a condition is, if it is True or a warning: progress of
/// an object that was just created is expected.
pub fn is_news(conditions: &[Condition], finding: &Finding) -> bool {
    match find(conditions, finding.condition) {
        Some(old) => old.reason != finding.reason() || old.status != finding.status.as_str(),
        None => finding.status == Status::True || finding.reason().severity() == Severity::Warning,
    }
}

/// Whether the condition of this type is True.
pub fn is_true(conditions: &[Condition], type_: ConditionType) -> bool {
    find(conditions, type_).is_some_and(|c| c.status == Status::True)
}

/// Whether the condition of this type is False.
pub fn is_false(conditions: &[Condition], type_: ConditionType) -> bool {
    find(conditions, type_).is_some_and(|c| c.status == Status::False)
}

/// The reason of the condition of this type; `None` also for a reason that is not Tatara's.
pub fn reason_of(conditions: &[Condition], type_: ConditionType) -> Option<Reason> {
    find(conditions, type_).and_then(|c| Reason::parse(&c.reason))
}
