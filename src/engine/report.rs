//! Writes the status of an object, and the Events that go with it. Only what differs is written.

use std::sync::Arc;

use kube::Resource;
use serde::Serialize;
use serde_json::Value;

use super::pass::Pass;
use super::{Controller, Engine, ReconcileError, patch};
use crate::api::conditions::{self, ConditionType, Finding};
use crate::api::reported::Reported;
use crate::core::Plan;

impl<C: Controller> Pass<'_, C> {
    /// Writes the status that follows from a plan, if it differs, and an Event for each finding that is news. The object
    /// is from then on observed as it was written, so that what follows does not meet our own write as another's.
    pub(super) async fn report(&mut self, plan: &C::Plan) -> Result<(), ReconcileError> {
        let object = self.object.as_ref();
        let Some(mut new) = C::status(object, &self.observed, plan, self.now) else {
            return Ok(());
        };
        let generation = object.meta().generation;
        let mut kept = new.conditions().to_vec();
        // this pass did not fail
        kept.retain(|condition| condition.type_ != ConditionType::Reconciled.as_str());
        let merged = conditions::merge(&kept, plan.findings(), generation, self.now);
        new.report(merged, generation);
        let old = C::reported(object).cloned().unwrap_or_default();
        if new == old {
            return Ok(());
        }
        self.engine.must_lead()?;
        C::stamp(&mut new, self.now);
        let written = write(self.engine, object, &old, &new).await?;
        let before = old.conditions();
        for finding in plan.findings() {
            if C::EVENTS.contains(&finding.condition)
                && C::is_news(conditions::find(before, finding.condition), finding)
            {
                self.engine.events.publish(object, finding).await;
            }
        }
        self.object = Arc::new(written);
        let controller = self.controller;
        controller.written(&mut self.observed, plan, &old, &self.object, self.now);
        Ok(())
    }
}

/// Says on an object that passes over it fail: in a condition, where it has any, and in an Event.
pub(super) async fn failure<C: Controller>(
    engine: &Engine,
    object: &C::Object,
    finding: &Finding,
) -> Result<(), ReconcileError> {
    let old = C::reported(object).cloned().unwrap_or_default();
    let generation = object.meta().generation;
    let mut new = old.clone();
    let findings = std::slice::from_ref(finding);
    let merged = conditions::merge(old.conditions(), findings, generation, crate::clock::now());
    new.report(merged, generation);
    if new != old {
        engine.must_lead()?;
        write(engine, object, &old, &new).await?;
    }
    engine.events.publish(object, finding).await;
    Ok(())
}

async fn write<K, S>(engine: &Engine, object: &K, old: &S, new: &S) -> Result<K, ReconcileError>
where
    K: super::controller::Object,
    S: Serialize,
{
    let json = |status: &S| {
        serde_json::to_value(status)
            .map_err(|error| ReconcileError::other("write the status", error))
    };
    // what is gone is named: a merge patch leaves out what stays
    let change: Value = patch::replacement(&json(old)?, &json(new)?);
    patch::status(engine, object, change).await
}
