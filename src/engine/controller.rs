//! What one kind's controller consists of.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::de::DeserializeOwned;

use super::ReconcileError;
use super::span::Traced;
use crate::api::conditions::{self, ConditionType, Finding, Status};
use crate::api::reported::Reported;
use crate::core::Plan;
use crate::store::Stored;

/// An object that passes are made over.
pub trait Object:
    Stored
    + Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Traced
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Stored
        + Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Traced
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// What an action came to.
#[derive(Debug)]
pub enum Done {
    /// It is done; the next may follow.
    Yes,
    /// The same, and what came of it is looked at after this time, for nothing tells of it.
    LookAgain(Duration),
    /// It has to be waited for: no further action.
    NotYet(Finding),
    /// It failed, and the actions after it do not depend on it.
    Failed(ReconcileError),
    /// It was refused, which is said; it is tried again after this time, and the actions after it do not depend on it.
    Refused(Finding, Duration),
}

/// One kind's controller: what a pass over an object of it reads, decides, does and reports. The engine does the rest.
pub trait Controller: Send + Sync + 'static {
    /// What passes are made over.
    type Object: Object;
    /// What a pass knows.
    type Observed: Send + Sync;
    /// What it decides.
    type Plan: Plan + Send + Sync;
    /// The object's status; `()` where it has none.
    type Status: Reported;

    /// Its name in logs, metrics and Events.
    const NAME: &'static str;
    /// Wakes of an object within this time are one.
    const TOGETHER: Duration = Duration::ZERO;
    /// Conditions whose news is worth an Event.
    const EVENTS: &'static [ConditionType] = &[];

    /// Whether no pass may be made over the object at the moment. Who keeps it back says so.
    fn is_held(&self, object: &Self::Object) -> impl Future<Output = bool> + Send;

    /// Whether the object is ours: nothing is written to one that is not.
    ///
    /// # Errors
    /// What an earlier version wrote on another provider's object could not be removed.
    fn is_ours(
        &self,
        _object: &Arc<Self::Object>,
    ) -> impl Future<Output = Result<bool, ReconcileError>> + Send {
        ready(Ok(true))
    }

    /// Reads what a pass needs to know.
    ///
    /// # Errors
    /// What is needed could not be read; the pass is repeated.
    fn observe(
        &self,
        object: &Arc<Self::Object>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Observed, ReconcileError>> + Send;

    /// Decides. Pure.
    fn plan(observed: &Self::Observed, now: Timestamp) -> Self::Plan;

    /// Reads live what a plan with actions rests on, where these must not be done by what the watch shows: the plan is
    /// then made again by what is there.
    ///
    /// # Errors
    /// It could not be read, or has changed; the pass is repeated.
    fn confirm(
        &self,
        _object: &Arc<Self::Object>,
        _observed: &Self::Observed,
        _plan: &Self::Plan,
        _now: Timestamp,
    ) -> impl Future<Output = Result<Option<Confirmed<Self>>, ReconcileError>> + Send {
        ready(Ok(None))
    }

    /// Whether an action may be done at the same time as others of which this is true.
    fn is_independent(_action: &<Self::Plan as Plan>::Action) -> bool {
        false
    }

    /// Whether an action may be left to the next pass when this one has taken long: what was done is reported first.
    fn may_wait(_action: &<Self::Plan as Plan>::Action) -> bool {
        false
    }

    /// Does one action. It chooses nothing, and may be repeated.
    ///
    /// # Errors
    /// The action failed: none after it is done, and the pass is repeated.
    fn perform(
        &self,
        observed: &Self::Observed,
        action: &<Self::Plan as Plan>::Action,
        now: Timestamp,
    ) -> impl Future<Output = Result<Done, ReconcileError>> + Send;

    /// Remembers what was found while acting, if anything, and adds it to the plan. Returns whether that is news. Comes
    /// last, unless an error ended the pass: what another controller reports is handed over here.
    fn learn(
        &self,
        _observed: &Self::Observed,
        _plan: &mut Self::Plan,
        _found: Option<Finding>,
    ) -> bool {
        false
    }

    /// A plan as it is announced, with what came of the same actions when they were last tried: what is hoped for is not
    /// written over what is known to come of it, pass after pass.
    fn announced(&self, _observed: &Self::Observed, _plan: &Self::Plan) -> Option<Self::Plan> {
        None
    }

    /// The status of an object, as it was last read or written.
    fn reported(object: &Self::Object) -> Option<&Self::Status>;

    /// The status that follows, with those of the old conditions that stay although no finding is about them; `None`
    /// where nothing is to be said. Pure.
    fn status(
        object: &Self::Object,
        observed: &Self::Observed,
        plan: &Self::Plan,
        now: Timestamp,
    ) -> Option<Self::Status>;

    /// Whether a status is one that an object passes through: it is written when it lasts.
    fn is_passing(_old: &Self::Status, _new: &Self::Status, _plan: &Self::Plan) -> bool {
        false
    }

    /// Adds what changes with each write, and is no reason for one.
    fn stamp(_status: &mut Self::Status, _now: Timestamp) {}

    /// Whether a finding of [`Self::EVENTS`] is worth an Event.
    fn is_news(old: &Self::Status, _new: &Self::Status, finding: &Finding) -> bool {
        match conditions::find(old.conditions(), finding.condition) {
            Some(old) => old.reason != finding.reason || old.status != finding.status.as_str(),
            None => finding.status != Status::Unknown,
        }
    }

    /// The status was written over `old`: this is the object since.
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

/// An object, and what a pass over it knows, read live.
pub type Confirmed<C> = (Arc<<C as Controller>::Object>, <C as Controller>::Observed);
