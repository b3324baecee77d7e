//! Runs the controllers on the stores.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::context::Context;
use super::span::{Told, span};
use crate::controllers::ReconcileError;
use crate::controllers::unreadable::{self, Leans};
use crate::store::Kind;

/// Sets count many Machines: changes that come together are counted once.
pub const DEBOUNCE_COUNTS: Duration = Duration::from_millis(50);

/// What a controller is run with.
pub struct Running {
    /// Everything that the reconciles share.
    pub context: Arc<Context>,
    /// Ends the controllers.
    pub stop: CancellationToken,
}

impl Running {
    /// Runs one controller until it is stopped: each object that is woken is reconciled, one pass at a
    /// time per object. A failed pass is repeated with back-off; it never stops the others.
    pub async fn run<K, F>(
        &self,
        name: &'static str,
        kind: &Kind<K>,
        woken: UnboundedReceiver<ObjectRef<K>>,
        debounce: Duration,
        reconcile: fn(Arc<K>, Arc<Context>) -> F,
    ) where
        K: Told
            + Leans
            + Resource<DynamicType = ()>
            + Clone
            + Debug
            + Send
            + Sync
            + serde::de::DeserializeOwned
            + 'static,
        F: Future<Output = Result<Action, ReconcileError>> + Send + 'static,
    {
        let policy = move |object: Arc<K>, error: &ReconcileError, context: Arc<Context>| {
            let key = (
                name,
                object.namespace().unwrap_or_default(),
                object.name_any(),
            );
            let delay = context.failures.next_delay(&key);
            context.metrics.reconciled(name, error.label());
            let _told = span(name, object.as_ref()).entered();
            if error.is_conflict() {
                tracing::debug!(%error, "conflict, looking again");
            } else {
                let cause = crate::controllers::Chain(error).to_string();
                tracing::warn!(error = %cause, retry_in = ?delay, "reconcile failed");
                if let Some(finding) = context.failures.news(&key, cause) {
                    // an Event is worth no wait
                    let tasks = context.tasks.clone();
                    tasks.spawn(async move { context.event(object.as_ref(), &finding).await });
                }
            }
            Action::requeue(delay)
        };
        let pass = move |object: Arc<K>, context: Arc<Context>| async move {
            let key = (
                name,
                object.namespace().unwrap_or_default(),
                object.name_any(),
            );
            if unreadable::holds(&context, object.as_ref()).await {
                return Ok(Action::requeue(unreadable::LOOK_AGAIN));
            }
            let told = span(name, object.as_ref());
            let action = reconcile(object, context.clone()).instrument(told).await?;
            context.failures.clear(&key);
            context.metrics.reconciled(name, "ok");
            Ok(action)
        };
        Controller::for_shared_stream(stream::pending::<Arc<K>>(), kind.reader())
            .with_config(Config::default().debounce(debounce))
            .reconcile_on(UnboundedReceiverStream::new(woken))
            .graceful_shutdown_on(self.stop.clone().cancelled_owned())
            .run(pass, policy, self.context.clone())
            .for_each(|_| std::future::ready(()))
            .await;
    }
}
