//! What the scripts that take a host and follow a unit print: one JSON object per line.

use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use super::cause::Cause;
use super::finding::Finding;
use super::job::Job;
use super::marker::Ownership;
use super::render::ParseError;

/// Answer of [`super::take_host`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// The marker was written: the host is the Machine's from now on.
    Taken,
    /// The Machine had it already.
    AlreadyOurs,
    /// The host is another's.
    OwnedBy(Ownership),
    /// There is no marker, but traces of a Kubernetes that Tatara does not manage.
    Occupied(Vec<Finding>),
}

/// A line of [`super::start_and_follow`] or [`super::follow`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step runs. A step that ends before it is observed is not reported.
    Progress(Progress),
    /// The unit has ended (or, when it was killed, is interrupted); the last line.
    Ended(UnitStatus),
    /// Nothing was started: the host is not the Machine's. The last line.
    Refused(Ownership),
    /// Nothing was started: the host was looked at over a later connection since, of this or a
    /// later leader. The last line.
    Superseded,
    /// There is no such unit to follow. The last line.
    Absent,
}

/// Where a unit is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Progress {
    /// Name of the step.
    pub step: String,
    /// Its number, from 1.
    pub index: u32,
    /// How many steps the unit has.
    pub total: u32,
}

impl Progress {
    /// What a condition says of a unit that was interrupted in this step; `what` is the unit's
    /// title.
    pub fn interrupted(&self, what: &str) -> String {
        format!(
            "{what} was interrupted in step {} ({}/{}): most likely the host rebooted or lost power, or the step's process was killed. Tatara runs all its steps again. If that repeats, check on the host: journalctl --list-boots; journalctl _TRANSPORT=kernel -g 'out of memory'",
            self.step, self.index, self.total
        )
    }
}

/// A unit as the host knows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct UnitStatus {
    /// Which job.
    #[serde(flatten)]
    pub job: Job,
    /// [`super::Unit::identity`] of what was started.
    pub identity: String,
    /// How far it is.
    #[serde(flatten)]
    pub state: UnitState,
    /// The step that failed in an earlier attempt and has not succeeded since, while another
    /// attempt is under way.
    #[serde(default)]
    pub retried: Option<Box<Failure>>,
}

impl UnitStatus {
    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self.state, UnitState::Running(_))
    }

    /// Whether it has succeeded.
    pub fn has_succeeded(&self) -> bool {
        self.state == UnitState::Succeeded
    }

    /// The step that failed and has not succeeded since: also while it is tried again.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.state {
            UnitState::Failed(failure) => Some(failure),
            UnitState::Running(_) | UnitState::Interrupted(_) => self.retried.as_deref(),
            UnitState::Succeeded => None,
        }
    }
}

/// How far a unit is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum UnitState {
    /// A step runs, or waits for the host's lock.
    Running(Progress),
    /// All steps ended with exit code 0.
    Succeeded,
    /// A step ended with another exit code.
    Failed(Failure),
    /// A step was started, and neither runs nor left an exit code: power cut, reboot, killed.
    Interrupted(Progress),
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Failure {
    /// Which step.
    #[serde(flatten)]
    pub at: Progress,
    /// Its exit code; 124 when it took too long, 78 when the host was not ours any more.
    #[serde(rename = "exitCode")]
    pub exit_code: i32,
    /// How often it has failed in a row; 0 if unknown.
    #[serde(default)]
    pub attempt: u32,
    /// When it failed first since it last succeeded, by the manager's clock, in milliseconds since
    /// 1970.
    #[serde(default)]
    pub since: Option<i64>,
    /// The lines `why: CAUSE` and `do: REMEDY` of its output.
    #[serde(default)]
    pub causes: Vec<String>,
    /// What the step found wrong with the host.
    pub findings: Vec<Finding>,
    /// The last lines that it wrote, without those.
    pub output: String,
}

