//! One pass over one object.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, join, join_all, select};
use k8s_openapi::jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::{ActionOutcome, Controller, Engine, ReconcileError};
use crate::clock;
use tatara_core::api::conditions::Finding;
use tatara_core::pace::{Asked, REFUSAL};
use tatara_core::{Next, Plan, Reports};

/// Limit of concurrent actions.
const AT_ONCE: usize = 16;
/// An action that takes longer than this is reported while it lasts, though its status is
/// transient.
const LONG: Duration = Duration::from_secs(2);

/// A pass that failed and will be repeated. What it did before is in the status, if that could be
/// written.
pub struct FailedPass<C: Controller> {
    /// The cause.
    pub error: ReconcileError,
    /// The object as last read or written, if it is ours.
    pub object: Option<Arc<C::Object>>,
    /// When its held-back status must be written, although the pass failed.
    pub held_back: Next,
}

/// Observes an object, plans, performs the actions, and reports. Returns when to do so again
/// without a change.
///
/// # Errors
/// The facts cannot be read, an action failed, the status cannot be written, or this process is no
/// longer the leader.
pub async fn pass<C: Controller>(
    controller: &C,
    object: Arc<C::Object>,
) -> Result<Next, FailedPass<C>> {
    match controller.is_ours(&object).await {
        Ok(true) => {}
        Ok(false) => return Ok(Next::OnChange),
        Err(error) => {
            return Err(FailedPass {
                error,
                object: None,
                held_back: Next::OnChange,
            });
        }
    }
    let observed = controller.observe(&object, clock::now()).await;
    let observed = observed.map_err(|error| FailedPass {
        error,
        object: Some(object.clone()),
        held_back: Next::OnChange,
    })?;
    let mut pass = Pass {
        engine: controller.engine(),
        controller,
        object,
        observed,
        now: clock::now(),
        held_back: Next::OnChange,
    };
    pass.run().await.map_err(|error| FailedPass {
        error,
        object: Some(pass.object),
        held_back: pass.held_back,
    })
}

pub(super) struct Pass<'a, C: Controller> {
    pub engine: &'a Engine,
    pub controller: &'a C,
    pub object: Arc<C::Object>,
    pub observed: C::Observed,
    pub now: Timestamp,
    /// When the held-back status must be written.
    pub held_back: Next,
}

#[derive(Default)]
struct Outcome {
    next: Next,
    noted: Option<Finding>,
    found: Option<Finding>,
    failed: Option<ReconcileError>,
    /// How many actions were done.
    done: usize,
}

impl Outcome {
    /// Records the outcome of an action. Returns whether the next action may follow.
    fn take(&mut self, done: ActionOutcome) -> bool {
        match done {
            ActionOutcome::Yes => self.done += 1,
            ActionOutcome::Noted(finding) => {
                self.done += 1;
                self.noted = Some(finding);
            }
            ActionOutcome::LookAgain(after) => self.next = self.next.sooner(Next::After(after)),
            ActionOutcome::Failed(error) => self.failed = Some(error),
            ActionOutcome::Refused(finding) => {
                let again = Asked::about(finding.reason()).by_cluster();
                self.next = self.next.sooner(again).sooner(Next::After(REFUSAL));
                self.found.get_or_insert(finding);
            }
            ActionOutcome::NotYet(finding) => {
                self.found = Some(finding);
                return false;
            }
        }
        true
    }
}

