//! All controllers, on their stores.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};
use crate::controllers::cluster::Clusters;
use crate::controllers::cluster_profile::ClusterProfiles;
use crate::controllers::credential::{Credentials, Of};
use crate::controllers::host::Hosts;
use crate::controllers::hypervisor::Hypervisors;
use crate::controllers::machine::Machines;
use crate::controllers::machine_class::MachineClasses;
use crate::controllers::machine_deployment::MachineDeployments;
use crate::controllers::machine_set::MachineSets;
use crate::engine::{Watched, run};
use crate::store::{Wake, Waker, Wakers};

/// The objects to pass over, by controller.
pub struct Woken {
    clusters: UnboundedReceiver<Wake<Cluster>>,
    profiles: UnboundedReceiver<Wake<Cluster>>,
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

/// Channels to all controllers.
pub fn channels() -> (Wakers, Woken) {
    macro_rules! channels {
        ($($field:ident),*) => {{
            $(let $field = Waker::channel();)*
            (Wakers { $($field: $field.0),* }, Woken { $($field: $field.1),* })
        }};
    }
    channels!(
        clusters,
        profiles,
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

/// Runs all controllers until they are stopped.
pub async fn run_all(context: &Arc<Context>, woken: Woken, stop: &CancellationToken) {
    let stores = &context.stores;
    macro_rules! run {
        ($controller:expr, $store:ident, $woken:ident) => {{
            let watched = Watched {
                objects: stores.$store.reader(),
                woken: woken.$woken,
            };
            run(context.engine.clone(), $controller, watched, stop.clone())
        }};
    }
    let context = || context.clone();
    let credentials = |of| Credentials {
        context: context(),
        of,
    };
    tokio::join!(
        run!(Clusters { context: context() }, clusters, clusters),
        run!(ClusterProfiles { context: context() }, clusters, profiles),
        run!(Machines { context: context() }, machines, machines),
        run!(
            MachineSets { context: context() },
            machine_sets,
            machine_sets
        ),
        run!(
            MachineDeployments { context: context() },
            machine_deployments,
            machine_deployments
        ),
        run!(
            MachineClasses { context: context() },
            machine_classes,
            machine_classes
        ),
        run!(Hosts { context: context() }, hosts, hosts),
        run!(Hypervisors { context: context() }, hypervisors, hypervisors),
        run!(credentials(Of::Hosts), credentials, credentials),
        run!(credentials(Of::Hosts), bmc_credentials, bmc_credentials),
        run!(
            credentials(Of::Hypervisors),
            gateway_credentials,
            gateway_credentials
        ),
    );
}
