//! Which whys the status of a child has: the child cuts its own words, and the objects above it
//! repeat them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::Why;
use crate::api::conditions::{Finding, Reason, Severity};
use crate::api::whys::ReportedWhy;
use crate::remedy;

/// The most that one status has.
const MOST: usize = 4;

/// Longest message of one, in characters; the rest is in the condition.
const LONGEST: usize = 640;

/// How the commands begin that messages propose.
const COMMANDS: [&str; 2] = ["kubectl ", "tatara "];

/// What comes before a command that is part of another.
const NESTED: [&str; 3] = ["$(", "<(", "| "];

/// How sentences begin that say what to do in one of several cases.
const CASES: [&str; 3] = ["If ", "Only ", "Otherwise"];

/// What no text ends with that was cut.
const ENDS: [char; 5] = [' ', ':', ',', ';', '.'];

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

impl<'a> Child<'a> {
    /// A Machine.
    pub fn machine(namespace: Option<&'a str>, name: &'a str) -> Self {
        Self {
            kind: "machine",
            namespace: namespace.unwrap_or_default(),
            name,
        }
    }

    /// A MachineDeployment.
    pub fn deployment(namespace: Option<&'a str>, name: &'a str) -> Self {
        Self {
            kind: "machinedeployment",
            ..Self::machine(namespace, name)
        }
    }
}

impl Child<'_> {
    /// The whys of its status, of those conditions that ask for a person, the dearest first:
    /// divided into cause and remedy where a finding of this pass is, and as they were (`old`)
    /// where nothing was found out about a condition.
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
            let why = match findings.iter().rev().find(is_its) {
                Some(finding) => self.reported(condition, &finding.why),
                None => self.kept_or_cut(condition, reason, old),
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

    /// The why of a condition, as it is in the status; of one that no pass has looked at since
    /// there are whys, cut from its message.
    pub fn kept_or_cut(
        self,
        condition: &Condition,
        reason: Reason,
        whys: &[ReportedWhy],
    ) -> ReportedWhy {
        let known = ReportedWhy::find(whys, condition).cloned();
        known.unwrap_or_else(|| {
            self.reported(condition, &Why::new(reason, condition.message.clone()))
        })
    }

    /// Cause and remedy, cut to the length of one.
    pub fn brief(self, why: &Why) -> String {
        let (cause, remedy) = self.shortened(why);
        Why::joined(&cause, &remedy)
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

    /// Its first line, cut where that is too long, with the command that shows the whole. A remedy
    /// of its own stays.
    fn shortened(self, why: &Why) -> (String, String) {
        let message = why.message();
        let line = first_line(&message);
        if line.chars().count() <= LONGEST {
            return if line == message {
                (why.cause.clone(), why.remedy.clone())
            } else {
                (line.to_owned(), String::new())
            };
        }
        let all = format!(
            "… ({} shows the whole message)",
            remedy::describe(self.kind, self.namespace, self.name)
        );
        let length = why.remedy.chars().count();
        let (text, remedy) = if (1..=LONGEST / 2).contains(&length) {
            (first_line(&why.cause), why.remedy.clone())
        } else {
            (line, String::new())
        };
        let taken = all.chars().count() + remedy.chars().count() + "; ".len();
        let kept = cut(text, LONGEST.saturating_sub(taken));
        (format!("{kept}{all}"), remedy)
    }
}

/// The first line that is not empty: a log may follow.
fn first_line(message: &str) -> &str {
    let mut lines = message.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// The beginning of a text, at most so many characters. Whole sentences; where one of several cases
/// is cut, none of them stays, or it would pass for all there are.
fn cut(text: &str, room: usize) -> &str {
    let limit = text.char_indices().nth(room);
    let Some((limit, _)) = limit else { return text };
    let begins = |next: &str| next.starts_with(char::is_uppercase);
    let ends = text.match_indices(". ");
    let ends = ends.filter(|(at, end)| begins(&text[at + end.len()..]));
    let mut ends: Vec<usize> = ends
        .map(|(at, _)| at)
        .take_while(|at| *at < limit)
        .collect();
    let is_case = |from: usize| {
        let sentence = text[from..].trim_start_matches(['.', ' ']);
        CASES.iter().any(|case| sentence.starts_with(case))
    };
    while let Some(end) = ends.pop() {
        let from = ends.last().copied().unwrap_or_default();
        if !(is_case(end) && is_case(from)) {
            return text[..end].trim_end_matches(ENDS);
        }
    }
    whole_clauses(&text[..limit])
}

/// The beginning of a sentence that was cut anywhere, up to the end of a clause or the command that
/// was cut: part of one does something else, or nothing.
fn whole_clauses(text: &str) -> &str {
    let end = last_command(text).max(text.rfind("; "));
    let end = end.or_else(|| text.rfind(' '));
    text[..end.unwrap_or(text.len())].trim_end_matches(ENDS)
}

/// Where the last command begins; not one inside of another.
fn last_command(text: &str) -> Option<usize> {
    let starts = COMMANDS.iter().filter_map(|start| text.rfind(start));
    let at = starts.max()?;
    let is_nested = NESTED.iter().any(|before| text[..at].ends_with(before));
    if is_nested {
        last_command(&text[..at])
    } else {
        Some(at)
    }
}

#[cfg(test)]
#[path = "whys_tests.rs"]
mod tests;
