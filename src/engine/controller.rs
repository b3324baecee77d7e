//! The parts of one kind's controller.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::de::DeserializeOwned;

use super::span::LogContext;
use super::{Engine, ReconcileError};
use crate::store::InStores;
use tatara_core::Plan;
use tatara_core::api::conditions::{self, ConditionType, Finding};
use tatara_core::api::reported::ConditionedStatus;

/// An object that a controller reconciles.
pub trait Object:
    InStores
    + Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + LogContext
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: InStores
        + Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + LogContext
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The outcome of an action.
#[derive(Debug)]
pub enum ActionOutcome {
    /// It succeeded; the next action follows.
    Yes,
    /// It succeeded, and a finding reports something about that; the next action follows.
    Noted(Finding),
    /// It succeeded; the next pass comes after this time, because no watch reports its effect.
    LookAgain(Duration),
    /// Its effect must be waited for: no further action in this pass.
    NotYet(Finding),
    /// It failed; the following actions do not depend on it.
    Failed(ReconcileError),
    /// It was refused, which a finding reports. It is retried by the reason of that; the following
    /// actions do not depend on it.
    Refused(Finding),
}

/// One kind's controller: what a pass over an object reads, decides, does and reports. The engine
/// does the rest.
pub trait Controller: Send + Sync + 'static {
    /// The kind that it reconciles.
    type Object: Object;
    /// The facts that a pass reads.
    type Observed: Send + Sync;
    /// The decision of a pass.
    type Plan: Plan + Send + Sync;
    /// The object's status; `()` for a kind without one.
    type Status: ConditionedStatus;

    /// Name in logs, metrics and Events.
    const NAME: &'static str;
    /// Wakes of an object within this time cause one pass.
    const TOGETHER: Duration = Duration::ZERO;
    /// Conditions whose changes are published as Events.
    const EVENTS: &'static [ConditionType] = &[];

    /// The engine that runs its passes.
    fn engine(&self) -> &Engine;

    /// Whether the object may not be reconciled at the moment. The code that holds it back reports
    /// the cause.
    fn is_held(&self, object: &Self::Object) -> impl Future<Output = bool> + Send;

    /// Whether the object belongs to this provider: nothing is written to others.
    ///
    /// # Errors
    /// Data that an earlier version wrote on another provider's object cannot be removed.
    fn is_ours(
        &self,
        _object: &Arc<Self::Object>,
    ) -> impl Future<Output = Result<bool, ReconcileError>> + Send {
        ready(Ok(true))
    }

    /// Reads the facts that a pass needs.
    ///
    /// # Errors
    /// A fact cannot be read; the pass is repeated.
    fn observe(
        &self,
        object: &Arc<Self::Object>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Observed, ReconcileError>> + Send;

    /// Decides, without I/O.
    fn plan(observed: &Self::Observed, now: Timestamp) -> Self::Plan;

    /// Reads the object and the facts of a plan from the API server, for actions that must not rest
    /// on the watch's cache: the plan is then made again from them.
    ///
    /// # Errors
    /// A fact cannot be read, or has changed; the pass is repeated.
    fn confirm(
        &self,
        _object: &Arc<Self::Object>,
        _observed: &Self::Observed,
        _plan: &Self::Plan,
        _now: Timestamp,
    ) -> impl Future<Output = Result<Option<LiveView<Self>>, ReconcileError>> + Send {
        ready(Ok(None))
    }

    /// Whether an action may run concurrently with other such actions.
    fn is_independent(_action: &<Self::Plan as Plan>::Action) -> bool {
        false
    }

    /// The duration of a pass after which an action is deferred to the next one, so that the status
    /// is written and the plan is made anew; `None` if it is never deferred.
    fn waits_after(_action: &<Self::Plan as Plan>::Action) -> Option<Duration> {
        None
    }

    /// Whether the object may be removed by an action.
    fn ends(_action: &<Self::Plan as Plan>::Action) -> bool {
        false
    }

    /// Performs one action. It makes no choices and is idempotent.
    ///
    /// # Errors
    /// The action failed: the following ones are not performed, and the pass is repeated.
    fn perform(
        &self,
        observed: &Self::Observed,
        action: &<Self::Plan as Plan>::Action,
        now: Timestamp,
    ) -> impl Future<Output = Result<ActionOutcome, ReconcileError>> + Send;

    /// Facts and plan once all actions of a plan were done, if these are known without another
    /// look: that is reported at once, and others need not wait for the next pass. Nothing of that
    /// plan is carried out.
    fn after(
        &self,
        _observed: &Self::Observed,
        _plan: &Self::Plan,
        _now: Timestamp,
    ) -> Option<(Self::Observed, Self::Plan)> {
        None
    }

    /// Stores what the actions found and adds it to the plan. Returns whether it is new. Called
    /// last, unless an error ended the pass: findings that another controller reports are passed on
    /// here.
    fn learn(
        &self,
        _observed: &Self::Observed,
        _plan: &mut Self::Plan,
        _found: Option<Finding>,
    ) -> bool {
        false
    }

    /// The plan as it is announced, with the last outcome of the same actions: an intention does
    /// not overwrite a known failure in every pass.
    fn announced(&self, _observed: &Self::Observed, _plan: &Self::Plan) -> Option<Self::Plan> {
        None
    }

    /// The status of an object as last read or written.
    fn reported(object: &Self::Object) -> Option<&Self::Status>;

    /// The new status, including the old conditions that remain without a finding; `None`
    /// if there is nothing to report. No I/O.
    fn status(
        object: &Self::Object,
        observed: &Self::Observed,
        plan: &Self::Plan,
        now: Timestamp,
    ) -> Option<Self::Status>;

    /// Adds to a new status, whose conditions are complete, what follows from these.
    fn explain(
        _object: &Self::Object,
        _observed: &Self::Observed,
        _status: &mut Self::Status,
        _plan: &Self::Plan,
        _now: Timestamp,
    ) {
    }

    /// For how long a status is held back, because it is expected to change before anybody reads
    /// it: it is written only if it lasts that long. Zero: it is written at once. Kinds that hold
    /// back go by `tatara_core::status_write`.
    fn holds_back(
        _observed: &Self::Observed,
        _old: &Self::Status,
        _new: &Self::Status,
        _plan: &Self::Plan,
    ) -> Duration {
        Duration::ZERO
    }

    /// Adds fields that change with each write and do not cause one.
    fn stamp(_status: &mut Self::Status, _now: Timestamp) {}

    /// Whether a finding of [`Self::EVENTS`] is published as an Event.
    fn is_news(
        _object: &Self::Object,
        old: &Self::Status,
        _new: &Self::Status,
        finding: &Finding,
    ) -> bool {
        conditions::is_news(old.conditions(), finding)
    }

    /// Called after the status was written over `old`, with the object as written.
    fn written(
        &self,
        _observed: &mut Self::Observed,
        _plan: &Self::Plan,
        _old: &Self::Status,
        _object: &Arc<Self::Object>,
        _now: Timestamp,
    ) {
    }
}

/// An object and the facts of a pass, read from the API server.
pub type LiveView<C> = (Arc<<C as Controller>::Object>, <C as Controller>::Observed);
