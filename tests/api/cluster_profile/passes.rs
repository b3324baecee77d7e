//! Passes over the profiles of one Cluster, by the engine, at a time and with a member that the test chooses.

use std::sync::{Arc, Mutex};

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tatara::controllers::cluster_profile::{Memory, ProfileView, observe, perform, remember};
use tatara::engine::{ActionOutcome, Controller, Engine, ReconcileError, pass};
use tatara_core::Next;
use tatara_core::api::Cluster;
use tatara_core::api::conditions::Finding;
use tatara_core::cluster_profile::Input;
use tatara_core::cluster_profile::plan::{self, Action, Plan};

/// A manager's part for profiles, from its start on.
#[derive(Clone)]
pub struct Profiles {
    engine: Arc<Engine>,
    pub memory: Arc<Memory>,
}

/// What came of a pass.
#[derive(Debug)]
pub struct Report {
    /// Conditions for the Cluster.
    pub findings: Vec<Finding>,
    /// When the next is due.
    pub next: Next,
}

impl Profiles {
    pub fn new(client: Client) -> Self {
        let engine = Engine::new(client, Arc::default(), || true, |_, _| ());
        Self {
            engine: Arc::new(engine),
            memory: Arc::default(),
        }
    }

    pub async fn pass(&self, input: &Input, now: Timestamp) -> Result<Report, ReconcileError> {
        let one = Pass {
            profiles: self.clone(),
            input: input.clone(),
            now,
            found: Mutex::default(),
        };
        let next = pass(&one, input.cluster.clone()).await;
        let next = next.map_err(|failed| failed.error)?;
        let findings = one.found.into_inner().expect("the findings");
        Ok(Report { findings, next })
    }
}

/// The controller, with an input that is given.
struct Pass {
    profiles: Profiles,
    input: Input,
    now: Timestamp,
    found: Mutex<Vec<Finding>>,
}

impl Controller for Pass {
    type Object = Cluster;
    type Observed = (ProfileView, Timestamp);
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "cluster-profile";

    fn engine(&self) -> &Engine {
        &self.profiles.engine
    }

    async fn is_held(&self, _: &Cluster) -> bool {
        false
    }

    async fn observe(
        &self,
        _: &Arc<Cluster>,
        _: Timestamp,
    ) -> Result<Self::Observed, ReconcileError> {
        let Profiles { engine, memory } = &self.profiles;
        // one API server is both the management cluster and the member
        let member = self.input.is_connected.then(|| engine.client.clone());
        let given = (self.input.clone(), member);
        let seen = observe(&engine.client, memory, given, self.now).await?;
        Ok((seen, self.now))
    }

    fn plan((seen, now): &Self::Observed, _: Timestamp) -> Plan {
        plan::plan(&seen.observed, *now)
    }

    async fn perform(
        &self,
        (seen, _): &Self::Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        perform(&self.profiles.engine, &self.profiles.memory, seen, action).await
    }

    fn learn(&self, (seen, _): &Self::Observed, plan: &mut Plan, found: Option<Finding>) -> bool {
        plan.learn(found);
        remember(&self.profiles.memory, seen, plan);
        self.found
            .lock()
            .expect("the findings")
            .clone_from(&plan.findings);
        false
    }

    fn reported(_: &Cluster) -> Option<&()> {
        None
    }

    fn status(_: &Cluster, _: &Self::Observed, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}