impl Failure {
    /// The message of a condition. Its first line has the cause and the remedy, for output that
    /// shows one line. The output of the step comes last; if the cause is unknown, it begins with
    /// its line that reports an error.
    pub fn message(&self) -> String {
        let at = &self.at;
        let far = format!(
            "{}/{} {} failed with exit code {}{}",
            at.index,
            at.total,
            at.step,
            self.exit_code,
            self.standing()
        );
        let (causes, output) = (self.causes(), self.output.trim());
        match (causes.is_empty(), output.is_empty()) {
            (true, _) => format!("{far}: {}", self.error_first()),
            (false, true) => format!("{} {far}", Cause::text(&causes)),
            (false, false) => format!("{} {far}\n{output}", Cause::text(&causes)),
        }
    }

    /// Causes and remedies, as far as the step found them.
    pub fn causes(&self) -> Vec<Cause> {
        let causes = Cause::read(self.causes.iter().map(String::as_str));
        if causes.is_empty() {
            return self.findings.iter().map(Cause::from).collect();
        }
        causes
    }

    fn standing(&self) -> String {
        let since = self
            .since
            .and_then(|since| Timestamp::from_millisecond(since).ok());
        attempts(self.attempt, since)
    }

    /// Its last lines, and before them the one that says the error.
    fn error_first(&self) -> String {
        let output = self.output.trim();
        let is_error = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["error", "fatal", "e:"]
                .iter()
                .any(|word| line.starts_with(word))
        };
        match output.lines().rfind(is_error) {
            Some(error) if !output.starts_with(error) => format!("{error}\n{output}"),
            _ => output.to_owned(),
        }
    }
}

/// How often something has failed, and since when, as it ends a sentence; empty where that is not
/// known.
pub fn attempts(attempt: u32, since: Option<Timestamp>) -> String {
    match (attempt, since) {
        (0, _) => String::new(),
        (attempt, None) => format!(" (attempt {attempt})"),
        (attempt, Some(since)) => format!(" (attempt {attempt}, failing since {since:.0})"),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Progress(Progress),
    Ended(UnitStatus),
    Refused { owner: Option<String> },
    Superseded {},
    Absent {},
    Taken {},
    Ours {},
    Owned { owner: Option<String> },
    Occupied { findings: Vec<Finding> },
}

/// Reads a line of [`super::start_and_follow`] or [`super::follow`].
///
/// # Errors
/// [`ParseError`]: the line is not such an event.
pub fn parse_event(line: &str) -> Result<Event, ParseError> {
    const WHAT: &str = "the progress of a unit";
    match serde_json::from_str(line).map_err(|source| ParseError::new(WHAT, line, source))? {
        Line::Progress(progress) => Ok(Event::Progress(progress)),
        Line::Ended(status) => Ok(Event::Ended(status)),
        Line::Refused { owner } => Ok(Event::Refused(Ownership::read(owner))),
        Line::Superseded {} => Ok(Event::Superseded),
        Line::Absent {} => Ok(Event::Absent),
        _ => Err(unexpected(WHAT, line)),
    }
}

/// Reads what [`super::take_host`] printed.
///
/// # Errors
/// [`ParseError`]: the output is not such an answer.
pub fn parse_take(stdout: &[u8]) -> Result<Take, ParseError> {
    const WHAT: &str = "the answer to taking a host";
    let text = String::from_utf8_lossy(stdout);
    match serde_json::from_str(&text).map_err(|source| ParseError::new(WHAT, &text, source))? {
        Line::Taken {} => Ok(Take::Taken),
        Line::Ours {} => Ok(Take::AlreadyOurs),
        Line::Owned { owner } => Ok(Take::OwnedBy(Ownership::read(owner))),
        Line::Occupied { findings } => Ok(Take::Occupied(findings)),
        _ => Err(unexpected(WHAT, &text)),
    }
}

fn unexpected(what: &'static str, text: &str) -> ParseError {
    let source = serde::de::Error::custom("an answer to another question");
    ParseError::new(what, text, source)
}
