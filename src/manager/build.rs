//! Creates the controllers with their dependencies, once, when this process becomes leader.

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::controllers::{Controllers, WakeQueues, channels};
use super::leader::Leadership;
use super::{gateways, workloads};
use crate::controllers::base::Base;
use crate::controllers::cluster::{Clusters, Names, Sources};
use crate::controllers::cluster_profile::ClusterProfiles;
use crate::controllers::control_plane::ControlPlanes;
use crate::controllers::host::Hosts;
use crate::controllers::hypervisor::Hypervisors;
use crate::controllers::machine::Machines;
use crate::controllers::machine::turn::Turns;
use crate::controllers::machine_deployment::MachineDeployments;
use crate::controllers::machine_set::MachineSets;
use crate::controllers::workloads::Workloads;
use crate::engine::Engine;
use crate::media::Media;
use crate::metrics::Metrics;
use crate::providers::{self, Bmcs, Follows, Installs, Libvirt, Providers, Simulated, Ssh};
use crate::remote::Reach;
use crate::store::{Stores, Wakers};
use crate::workload::Registry;
use crate::workload::drain_watch::DrainWatches;

/// Dependencies that exist when this process becomes leader.
pub struct Start {
    /// Client of the management cluster.
    pub client: Client,
    /// UID of the management cluster.
    pub management: String,
    /// Whether this process is the leader at the moment.
    pub leadership: Leadership,
    /// Metrics of the manager.
    pub metrics: Metrics,
    /// Where objects of users may make the manager connect to.
    pub reach: Reach,
    /// The served installers, if any.
    pub media: Option<Arc<Media>>,
    /// Background tasks, awaited at shutdown.
    pub tasks: TaskTracker,
    /// Stops background tasks.
    pub stop: CancellationToken,
}

/// All controllers with their own dependencies; `profile_namespaces` may contain ClusterProfiles.
pub fn controllers(start: Start, profile_namespaces: &[String]) -> (Controllers, WakeQueues) {
    let (wakers, woken) = channels();
    let stores = Arc::new(Stores::default());
    let engine = Arc::new(engine(&start, stores.clone()));
    let hosts = Arc::new(providers::Hosts::new(stores.clone(), leader(&start)));
    let bmcs = Arc::new(Bmcs::new(start.client.clone(), stores.clone()));
    let follows = Arc::new(follows(&start));
    let gateways = Arc::new(gateways::registry(stores.clone(), wakers.clone()));
    let registry = Arc::new(workloads::registry(stores.clone(), wakers.clone()));
    let providers = Arc::new(Providers {
        ssh: Ssh::new(engine.clone(), hosts.clone(), bmcs.clone(), wakers.clone()),
        libvirt: Libvirt::new(
            engine.clone(),
            hosts.clone(),
            gateways.clone(),
            wakers.clone(),
        ),
        simulated: simulated(&start, &engine, &wakers, registry.clone()),
    });
    let installs = Installs {
        engine: engine.clone(),
        media: start.media,
        hosts: hosts.clone(),
        bmcs: bmcs.clone(),
        waker: wakers.hosts.clone(),
    };
    let sources = || Sources::new(wakers.clusters.clone());
    let (addons, secrets) = (sources(), sources());
    let consumers = Sources::new(wakers.profiles.clone());
    let secret_names = Arc::new(Names::default());
    let base = Arc::new(Base::new(engine, wakers, start.management));
    let workloads = Arc::new(Workloads::new(registry));
    let control_planes = Arc::new(ControlPlanes {
        base: base.clone(),
        workloads: workloads.clone(),
        hosts: hosts.clone(),
        providers: providers.clone(),
    });
    let turns = Arc::new(Turns {
        base: base.clone(),
        workloads: workloads.clone(),
        hosts: hosts.clone(),
    });
    let controllers = Controllers {
        clusters: Arc::new(Clusters {
            base: base.clone(),
            workloads: workloads.clone(),
            hosts: hosts.clone(),
            turns: turns.clone(),
            control_planes: control_planes.clone(),
            sources: addons,
            secrets,
            reach: start.reach,
            secret_names: secret_names.clone(),
            metrics: start.metrics.clone(),
        }),
        profiles: Arc::new(ClusterProfiles {
            base: base.clone(),
            workloads: workloads.clone(),
            memory: Default::default(),
            consumers,
            secret_names,
            namespaces: profile_namespaces.to_vec(),
        }),
        hypervisors: Arc::new(Hypervisors {
            base: base.clone(),
            gateways,
            tries: providers.libvirt.tries.clone(),
        }),
        hosts: Arc::new(Hosts {
            base: base.clone(),
            workloads: workloads.clone(),
            hosts: hosts.clone(),
            turns: turns.clone(),
            control_planes: control_planes.clone(),
            bmcs,
            installs,
            follows: follows.clone(),
        }),
        machines: Arc::new(Machines {
            base: base.clone(),
            workloads,
            hosts,
            turns,
            providers,
            control_planes,
            follows,
            drains: DrainWatches::new(start.tasks, start.stop),
            outcomes: Default::default(),
            tokens: Default::default(),
            addresses: Default::default(),
            looks: Default::default(),
            identities: Default::default(),
            metrics: start.metrics,
        }),
        machine_sets: Arc::new(MachineSets::new(base.clone())),
        machine_deployments: Arc::new(MachineDeployments::new(base.clone())),
        base,
    };
    (controllers, woken)
}

fn leader(start: &Start) -> providers::Leader {
    providers::Leader {
        management: start.management.clone(),
        epoch: start.leadership.epoch(),
    }
}

fn follows(start: &Start) -> Follows {
    let (tasks, stop) = (start.tasks.clone(), start.stop.clone());
    Follows::new(tasks, stop, start.metrics.clone())
}

fn simulated(
    start: &Start,
    engine: &Arc<Engine>,
    wakers: &Wakers,
    registry: Arc<Registry>,
) -> Simulated {
    Simulated::new(
        engine.clone(),
        workloads::find_api(engine.stores.clone(), registry),
        workloads::wake_machine(wakers.clone()),
        start.tasks.clone(),
        start.stop.clone(),
    )
}

fn engine(start: &Start, stores: Arc<Stores>) -> Engine {
    let (leadership, metrics) = (start.leadership.clone(), start.metrics.clone());
    Engine::new(
        start.client.clone(),
        stores,
        move || leadership.is_held(),
        move |controller, result| metrics.reconciled(controller, result),
    )
}
