//! Units of jobs that run on hosts, followed over an open SSH channel: no polling, and a broken
//! channel loses nothing, because the host keeps the progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::hosts::LOOK;
use crate::metrics::Metrics;
use crate::remote::{RunError, Session};
use tatara_core::node::{
    Attempts, Event, Failure, Follow, Job, JobKind, Progress, Script, UnitState, observe,
    parse_event,
};

/// How often a host with a running job is checked.
const LOOK_AT_HOST: Duration = Duration::from_mins(1);

/// Why a job was not started that came over a former connection.
const SUPERSEDED: &str = "the host was looked at over a later connection of this manager, or of one that leads now. If that repeats, two managers use it, for example because a management cluster was restored beside the one whose backup it is: stop one of them. If there is no other, its Lease was lost or a clock was set back: remove /run/tatara-looked on that host";

#[derive(Default)]
struct Machine {
    follow: Option<Follow>,
    attempts: HashMap<JobKind, Attempts>,
}

/// All units that are followed, by UID of their Machine.
pub struct Follows {
    machines: Arc<Mutex<HashMap<String, Machine>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    metrics: Metrics,
}

/// Called on progress of a followed unit, and at its end.
pub type WakeMachine = Box<dyn Fn() + Send + Sync>;

impl Follows {
    /// Starts without followed units. `stop` ends all following; the units themselves continue.
    pub fn new(tasks: TaskTracker, stop: CancellationToken, metrics: Metrics) -> Self {
        Self {
            machines: Arc::default(),
            tasks,
            stop,
            metrics,
        }
    }

    /// The unit that is followed for a Machine now.
    pub fn current(&self, machine: &str) -> Option<Follow> {
        self.lock()
            .get(machine)
            .and_then(|machine| machine.follow.clone())
    }

    /// How often a job has failed in a row.
    pub fn attempts(&self, job: &Job) -> Attempts {
        self.lock()
            .get(&job.key)
            .and_then(|machine| machine.attempts.get(&job.kind).cloned())
            .unwrap_or_default()
    }

    /// Ends the back-off of a Machine after failed units.
    pub fn retry(&self, machine: &str) {
        if let Some(machine) = self.lock().get_mut(machine) {
            machine.attempts.values_mut().for_each(Attempts::at_once);
        }
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, machine: &str) {
        let mut machines = self.lock();
        if let Some(entry) = machines.get_mut(machine) {
            entry.attempts.clear();
            if entry.follow.is_none() {
                machines.remove(machine);
            }
        }
    }

    /// Runs a script that starts or re-attaches to a unit, and follows it in the background. Does
    /// nothing if a job of the Machine is followed already. `retried` is the failure of the
    /// previous attempt.
    pub fn start(
        &self,
        job: Job,
        retried: Option<Failure>,
        (session, script): (Arc<Session>, Script),
        wake: WakeMachine,
    ) {
        let mut machines = self.lock();
        let entry = machines.entry(job.key.clone()).or_default();
        if entry.follow.is_some() {
            return;
        }
        entry.follow = Some(Follow {
            job: job.clone(),
            progress: None,
            since: crate::clock::now(),
            retried: retried.map(Box::new),
        });
        drop(machines);
        let (machines, stop) = (self.machines.clone(), self.stop.clone());
        let metrics = self.metrics.clone();
        let follow = async move {
            let mut ended = None;
            let on_line = |line: &str| match parse_event(line) {
                Ok(Event::Progress(progress)) => {
                    set_progress(&machines, &job.key, progress);
                    wake();
                }
                Ok(event) => ended = Some(event),
                Err(error) => tracing::debug!(%error, "ignored a line that is not an event"),
            };
            let output = tokio::select! {
                output = session.follow(script.as_str(), on_line) => output,
                error = until_it_hangs(&session) => Err(error),
                () = stop.cancelled() => return,
            };
            let error = match (&output, &ended) {
                (Err(error), _) => Some(error.to_string()),
                (Ok(_), Some(Event::Superseded)) => Some(SUPERSEDED.to_owned()),
                (Ok(_), Some(_)) => None,
                (Ok(output), None) => Some(format!(
                    "{}: {}",
                    output.end(),
                    String::from_utf8_lossy(&output.stderr).trim()
                )),
            };
            if let Some(error) = &error {
                tracing::warn!(
                    uid = job.key,
                    unit = job.kind.as_str(),
                    error,
                    "a unit was not started, or its output ended before it"
                );
            }
            let result = if output.is_ok() && ended.is_none() {
                "unstarted"
            } else {
                result_of(ended.as_ref())
            };
            metrics.step_ended(job.kind.as_str(), result);
            end(&machines, &job, result, error);
            wake();
        };
        self.tasks.spawn(follow.in_current_span());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Machine>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when the host stops answering. A job may be silent for any time, but its host must
/// answer.
async fn until_it_hangs(session: &Session) -> RunError {
    loop {
        tokio::time::sleep(LOOK_AT_HOST).await;
        let Ok(script) = observe(None) else { continue };
        match session.run_within(script.as_str(), LOOK).await {
            Ok(_) | Err(RunError::Busy { .. }) => {}
            Err(error) => return error,
        }
    }
}

fn result_of(event: Option<&Event>) -> &'static str {
    match event {
        Some(Event::Ended(status)) => match status.state {
            UnitState::Succeeded => "succeeded",
            UnitState::Failed(_) => "failed",
            UnitState::Running(_) | UnitState::Interrupted(_) => "interrupted",
        },
        Some(Event::Refused(_)) => "refused",
        Some(Event::Superseded) => "superseded",
        _ => "disconnected",
    }
}

fn set_progress(machines: &Mutex<HashMap<String, Machine>>, machine: &str, progress: Progress) {
    let mut machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(entry) = machines.get_mut(machine) else {
        return;
    };
    if let Some(follow) = entry.follow.as_mut() {
        follow.progress = Some(progress);
        // starting succeeded: the last start error is obsolete
        if let Some(attempts) = entry.attempts.get_mut(&follow.job.kind) {
            attempts.error = None;
        }
    }
}

fn end(machines: &Mutex<HashMap<String, Machine>>, job: &Job, result: &str, error: Option<String>) {
    let mut machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(entry) = machines.get_mut(&job.key) else {
        return;
    };
    entry.follow = None;
    let attempts = entry.attempts.entry(job.kind).or_default();
    match result {
        "succeeded" => *attempts = Attempts::default(),
        // a broken channel does not show the state of the unit
        "disconnected" => {}
        _ => {
            *attempts = attempts.and(error, crate::clock::now());
        }
    }
}