impl<C: Controller> Pass<'_, C> {
    async fn run(&mut self) -> Result<Next, ReconcileError> {
        let mut plan = C::plan(&self.observed, self.now);
        if !plan.actions().is_empty() && self.confirm(&plan).await? {
            plan = C::plan(&self.observed, self.now);
        }
        let (reports, acts) = (plan.reports(), plan.actions().len());
        let is_idle = acts == 0;
        let announced = self.controller.announced(&self.observed, &plan);
        let announced = announced.as_ref().unwrap_or(&plan);
        if is_idle || reports == Reports::First {
            self.report(announced).await?;
        }
        let outcome = self.perform_and_report(&plan, announced).await;
        let has_failed = |outcome: &Outcome| outcome.failed.is_some();
        if reports == Reports::OutcomeOrFailure && outcome.as_ref().map_or(true, has_failed) {
            self.report(announced).await?;
        }
        if !is_idle && reports == Reports::Last {
            self.now = clock::now();
            self.observed = self.controller.observe(&self.object, self.now).await?;
            plan = C::plan(&self.observed, self.now);
            self.report(&plan).await?;
        }
        let outcome = outcome?;
        // of what is reported last, the facts were read anew
        let is_carried_out = outcome.done == acts && reports != Reports::Last;
        let after = || self.controller.after(&self.observed, &plan, clock::now());
        let ended = is_carried_out.then(after).flatten();
        let has_ended = ended.is_some();
        if let Some(ended) = ended {
            (self.observed, plan) = ended;
        }
        if self.learn(&mut plan, outcome.noted, outcome.found) || has_ended {
            self.report(&plan).await?;
        }
        if let Some(error) = outcome.failed {
            return Err(error);
        }
        self.succeeded().await?;
        let next = plan.next(self.now).sooner(outcome.next);
        Ok(next.sooner(self.held_back))
    }

    /// Adds what the actions found to the plan, last what was to be waited for. Returns whether
    /// that is new.
    fn learn(&self, plan: &mut C::Plan, noted: Option<Finding>, found: Option<Finding>) -> bool {
        let mut learn = |finding| self.controller.learn(&self.observed, plan, finding);
        match (noted, found) {
            (Some(noted), Some(found)) => {
                let first = learn(Some(noted));
                learn(Some(found)) || first
            }
            (noted, found) => learn(found.or(noted)),
        }
    }

    /// Returns whether the observed facts have changed.
    async fn confirm(&mut self, plan: &C::Plan) -> Result<bool, ReconcileError> {
        let (object, observed) = (&self.object, &self.observed);
        let confirmed = self.controller.confirm(object, observed, plan, self.now);
        let Some((object, observed)) = confirmed.await? else {
            return Ok(false);
        };
        (self.object, self.observed) = (object, observed);
        Ok(true)
    }

    /// Performs the actions. A status that is held back is written meanwhile if it lasts: an action
    /// may take long, and a person must be able to read what it does.
    async fn perform_and_report(
        &mut self,
        plan: &C::Plan,
        announced: &C::Plan,
    ) -> Result<Outcome, ReconcileError> {
        let left = match self.held_back {
            // a deleted object has no status
            Next::After(left) if !plan.actions().iter().any(C::ends) => left,
            _ => return self.perform(plan).await,
        };
        let (outcome, status, written) = {
            let performing = pin!(self.perform(plan));
            let performing = match select(performing, pin!(sleep(left.max(LONG)))).await {
                Either::Left((outcome, _)) => return outcome,
                Either::Right(((), performing)) => performing,
            };
            let Some(status) = self.rendered(announced) else {
                return performing.await;
            };
            let (outcome, written) = join(performing, self.publish(&status, announced)).await;
            (outcome, status, written)
        };
        match written {
            Ok(written) => {
                self.take(written, &status, announced);
                self.held_back = Next::OnChange;
            }
            // it is still held back, and written by the next pass
            Err(error) => tracing::debug!(%error, "failed to write a status beside an action"),
        }
        outcome
    }

    /// Performs the actions in order, independent ones concurrently, each only as the leader, until
    /// the effect of one must be waited for.
    async fn perform(&self, plan: &C::Plan) -> Result<Outcome, ReconcileError> {
        let mut outcome = Outcome::default();
        let (mut started, mut last) = (None, Duration::ZERO);
        let together = |a: &_, b: &_| C::is_independent(a) && C::is_independent(b);
        for group in plan.actions().chunk_by(together) {
            for actions in group.chunks(AT_ONCE) {
                let limits: Option<Vec<Duration>> = actions.iter().map(C::waits_after).collect();
                let limit = limits.and_then(|limits| limits.into_iter().max());
                // from the first of them on, so that each pass performs some
                let begun = limit.map(|_| *started.get_or_insert_with(Instant::now));
                let begun = begun.map_or(Duration::ZERO, |started| started.elapsed());
                if limit.is_some_and(|limit| begun + last > limit) {
                    outcome.next = Next::After(Duration::ZERO);
                    return Ok(outcome);
                }
                let batch = Instant::now();
                let all = join_all(actions.iter().map(|action| self.act(action))).await;
                last = batch.elapsed();
                for done in all {
                    match done {
                        Ok(done) => {
                            if !outcome.take(done) {
                                return Ok(outcome);
                            }
                        }
                        // what an earlier one found is told as well
                        Err(error) if outcome.found.is_some() => {
                            outcome.failed.get_or_insert(error);
                            return Ok(outcome);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(outcome)
    }

    async fn act(
        &self,
        action: &<C::Plan as Plan>::Action,
    ) -> Result<ActionOutcome, ReconcileError> {
        self.engine.must_lead()?;
        let done = self.controller.perform(&self.observed, action, self.now);
        done.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatara_core::api::conditions::{ConditionType, Reason};
    use tatara_core::pace::ETCD;

    #[test]
    fn what_is_refused_keeps_nothing_back_and_the_first_is_said() {
        let refused = |why: &str, reason| {
            let finding = Finding::no(ConditionType::ProfilePublished, reason, why);
            ActionOutcome::Refused(finding)
        };
        let mut outcome = Outcome::default();
        assert!(outcome.take(refused("a", Reason::Refused)));
        assert_eq!(outcome.next, Next::After(REFUSAL));
        assert!(outcome.take(refused("b", Reason::MemberChanging)));
        assert_eq!(outcome.next, Next::After(ETCD));
        let said = outcome.found.take().map(|finding| finding.message());
        assert_eq!(said.as_deref(), Some("a"));
        let held = Finding::no(ConditionType::Ready, Reason::Starting, "c");
        assert!(!outcome.take(ActionOutcome::NotYet(held)));
    }
}
