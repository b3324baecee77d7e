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
use super::pass::{Failed, pass};
use super::span::span;
use super::wakes::together;
use super::{Chain, Controller, Engine, ReconcileError, report};
use crate::clock;
use crate::core::Next;
use crate::store::Wake;

/// Where a controller's objects come from.
pub struct Watched<K: kube::Resource<DynamicType = ()> + 'static> {
    /// The objects, as the watch shows them.
    pub objects: Store<K>,
    /// Those to pass over.
    pub woken: UnboundedReceiver<Wake<K>>,
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
        .reconcile_on(together(watched.woken, C::TOGETHER))
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
    match pass(engine, controller, object.clone()).await {
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
        tracing::debug!(%error, "conflict, trying again");
    } else {
        tracing::warn!(error = %Chain(error), ?retry_in, "reconcile failed");
    }
}

/// Of what lasts, the object says so: in an Event, and in a condition where it is ours and has any.
async fn report_failure<C: Controller>(
    engine: &Engine,
    object: &C::Object,
    key: &Key,
    failed: &Failed<C>,
) {
    let report = engine.failures.report(key, &failed.error, clock::now());
    let Some((finding, is_news)) = report else {
        return;
    };
    if is_news {
        engine.events.publish(object, &finding).await;
    }
    if let Some(object) = &failed.object
        && let Err(error) = report::failure::<C>(engine, object, &finding).await
    {
        tracing::warn!(error = %Chain(&error), "failed to write condition Reconciled");
    }
}
