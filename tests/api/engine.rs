//! The engine against a real API server, with a controller whose action ends when the test says so.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Api;
use serde_json::json;
use tatara::engine::{ActionOutcome, Controller, Engine, ReconcileError, pass};
use tatara_core::api::conditions::{ConditionType, Finding, Reason, find};
use tatara_core::api::{Hypervisor, HypervisorStatus};
use tatara_core::{Next, Plan};
use tokio::sync::Notify;

use crate::support::kinds;
use crate::support::plane::Plane;
use crate::support::wait::eventually;

struct Slow {
    engine: Engine,
    end: Notify,
}

struct OneAction([Finding; 1]);

impl Plan for OneAction {
    type Action = ();

    fn actions(&self) -> &[()] {
        &[()]
    }

    fn findings(&self) -> &[Finding] {
        &self.0
    }

    fn next(&self, _: Timestamp) -> Next {
        Next::OnChange
    }
}

impl Controller for Slow {
    type Object = Hypervisor;
    type Observed = ();
    type Plan = OneAction;
    type Status = HypervisorStatus;

    const NAME: &'static str = "slow";

    fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn is_held(&self, _: &Hypervisor) -> bool {
        false
    }

    async fn observe(&self, _: &Arc<Hypervisor>, _: Timestamp) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn plan((): &(), _: Timestamp) -> OneAction {
        let finding = Finding::no(ConditionType::Ready, Reason::Starting, "the action runs");
        OneAction([finding])
    }

    async fn perform(
        &self,
        (): &(),
        (): &(),
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        self.end.notified().await;
        Ok(ActionOutcome::Yes)
    }

    fn reported(hypervisor: &Hypervisor) -> Option<&HypervisorStatus> {
        hypervisor.status.as_ref()
    }

    fn status(
        hypervisor: &Hypervisor,
        (): &(),
        _: &OneAction,
        _: Timestamp,
    ) -> Option<HypervisorStatus> {
        hypervisor.status.clone()
    }

    fn holds_back((): &(), _: &HypervisorStatus, _: &HypervisorStatus, _: &OneAction) -> Duration {
        Duration::from_secs(2)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_status_that_is_held_back_is_written_while_an_action_lasts() {
    let plane = Plane::shared();
    let client = plane.client().await;
    kinds::install(&client).await;
    kinds::make_namespace(&client, "engine").await;
    let hypervisors = Api::<Hypervisor>::namespaced(client.clone(), "engine");
    let hypervisor = json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor", "metadata": { "name": "slow" },
        "spec": { "url": "https://127.0.0.1:1", "credentialsRef": { "name": "none" } },
    });
    let hypervisor = serde_json::from_value(hypervisor).expect("a Hypervisor");
    let hypervisor = hypervisors.create(&Default::default(), &hypervisor).await;
    let hypervisor = Arc::new(hypervisor.expect("a created Hypervisor"));

    let slow = Arc::new(Slow {
        engine: Engine::new(client, Arc::default(), || true, |_, _| ()),
        end: Notify::new(),
    });
    let running = tokio::spawn({
        let slow = slow.clone();
        async move {
            pass(slow.as_ref(), hypervisor)
                .await
                .map_err(|failed| failed.error)
        }
    });
    let message = eventually("the status of an action that runs", async || {
        let hypervisor = hypervisors.get("slow").await.expect("the Hypervisor");
        let conditions = hypervisor.status.unwrap_or_default().conditions;
        find(&conditions, ConditionType::Ready).map(|ready| ready.message.clone())
    })
    .await;
    assert_eq!(message, "the action runs");
    assert!(!running.is_finished(), "the action runs still");
    slow.end.notify_one();
    let next = running.await.expect("a pass without a panic");
    assert_eq!(next.expect("a pass that succeeds"), Next::OnChange);
}
