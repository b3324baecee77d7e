//! Tasks: work that a BMC does after answering 202.

use std::time::Duration;

use reqwest::StatusCode;

use super::http::Answer;
use super::resources::Task;
use super::{Bmc, Error};

impl Bmc {
    /// Waits for the end of a task. If the BMC names none there is nothing to wait for: callers
    /// read the result back.
    pub(super) async fn await_task(&mut self, accepted: &Answer) -> Result<(), Error> {
        let named = self.http.decode::<Task>(accepted).ok();
        let named = named.and_then(|task| task.path);
        let Some(path) = accepted.location().or(named) else {
            return Ok(());
        };
        let mut pause = accepted.retry_after();
        let pace = self.http.pace;
        for _ in 0..pace.looks(pace.task) {
            tokio::time::sleep(pause.unwrap_or(pace.poll)).await;
            match self.http.get(&path).await {
                Ok(answer) => {
                    pause = answer.retry_after();
                    let task: Task = self.http.decode(&answer).unwrap_or_default();
                    match state(answer.status, &task) {
                        State::Runs => {}
                        State::Done => return Ok(()),
                        State::Failed(problem) => return Err(self.task_failed(path, problem)),
                    }
                }
                // a monitor may not exist any more after it reported the end
                Err(Error::Refused {
                    status: 404 | 410, ..
                }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let limit = pace.task;
        Err(self.task_failed(path, not_ended(limit)))
    }

    fn task_failed(&self, task: String, problem: String) -> Error {
        Error::TaskFailed {
            address: self.http.address(),
            task,
            problem,
        }
    }
}

fn not_ended(limit: Duration) -> String {
    format!("has not finished after {} s", limit.as_secs())
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Runs,
    Done,
    Failed(String),
}

/// The state of a task: from the HTTP status of its monitor, and from `TaskState` if there is one.
fn state(status: StatusCode, task: &Task) -> State {
    let said = task.messages.iter().filter_map(|m| m.message.as_deref());
    let said = said.collect::<Vec<_>>().join("; ");
    match task.state.as_deref() {
        Some("Exception" | "Killed" | "Cancelled" | "Interrupted") => State::Failed(format!(
            "ended with {}{}{said}",
            task.state.as_deref().unwrap_or_default(),
            if said.is_empty() { "" } else { ": " }
        )),
        Some("Completed") => State::Done,
        Some(_) => State::Runs,
        None if status == StatusCode::ACCEPTED => State::Runs,
        None => State::Done,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_ends_by_its_own_word_or_by_the_status_of_its_monitor() {
        let cases = [
            (202, json!({}), State::Runs),
            (200, json!({}), State::Done),
            (204, json!(null), State::Done),
            (200, json!({"TaskState": "Running"}), State::Runs),
            (202, json!({"TaskState": "Completed"}), State::Done),
            (
                200,
                json!({"TaskState": "Exception", "Messages": [{"Message": "no power"}, {}]}),
                State::Failed("ended with Exception: no power".into()),
            ),
            (
                200,
                json!({"TaskState": "Killed"}),
                State::Failed("ended with Killed".into()),
            ),
        ];
        for (status, body, expected) in cases {
            let task = serde_json::from_value(body.clone()).unwrap_or_default();
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(state(status, &task), expected, "{status} {body}");
        }
    }
}
