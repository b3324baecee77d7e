//! Why something is not as it should be: found once, handed on as it is, and rendered where people read it.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::reason::Reason;

/// Why something is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The reason of a condition.
    pub reason: Reason,
    /// What is wrong, or waited for; of findings that are not divided yet, with the remedy.
    pub cause: String,
    /// What a person does about it; empty where nobody has to, or where the cause has it.
    pub remedy: String,
}

impl Why {
    /// One without a remedy of its own.
    pub fn new(reason: Reason, cause: impl Into<String>) -> Self {
        Self {
            reason,
            cause: cause.into(),
            remedy: String::new(),
        }
    }

    /// The same, with what a person does about it.
    #[must_use]
    pub fn remedied(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: remedy.into(),
            ..self
        }
    }

    /// Cause and remedy, as the message of a condition.
    pub fn message(&self) -> String {
        Self::joined(&self.cause, &self.remedy)
    }

    /// Cause and remedy as one text: a remedy is a clause of its own, or a sentence after one that has ended.
    pub fn joined(cause: &str, remedy: &str) -> String {
        match cause.chars().last() {
            _ if remedy.is_empty() => cause.to_owned(),
            None => remedy.to_owned(),
            Some('.' | ':' | ';' | ',') => format!("{cause} {remedy}"),
            Some(_) => format!("{cause}; {remedy}"),
        }
    }

    /// Several at once: the reason of the first, and all that they say, once each.
    pub fn all(found: &[Self]) -> Option<Self> {
        let mut messages: Vec<String> = found.iter().map(Self::message).collect();
        messages.dedup();
        Some(Self::new(found.first()?.reason, messages.join("; ")))
    }
}

/// As a condition has it, for transcripts.
impl Serialize for Why {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Why", 2)?;
        fields.serialize_field("reason", &self.reason)?;
        fields.serialize_field("message", &self.message())?;
        fields.end()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::joined(&self.cause, &self.remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_follows_its_cause_as_a_clause_or_a_sentence() {
        for (cause, remedy, expected) in [
            ("no Host matches", "label one", "no Host matches; label one"),
            ("It is off.", "Power it on", "It is off. Power it on"),
            ("waiting for Host a", "", "waiting for Host a"),
            ("", "label one", "label one"),
            ("", "", ""),
        ] {
            let why = Why::new(Reason::NoMatchingHost, cause).remedied(remedy);
            assert_eq!(why.message(), expected);
        }
    }

    #[test]
    fn several_have_the_reason_of_the_first_and_no_sentence_twice() {
        let of = |reason, cause: &str| Why::new(reason, cause);
        assert_eq!(Why::all(&[]), None);
        let found = [
            of(Reason::DuplicateAddress, "a"),
            of(Reason::DuplicateHostname, "b"),
            of(Reason::DuplicateHostname, "b"),
        ];
        let all = Why::all(&found);
        assert_eq!(all, Some(of(Reason::DuplicateAddress, "a; b")));
    }
}
