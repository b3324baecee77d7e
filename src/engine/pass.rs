//! One pass over one object.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use super::{Controller, Done, Engine, ReconcileError};
use crate::api::conditions::Finding;
use crate::core::{Next, Plan, Reports};

/// Observes an object, plans, does what is planned, and reports. Says when to do so again, beside on every change.
///
/// # Errors
/// The pass is to be repeated. What was done until then was reported as far as that could be written.
pub async fn pass<C: Controller>(
    engine: &Engine,
    controller: &C,
    object: Arc<C::Object>,
    now: Timestamp,
) -> Result<Next, ReconcileError> {
    let Some(observed) = controller.observe(&object, now).await? else {
        return Ok(Next::OnChange);
    };
    let mut plan = C::plan(&observed, now);
    let mut pass = Pass {
        engine,
        controller,
        object,
        observed,
        now,
    };
    if !plan.actions().is_empty()
        && let Some((object, observed)) = pass.confirm(&plan).await?
    {
        (pass.object, pass.observed) = (object, observed);
        plan = C::plan(&pass.observed, now);
    }
    let reports = plan.reports();
    if plan.actions().is_empty() || reports == Reports::First {
        let announced = controller.announced(&pass.observed, &plan);
        pass.report(announced.as_ref().unwrap_or(&plan)).await?;
    }
    let outcome = pass.perform(&plan).await;
    if !plan.actions().is_empty() && reports == Reports::Last {
        let Some(observed) = controller.observe(&pass.object, now).await? else {
            return outcome.map(|outcome| outcome.next);
        };
        pass.observed = observed;
        plan = C::plan(&pass.observed, now);
        pass.report(&plan).await?;
    }
    let outcome = outcome?;
    if controller.learn(&pass.observed, &mut plan, outcome.found) {
        pass.report(&plan).await?;
    }
    match outcome.failed {
        Some(error) => Err(error),
        None => Ok(plan.next(now).sooner(outcome.next)),
    }
}

pub(super) struct Pass<'a, C: Controller> {
    pub engine: &'a Engine,
    pub controller: &'a C,
    pub object: Arc<C::Object>,
    pub observed: C::Observed,
    pub now: Timestamp,
}

#[derive(Default)]
struct Outcome {
    next: Next,
    found: Option<Finding>,
    failed: Option<ReconcileError>,
}

impl<C: Controller> Pass<'_, C> {
    async fn confirm(&self, plan: &C::Plan) -> Result<Option<super::Confirmed<C>>, ReconcileError> {
        self.controller
            .confirm(&self.object, &self.observed, plan, self.now)
            .await
    }

    /// Does the actions in order, each while this process leads, until one has to be waited for.
    async fn perform(&self, plan: &C::Plan) -> Result<Outcome, ReconcileError> {
        let mut outcome = Outcome::default();
        for action in plan.actions() {
            self.engine.must_lead()?;
            let done = self.controller.perform(&self.observed, action, self.now);
            match done.await? {
                Done::Yes => {}
                Done::LookAgain(after) => outcome.next = outcome.next.sooner(Next::After(after)),
                Done::Failed(error) => outcome.failed = Some(error),
                Done::NotYet(finding) => {
                    outcome.found = Some(finding);
                    break;
                }
            }
        }
        Ok(outcome)
    }
}
