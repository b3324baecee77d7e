//! Which whys the status of a child has: the child cuts its own words, and the objects above it repeat them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::Why;
use crate::api::conditions::{Finding, Reason, Severity};
use crate::api::whys::ReportedWhy;

/// The most that one status has.
const MOST: usize = 4;

/// Longest message of one, in characters; the rest is in the condition.
const LONGEST: usize = 640;

/// How the commands begin that messages propose.
const COMMANDS: [&str; 2] = ["kubectl ", "tatara "];

/// An object, for the command that shows the whole.
#[derive(Clone, Copy, Debug)]
pub struct Child<'a> {
    /// Its kind, in lower case.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl Child<'_> {
    /// The whys of its status, of those conditions that ask for a person, the dearest first: divided into cause and remedy
    /// where a finding of this pass is, and as they were (`old`) where nothing was found out about a condition.
    pub fn whys(
        self,
        dearest_first: &[&Condition],
        findings: &[Finding],
        old: &[ReportedWhy],
    ) -> Vec<ReportedWhy> {
        let mut whys: Vec<ReportedWhy> = Vec::new();
        for condition in dearest_first {
            let Some(reason) = Reason::parse(&condition.reason) else {
                continue;
            };
            if reason.severity() != Severity::Warning {
                continue;
            }
            let is_its = |finding: &&Finding| {
                condition.type_ == finding.condition && finding.why.reason == reason
            };
            let why = match findings.iter().find(is_its) {
                Some(finding) => self.reported(condition, &finding.why),
                None => ReportedWhy::find(old, condition)
                    .cloned()
                    .unwrap_or_else(|| {
                        self.reported(condition, &Why::new(reason, condition.message.clone()))
                    }),
            };
            let is_same =
                |other: &ReportedWhy| (&other.reason, &other.cause) == (&why.reason, &why.cause);
            if !whys.iter().any(is_same) {
                whys.push(why);
            }
        }
        whys.truncate(MOST);
        whys
    }

    fn reported(self, condition: &Condition, why: &Why) -> ReportedWhy {
        let (cause, remedy) = self.shortened(why);
        ReportedWhy {
            type_: condition.type_.clone(),
            reason: condition.reason.clone(),
            cause,
            remedy,
        }
    }

    /// Its first line, cut where that is too long; the remedy is then the command that shows the whole.
    fn shortened(self, why: &Why) -> (String, String) {
        let message = why.message();
        let line = first_line(&message);
        if line.chars().count() > LONGEST {
            let all = format!(
                "tatara describe {} {} -n {} shows all",
                self.kind, self.name, self.namespace
            );
            let room = LONGEST.saturating_sub(all.chars().count() + 3);
            let end = line
                .char_indices()
                .nth(room)
                .map_or(line.len(), |(at, _)| at);
            return (format!("{}…;", whole_clauses(&line[..end])), all);
        }
        if line == message {
            return (why.cause.clone(), why.remedy.clone());
        }
        (line.to_owned(), String::new())
    }
}

/// The first line that is not empty: a log may follow.
fn first_line(message: &str) -> &str {
    let mut lines = message.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// The beginning of a text that was cut anywhere, up to the end of a clause or the command that was cut: part of one does
/// something else, or nothing.
fn whole_clauses(text: &str) -> &str {
    let clause = text.rfind("; ").max(text.rfind(". "));
    let commands = COMMANDS.iter().filter_map(|start| text.rfind(start));
    let end = commands.max().max(clause).or_else(|| text.rfind(' '));
    text[..end.unwrap_or(text.len())].trim_end_matches([' ', ':', ',', ';', '.'])
}

#[cfg(test)]
#[path = "whys_tests.rs"]
mod tests;
