//! Problems of a host and their remedies, as scripts report them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that is wrong with a host; scripts print it as `finding: CODE: VALUE; remedy: REMEDY`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Finding {
    /// Kind of problem: a lower-case identifier, such as `swap` or `occupied`.
    pub code: String,
    /// What was seen.
    pub value: String,
    /// What to do about it.
    pub remedy: String,
}

impl From<String> for Finding {
    fn from(line: String) -> Self {
        let text = line.strip_prefix("finding: ").unwrap_or(&line);
        let (code, rest) = text.split_once(": ").unwrap_or(("other", text));
        let (value, remedy) = rest.split_once("; remedy: ").unwrap_or((rest, ""));
        Self {
            code: code.to_owned(),
            value: value.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

impl From<Finding> for String {
    fn from(finding: Finding) -> Self {
        let Finding {
            code,
            value,
            remedy,
        } = finding;
        format!("finding: {code}: {value}; remedy: {remedy}")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)?;
        if self.remedy.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.remedy)
    }
}
