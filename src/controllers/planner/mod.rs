//! The planner of a control plane: gives the turn to one Machine at a time, of those that ask for
//! it. It reconciles Clusters beside their own controller.

mod observe;

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::machine::{Machines, turn};
use super::paused;
use crate::controllers::ownership::ProviderObject;
use crate::engine::{ActionOutcome, Controller, Engine, ReconcileError};
use tatara_core::api::Cluster;
use tatara_core::api::conditions::Finding;
use tatara_core::planner::{Action, Plan, plan};

/// The controller of the turns of Clusters.
pub struct Planners {
    /// The controller of Machines, with what it knows of their hosts.
    pub machines: Arc<Machines>,
}

/// The Cluster of a pass, and what is known of its control plane.
pub struct Sight {
    cluster: Arc<Cluster>,
    observed: tatara_core::planner::Observed,
}

impl Controller for Planners {
    type Object = Cluster;
    type Observed = Sight;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "planner";

    fn engine(&self) -> &Engine {
        &self.machines.base.engine
    }

    async fn is_held(&self, cluster: &Cluster) -> bool {
        self.machines.base.is_held(cluster).await
    }

    /// Nothing is granted while the Cluster is paused: its Machines are, too.
    async fn is_ours(&self, cluster: &Arc<Cluster>) -> Result<bool, ReconcileError> {
        let stores = self.machines.base.stores();
        let is_paused = paused::paused_by(stores, cluster.as_ref()).is_some();
        Ok(cluster.is_ours(stores) && !is_paused)
    }

    async fn observe(&self, cluster: &Arc<Cluster>, _: Timestamp) -> Result<Sight, ReconcileError> {
        Ok(Sight {
            cluster: cluster.clone(),
            observed: observe::observe(&self.machines, cluster),
        })
    }

    fn plan(sight: &Sight, _: Timestamp) -> Plan {
        plan(&sight.observed)
    }

    async fn perform(
        &self,
        sight: &Sight,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        let (turns, cluster) = (&self.machines.turns, sight.cluster.as_ref());
        match action {
            // what is read is remembered, which wakes
            Action::Read => turn::now(turns, cluster).await.map(drop)?,
            Action::Grant(to) => turn::grant(turns, cluster, to).await?,
        }
        Ok(ActionOutcome::Yes)
    }

    /// Passes on to each that asks why it waits.
    fn learn(&self, sight: &Sight, plan: &mut Plan, _: Option<Finding>) -> bool {
        let cluster = sight.cluster.as_ref();
        let uid = cluster.uid().unwrap_or_default();
        let known = &self.machines.workloads.known;
        let before = known.get(&uid).turn_waits;
        if before != plan.waits {
            known.update(&uid, |known| known.turn_waits.clone_from(&plan.waits));
            let stores = self.machines.base.stores();
            let news = plan.waits.iter().filter(|one| !before.contains(one));
            let wakers = &self.machines.base.wakers;
            for (of, _) in news {
                if *of == uid {
                    wakers.clusters.wake_object(cluster);
                } else if let Some(machine) = stores.machines.by_uid(of) {
                    wakers.machines.wake_object(&machine);
                }
            }
        }
        false
    }

    fn reported(_: &Cluster) -> Option<&()> {
        None
    }

    fn status(_: &Cluster, _: &Sight, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}
