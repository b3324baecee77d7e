//! One pass over one object.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use super::{Controller, Done, Engine, ReconcileError};
use crate::api::conditions::Finding;
use crate::clock;
use crate::core::{Next, Plan, Reports};

/// How many actions are done at the same time.
const AT_ONCE: usize = 16;
/// How long a pass acts before it leaves to the next what may wait: the status moves meanwhile.
const ACTS_FOR: Duration = Duration::from_secs(1);

/// A pass that failed, and is to be repeated. What was done until then was reported as far as that could be written.
pub struct Failed<C: Controller> {
    /// Why.
    pub error: ReconcileError,
    /// The object as it was last read or written, if it is ours.
    pub object: Option<Arc<C::Object>>,
    /// When its status is to be written, although the pass failed.
    pub held_back: Next,
}

/// Observes an object, plans, does what is planned, and reports. Returns when to do so again, beside on every change.
pub async fn pass<C: Controller>(
    engine: &Engine,
    controller: &C,
    object: Arc<C::Object>,
) -> Result<Next, Failed<C>> {
    match controller.is_ours(&object).await {
        Ok(true) => {}
        Ok(false) => return Ok(Next::OnChange),
        Err(error) => {
            return Err(Failed {
                error,
                object: None,
                held_back: Next::OnChange,
            });
        }
    }
    let observed = controller.observe(&object, clock::now()).await;
    let observed = observed.map_err(|error| Failed {
        error,
        object: Some(object.clone()),
        held_back: Next::OnChange,
    })?;
    let mut pass = Pass {
        engine,
        controller,
        object,
        observed,
        now: clock::now(),
        held_back: Next::OnChange,
    };
    pass.run().await.map_err(|error| Failed {
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
    /// When the status that was not worth a write yet is.
    pub held_back: Next,
}

#[derive(Default)]
struct Outcome {
    next: Next,
    found: Option<Finding>,
    failed: Option<ReconcileError>,
}

impl Outcome {
    /// Takes in what an action came to. Returns whether those after it may follow.
    fn take(&mut self, done: Done) -> bool {
        match done {
            Done::Yes => {}
            Done::LookAgain(after) => self.next = self.next.sooner(Next::After(after)),
            Done::Failed(error) => self.failed = Some(error),
            Done::Refused(finding, after) => {
                self.found.get_or_insert(finding);
                self.next = self.next.sooner(Next::After(after));
            }
            Done::NotYet(finding) => {
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
        let (reports, is_idle) = (plan.reports(), plan.actions().is_empty());
        if is_idle || reports == Reports::First {
            let announced = self.controller.announced(&self.observed, &plan);
            self.report(announced.as_ref().unwrap_or(&plan)).await?;
        }
        let outcome = self.perform(&plan).await;
        if !is_idle && reports == Reports::Last {
            self.now = clock::now();
            self.observed = self.controller.observe(&self.object, self.now).await?;
            plan = C::plan(&self.observed, self.now);
            self.report(&plan).await?;
        }
        let outcome = outcome?;
        if self
            .controller
            .learn(&self.observed, &mut plan, outcome.found)
        {
            self.report(&plan).await?;
        }
        if let Some(error) = outcome.failed {
            return Err(error);
        }
        self.succeeded().await?;
        let next = plan.next(self.now).sooner(outcome.next);
        Ok(next.sooner(self.held_back))
    }

    /// Returns whether something else is observed since.
    async fn confirm(&mut self, plan: &C::Plan) -> Result<bool, ReconcileError> {
        let (object, observed) = (&self.object, &self.observed);
        let confirmed = self.controller.confirm(object, observed, plan, self.now);
        let Some((object, observed)) = confirmed.await? else {
            return Ok(false);
        };
        (self.object, self.observed) = (object, observed);
        Ok(true)
    }

    /// Does the actions in order, those that are independent of each other at the same time; each while this process leads,
    /// until one has to be waited for.
    async fn perform(&self, plan: &C::Plan) -> Result<Outcome, ReconcileError> {
        let mut outcome = Outcome::default();
        let started = Instant::now();
        let together = |a: &_, b: &_| C::is_independent(a) && C::is_independent(b);
        for group in plan.actions().chunk_by(together) {
            for actions in group.chunks(AT_ONCE) {
                if started.elapsed() >= ACTS_FOR && actions.iter().all(C::may_wait) {
                    outcome.next = Next::After(Duration::ZERO);
                    return Ok(outcome);
                }
                let all = join_all(actions.iter().map(|action| self.act(action))).await;
                for done in all {
                    if !outcome.take(done?) {
                        return Ok(outcome);
                    }
                }
            }
        }
        Ok(outcome)
    }

    async fn act(&self, action: &<C::Plan as Plan>::Action) -> Result<Done, ReconcileError> {
        self.engine.must_lead()?;
        let done = self.controller.perform(&self.observed, action, self.now);
        done.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::{ConditionType, Reason};

    #[test]
    fn what_is_refused_keeps_nothing_back_and_the_first_is_said() {
        let refused = |why: &str, seconds| {
            let finding = Finding::no(ConditionType::ProfilePublished, Reason::Refused, why);
            Done::Refused(finding, Duration::from_secs(seconds))
        };
        let mut outcome = Outcome::default();
        assert!(outcome.take(refused("a", 30)) && outcome.take(refused("b", 20)));
        assert_eq!(outcome.next, Next::After(Duration::from_secs(20)));
        let said = outcome.found.take().map(|finding| finding.message);
        assert_eq!(said.as_deref(), Some("a"));
        let held = Finding::no(ConditionType::Ready, Reason::Starting, "c");
        assert!(!outcome.take(Done::NotYet(held)));
    }
}
