//! Writes the status of an object and publishes its Events. Only differences are written.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use super::pass::Pass;
use super::{Controller, Engine, PassKey, ReconcileError, patch};
use tatara_core::api::conditions::{self, ConditionType, Finding};
use tatara_core::api::crd::bounds::clip;
use tatara_core::api::reported::ConditionedStatus;
use tatara_core::{Next, Plan, kstatus};

/// The status that an object has, and the one that follows from a plan.
pub(super) struct Rendered<C: Controller> {
    old: C::Status,
    new: C::Status,
}

impl<C: Controller> Pass<'_, C> {
    /// Writes the status of a plan if it differs and is not held back, and an Event for each new
    /// finding.
    pub(super) async fn report(&mut self, plan: &C::Plan) -> Result<(), ReconcileError> {
        let Some(status) = self.rendered(plan) else {
            return Ok(());
        };
        if self.is_held_back(&status.old, &status.new, plan)? {
            return Ok(());
        }
        let written = self.publish(&status, plan).await?;
        self.take(written, &status, plan);
        Ok(())
    }

    /// What is written and what would be written; none for an object that has no status of ours.
    pub(super) fn rendered(&self, plan: &C::Plan) -> Option<Rendered<C>> {
        let object = self.object.as_ref();
        let mut new = C::status(object, &self.observed, plan, self.now)?;
        let old = C::reported(object).cloned().unwrap_or_default();
        // condition Reconciled is written at the end of a pass
        let of_passes = conditions::find(old.conditions(), ConditionType::Reconciled);
        let mut kept = without_reconciled(new.conditions());
        kept.extend(of_passes.cloned());
        let generation = object.meta().generation;
        let merged = conditions::merge(&kept, plan.findings(), generation, self.now);
        let complete = kstatus::complete(merged, old.conditions(), generation, self.now);
        new.report(complete, generation);
        C::explain(object, &self.observed, &mut new, plan, self.now);
        Some(Rendered { old, new })
    }

    /// Writes a status if it differs, and its Events. Returns the written object.
    pub(super) async fn publish(
        &self,
        status: &Rendered<C>,
        plan: &C::Plan,
    ) -> Result<Option<C::Object>, ReconcileError> {
        let Rendered { old, new } = status;
        let Some(written) = self.write(old, new).await? else {
            return Ok(None);
        };
        // not before: a failed write is retried at once, and counts as a failure each time
        self.engine.unwritten.clear(&self.key());
        for finding in plan.findings() {
            if C::EVENTS.contains(&finding.condition) && C::is_news(&written, old, new, finding) {
                self.engine.events.publish_later(&written, finding);
            }
        }
        Ok(Some(written))
    }

    /// Continues from the written object, so that our own write is not taken for a concurrent
    /// change.
    pub(super) fn take(
        &mut self,
        written: Option<C::Object>,
        status: &Rendered<C>,
        plan: &C::Plan,
    ) {
        let Some(written) = written else {
            return;
        };
        self.object = Arc::new(written);
        let controller = self.controller;
        controller.written(
            &mut self.observed,
            plan,
            &status.old,
            &self.object,
            self.now,
        );
    }

    fn key(&self) -> PassKey {
        (
            C::NAME,
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        )
    }

    /// Whether a status is held back. If it lasts, a later pass writes it.
    fn is_held_back(
        &mut self,
        old: &C::Status,
        new: &C::Status,
        plan: &C::Plan,
    ) -> Result<bool, ReconcileError> {
        let key = self.key();
        let unwritten = &self.engine.unwritten;
        self.held_back = Next::OnChange;
        if new == old || difference(old, new)?.is_none() {
            unwritten.clear(&key);
        } else {
            let time = C::holds_back(&self.observed, old, new, plan);
            let left = unwritten.hold_back(&key, self.now, time);
            if !left.is_zero() {
                self.held_back = Next::After(left);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Clears the report of failed passes after one that succeeded.
    pub(super) async fn succeeded(&mut self) -> Result<(), ReconcileError> {
        let Some(old) = C::reported(&self.object).cloned() else {
            return Ok(());
        };
        if conditions::find(old.conditions(), ConditionType::Reconciled).is_none() {
            return Ok(());
        }
        let mut new = old.clone();
        let kept = without_reconciled(old.conditions());
        let generation = self.object.meta().generation;
        let complete = kstatus::complete(kept, old.conditions(), generation, self.now);
        new.report(complete, old.generation());
        self.write(&old, &new).await.map(drop)
    }

    async fn write(
        &self,
        old: &C::Status,
        new: &C::Status,
    ) -> Result<Option<C::Object>, ReconcileError> {
        if new == old || difference(old, new)?.is_none() {
            return Ok(None);
        }
        let mut stamped = new.clone();
        C::stamp(&mut stamped, self.now);
        write(self.engine, self.object.as_ref(), old, &stamped).await
    }
}

/// Reports on an object that its passes fail. `observedGeneration` of its status does not change.
pub(super) async fn failure<C: Controller>(
    engine: &Engine,
    object: &C::Object,
    finding: &Finding,
) -> Result<(), ReconcileError> {
    let old = C::reported(object).cloned().unwrap_or_default();
    let (generation, now) = (object.meta().generation, crate::clock::now());
    let findings = std::slice::from_ref(finding);
    let mut new = old.clone();
    let merged = conditions::merge(old.conditions(), findings, generation, now);
    let complete = kstatus::complete(merged, old.conditions(), generation, now);
    new.report(complete, old.generation());
    if new != old {
        write(engine, object, &old, &new).await?;
    }
    Ok(())
}

fn without_reconciled(conditions: &[Condition]) -> Vec<Condition> {
    let mut kept = conditions.to_vec();
    kept.retain(|condition| condition.type_ != ConditionType::Reconciled.as_str());
    kept
}

/// The merge patch from one status to the next, within the limits of the definition; `None` if
/// nothing differs. Removed fields are null in it: a merge patch keeps the fields that it omits.
fn difference<S: Serialize>(old: &S, new: &S) -> Result<Option<Value>, ReconcileError> {
    let json = |status: &S| {
        serde_json::to_value(status)
            .map_err(|error| ReconcileError::other("write the status", error))
    };
    let mut new = json(new)?;
    clip(&mut new);
    let change = patch::replacement(&json(old)?, &new);
    let is_empty = change.as_object().is_some_and(serde_json::Map::is_empty);
    Ok((!is_empty).then_some(change))
}

async fn write<K, S>(
    engine: &Engine,
    object: &K,
    old: &S,
    new: &S,
) -> Result<Option<K>, ReconcileError>
where
    K: super::controller::Object,
    S: Serialize,
{
    let Some(change) = difference(old, new)? else {
        return Ok(None);
    };
    engine.must_lead()?;
    patch::status(engine, object, change).await.map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_definition_cuts_is_no_difference_the_second_time() {
        let long = json!({ "message": "x".repeat(40_000), "state": "Available" });
        let first = difference(&json!({ "reason": "Gone" }), &long).expect("json");
        let first = first.expect("a difference");
        assert_eq!(first["reason"], Value::Null);
        let stored = json!({ "message": first["message"], "state": "Available" });
        assert!(
            first["message"]
                .as_str()
                .is_some_and(|text| text.len() < 40_000)
        );
        assert_eq!(difference(&stored, &long).expect("json"), None);
    }
}
