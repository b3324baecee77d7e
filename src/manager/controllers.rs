//! Runs all controllers on their stores.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::controllers::base::Base;
use crate::controllers::cluster::Clusters;
use crate::controllers::cluster_profile::ClusterProfiles;
use crate::controllers::credential::{Credentials, Of};
use crate::controllers::host::Hosts;
use crate::controllers::hypervisor::Hypervisors;
use crate::controllers::machine::Machines;
use crate::controllers::machine_class::MachineClasses;
use crate::controllers::machine_deployment::MachineDeployments;
use crate::controllers::machine_set::MachineSets;
use crate::controllers::planner::Planners;
use crate::engine::{ObjectFeed, run};
use crate::store::{Wake, Waker, Wakers};
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// The objects to reconcile, by controller.
pub struct WakeQueues {
    clusters: UnboundedReceiver<Wake<Cluster>>,
    profiles: UnboundedReceiver<Wake<Cluster>>,
    planners: UnboundedReceiver<Wake<Cluster>>,
    machines: UnboundedReceiver<Wake<Machine>>,
    machine_sets: UnboundedReceiver<Wake<MachineSet>>,
    machine_deployments: UnboundedReceiver<Wake<MachineDeployment>>,
    machine_classes: UnboundedReceiver<Wake<MachineClass>>,
    hosts: UnboundedReceiver<Wake<Host>>,
    hypervisors: UnboundedReceiver<Wake<Hypervisor>>,
    credentials: UnboundedReceiver<Wake<Secret>>,
    gateway_credentials: UnboundedReceiver<Wake<Secret>>,
    bmc_credentials: UnboundedReceiver<Wake<Secret>>,
}

/// Creates the channels to all controllers.
pub fn channels() -> (Wakers, WakeQueues) {
    macro_rules! channels {
        ($($field:ident),*) => {{
            $(let $field = Waker::channel();)*
            (Wakers { $($field: $field.0),* }, WakeQueues { $($field: $field.1),* })
        }};
    }
    channels!(
        clusters,
        profiles,
        planners,
        machines,
        machine_sets,
        machine_deployments,
        machine_classes,
        hosts,
        hypervisors,
        credentials,
        gateway_credentials,
        bmc_credentials
    )
}

/// The controllers with state of their own, or shared state. The others need only the base.
pub struct Controllers {
    /// Shared dependencies.
    pub base: Arc<Base>,
    /// Clusters.
    pub clusters: Arc<Clusters>,
    /// ClusterProfiles.
    pub profiles: Arc<ClusterProfiles>,
    /// Machines.
    pub machines: Arc<Machines>,
    /// MachineSets.
    pub machine_sets: Arc<MachineSets>,
    /// MachineDeployments.
    pub machine_deployments: Arc<MachineDeployments>,
    /// Hosts.
    pub hosts: Arc<Hosts>,
    /// Hypervisors.
    pub hypervisors: Arc<Hypervisors>,
}

/// Runs all controllers until they are stopped.
pub async fn run_all(controllers: &Controllers, woken: WakeQueues, stop: &CancellationToken) {
    let stores = controllers.base.stores();
    macro_rules! run {
        ($controller:expr, $store:ident, $woken:ident) => {{
            let watched = ObjectFeed {
                objects: stores.$store.reader(),
                woken: woken.$woken,
            };
            run($controller, watched, stop.clone())
        }};
    }
    let base = || controllers.base.clone();
    let classes = Arc::new(MachineClasses { base: base() });
    let planners = Arc::new(Planners {
        machines: controllers.machines.clone(),
    });
    let credentials = |of| Arc::new(Credentials { base: base(), of });
    tokio::join!(
        run!(controllers.clusters.clone(), clusters, clusters),
        run!(controllers.profiles.clone(), clusters, profiles),
        run!(planners, clusters, planners),
        run!(controllers.machines.clone(), machines, machines),
        run!(controllers.machine_sets.clone(), machine_sets, machine_sets),
        run!(
            controllers.machine_deployments.clone(),
            machine_deployments,
            machine_deployments
        ),
        run!(classes, machine_classes, machine_classes),
        run!(controllers.hosts.clone(), hosts, hosts),
        run!(controllers.hypervisors.clone(), hypervisors, hypervisors),
        run!(credentials(Of::Hosts), credentials, credentials),
        run!(credentials(Of::Hosts), bmc_credentials, bmc_credentials),
        run!(
            credentials(Of::Hypervisors),
            gateway_credentials,
            gateway_credentials
        ),
    );
}
