//! Runs a controller on the objects of its kind.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::controller::{self as runtime, Action, Config};
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::failures::{Key, LOOK_AGAIN};
use super::pass::pass;
use super::span::span;
use super::{Chain, Controller, Engine, ReconcileError, report};
use crate::core::Next;

/// Where a controller's objects come from.
pub struct Watched<K: kube::Resource<DynamicType = ()> + 'static> {
    /// The objects, as the watch shows them.
    pub objects: Store<K>,
    /// Those to pass over.
    pub woken: UnboundedReceiver<ObjectRef<K>>,
}

/// Runs one controller until it is stopped: each object that is woken is passed over, one pass at a time per object. A
/// failed pass is repeated with back-off, and keeps no other object from its own.
pub async fn run<C: Controller>(
    engine: Arc<Engine>,
    controller: C,
    watched: Watched<C::Object>,
    stop: CancellationToken,
) {
    let controller = Arc::new(controller);
    let reconcile = move |object: Arc<C::Object>, engine: Arc<Engine>| {
        let controller = controller.clone();
        let span = span(C::NAME, object.as_ref());
        async move { Ok(over(&engine, controller.as_ref(), object).await) }.instrument(span)
    };
    // every failure is dealt with in `over`
    let never =
        |_: Arc<C::Object>, error: &std::convert::Infallible, _: Arc<Engine>| match *error {};
    runtime::Controller::for_shared_stream(stream::pending::<Arc<C::Object>>(), watched.objects)
        .with_config(Config::default().debounce(C::DEBOUNCE))
        .reconcile_on(UnboundedReceiverStream::new(watched.woken))
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(reconcile, never, engine)
        .for_each(|_| std::future::ready(()))
        .await;
}

/// One pass, and when the next is due.
async fn over<C: Controller>(engine: &Engine, controller: &C, object: Arc<C::Object>) -> Action {
    if controller.is_held(object.as_ref()).await {
        return Action::requeue(LOOK_AGAIN);
    }
    let key = (
        C::NAME,
        object.namespace().unwrap_or_default(),
        object.name_any(),
    );
    match pass(engine, controller, object.clone(), crate::clock::now()).await {
        Ok(next) => {
            engine.failures.clear(&key);
            (engine.count)(C::NAME, "ok");
            match next {
                Next::OnChange => Action::await_change(),
                Next::After(delay) => Action::requeue(delay),
            }
        }
        Err(error) => failed::<C>(engine, object.as_ref(), &key, &error).await,
    }
}

/// Conflicts, lost leadership and an API server that does not answer pass by themselves: these are only logged. Of
/// anything else that lasts the object says so.
async fn failed<C: Controller>(
    engine: &Engine,
    object: &C::Object,
    key: &Key,
    error: &ReconcileError,
) -> Action {
    (engine.count)(C::NAME, error.label());
    let delay = engine.failures.next_delay(key);
    if error.is_conflict() {
        tracing::debug!(%error, "conflict, trying again");
        return Action::requeue(delay);
    }
    let cause = Chain(error).to_string();
    tracing::warn!(error = %cause, retry_in = ?delay, "reconcile failed");
    if !error.passes_by_itself()
        && let Some(finding) = engine.failures.news(key, cause, error.remedy())
        && let Err(error) = report::failure::<C>(engine, object, &finding).await
    {
        tracing::warn!(error = %Chain(&error), "failed to write condition Reconciled");
    }
    Action::requeue(delay)
}
