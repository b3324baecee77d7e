//! Runs a controller on the objects of its kind.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::controller::{self as runtime, Action};
use kube::runtime::reflector::Store;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::failures::{Key, LOOK_AGAIN};
use super::pass::{FailedPass, pass};
use super::span::span;
use super::wakes::together;
use super::{Chain, Controller, Engine, ReconcileError, report};
use crate::clock;
use crate::store::Wake;
use tatara_core::Next;

/// The objects of a controller.
pub struct ObjectFeed<K: kube::Resource<DynamicType = ()> + 'static> {
    /// Cache of the objects, from the watch.
    pub objects: Store<K>,
    /// The objects to reconcile.
    pub woken: UnboundedReceiver<Wake<K>>,
}

/// Runs one controller until it is stopped: each woken object gets a pass, one at a time per
/// object. A failed pass is repeated with back-off and does not delay other objects.
pub async fn run<C: Controller>(
    controller: Arc<C>,
    watched: ObjectFeed<C::Object>,
    stop: CancellationToken,
) {
    let reconcile = |object: Arc<C::Object>, controller: Arc<C>| {
        let span = span(C::NAME, object.as_ref());
        async move { Ok(over(controller.as_ref(), object).await) }.instrument(span)
    };
    // `over` handles every failure
    let never = |_: Arc<C::Object>, error: &std::convert::Infallible, _: Arc<C>| match *error {};
    runtime::Controller::for_shared_stream(stream::pending::<Arc<C::Object>>(), watched.objects)
        .reconcile_on(together(watched.woken, C::TOGETHER))
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(reconcile, never, controller)
        .for_each(|_| std::future::ready(()))
        .await;
}

/// Makes one pass, and returns when the next is due.
async fn over<C: Controller>(controller: &C, object: Arc<C::Object>) -> Action {
    let engine = controller.engine();
    if controller.is_held(object.as_ref()).await {
        return Action::requeue(LOOK_AGAIN);
    }
    let key = (
        C::NAME,
        object.namespace().unwrap_or_default(),
        object.name_any(),
    );
    match pass(controller, object.clone()).await {
        Ok(next) => {
            engine.failures.clear(&key);
            (engine.count)(C::NAME, "ok");
            match next {
                Next::OnChange => Action::await_change(),
                Next::After(delay) => Action::requeue(delay),
            }
        }
        Err(failed) => {
            (engine.count)(C::NAME, failed.error.label());
            let delay = engine.failures.next_delay(&key);
            log(&failed.error, delay);
            report_failure(engine, object.as_ref(), &key, &failed).await;
            Action::requeue(match failed.held_back {
                Next::OnChange => delay,
                Next::After(left) => delay.min(left),
            })
        }
    }
}

fn log(error: &ReconcileError, retry_in: Duration) {
    if error.is_conflict() {
        tracing::debug!(%error, "retrying after a conflict");
    } else {
        tracing::warn!(error = %Chain(error), ?retry_in, "failed to reconcile");
    }
}

/// Reports a lasting failure on the object: in an Event, and in a condition if it is ours and has
/// conditions.
async fn report_failure<C: Controller>(
    engine: &Engine,
    object: &C::Object,
    key: &Key,
    failed: &FailedPass<C>,
) {
    let report = engine.failures.report(key, &failed.error, clock::now());
    let Some((finding, is_news)) = report else {
        return;
    };
    if is_news {
        engine.events.publish_later(object, &finding);
    }
    if let Some(object) = &failed.object
        && let Err(error) = report::failure::<C>(engine, object, &finding).await
    {
        tracing::warn!(error = %Chain(&error), "failed to write condition Reconciled");
    }
}
