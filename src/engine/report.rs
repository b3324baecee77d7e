//! Writes the status of an object, and the Events that go with it. Only what differs is written.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use super::pass::Pass;
use super::{Controller, Engine, PassKey, ReconcileError, patch};
use crate::api::conditions::{self, ConditionType, Finding};
use crate::api::crd::bounds::clip;
use crate::api::reported::Reported;
use crate::core::{Next, Plan, kstatus};

impl<C: Controller> Pass<'_, C> {
    /// Writes the status that follows from a plan, if it differs, and an Event for each finding that is news. The object
    /// is from then on observed as it was written, so that what follows does not meet our own write as another's.
    pub(super) async fn report(&mut self, plan: &C::Plan) -> Result<(), ReconcileError> {
        let object = self.object.as_ref();
        let Some(mut new) = C::status(object, &self.observed, plan, self.now) else {
            return Ok(());
        };
        let old = C::reported(object).cloned().unwrap_or_default();
        // what became of passes is said at their end
        let of_passes = conditions::find(old.conditions(), ConditionType::Reconciled);
        let mut kept = without_reconciled(new.conditions());
        kept.extend(of_passes.cloned());
        let generation = object.meta().generation;
        let merged = conditions::merge(&kept, plan.findings(), generation, self.now);
        let complete = kstatus::complete(merged, old.conditions(), generation, self.now);
        new.report(complete, generation);
        if self.is_held_back(&old, &new, plan)? {
            return Ok(());
        }
        let Some(written) = self.write(&old, &new).await? else {
            return Ok(());
        };
        // not before: one that could not be written is tried again at once, and counts as a failure each time
        self.engine.unwritten.clear(&self.key());
        for finding in plan.findings() {
            if C::EVENTS.contains(&finding.condition) && C::is_news(&old, &new, finding) {
                self.engine.events.publish(&written, finding).await;
            }
        }
        self.object = Arc::new(written);
        let controller = self.controller;
        controller.written(&mut self.observed, plan, &old, &self.object, self.now);
        Ok(())
    }

    fn key(&self) -> PassKey {
        (
            C::NAME,
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        )
    }

    /// Whether a status is not to be written yet. If it lasts, it is in a later pass.
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
        } else if C::is_passing(old, new, plan) {
            let left = unwritten.hold_back(&key, self.now);
            if !left.is_zero() {
                self.held_back = Next::After(left);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A pass succeeded: what was said of those that failed is over.
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

/// Says on an object that passes over it fail. Its status stays about the generation that it was about.
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

/// The merge patch from one status to the next, as far as the definition lets it through; `None` where nothing differs.
/// What is gone is named in it: a merge patch leaves alone what it does not name.
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
