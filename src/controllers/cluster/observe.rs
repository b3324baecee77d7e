//! Gathers the facts for a pass over a Cluster: from the stores, from its Secrets if their cached
//! state is outdated, and from its API.

use std::sync::Arc;

use futures::future::join;
use kube::{Resource, ResourceExt};

use super::probe::{etcd, is_awaited, probed};
use super::{Clusters, addons, orphaned_members, route, secrets, settings};
use crate::controllers::cluster_cache::ClusterMemory;
use crate::controllers::machine::{self, address_remedy, cluster_endpoint, turn as live_turn};
use crate::controllers::ownership::ProviderObject;
use crate::engine::ReconcileError;
use crate::store::{IndexKeys, Key, Kind, Stores};
use crate::workload::health::Place;
use tatara_core::api::cluster::TurnAction;
use tatara_core::api::cluster_provider_spec::EndpointHolder;
use tatara_core::api::conditions::{ConditionType, Status, find, is_true};
use tatara_core::api::names::{ANNOTATION_HOST_IS_GONE, ANNOTATION_INITIALIZED};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine};
use tatara_core::cluster::{Certificates, MachineFact, Observed};
use tatara_core::control_plane::turn::{self, Both};
use tatara_core::remedy;
use tatara_core::trouble::{self, Trouble};
use tatara_core::{self, kubeadm};

/// Gathers the facts for a pass over a Cluster.
///
/// # Errors
/// Those of [`secrets::observe`], and of reading the Cluster and its CA Secret live.
pub async fn observe(
    controller: &Clusters,
    cluster: Arc<Cluster>,
) -> Result<Observed, ReconcileError> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let uid = cluster.uid().unwrap_or_default();
    let annotation = |key: &str| cluster.annotations().get(key).cloned();
    let key = Key::Cluster(namespace.clone(), name.clone());
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let (mut machines, well) = machines(controller.base.stores(), &key, deleting);
    let initialized_by = annotation(ANNOTATION_INITIALIZED);
    let spec = spec(&cluster, &machines);
    let now = crate::clock::now();
    // of a cluster that stays, Nodes are deleted
    if !deleting || cluster.was_external() {
        secrets::observe(controller, &cluster, now).await?;
    }
    let known = controller.workloads.known.get(&uid);
    let connected = is_connected(controller, &cluster, &known, deleting).await;
    let is_awaited = is_awaited(controller, &uid, &machines, now);
    let settled = initialized_by.is_some() && !deleting;
    let certificates = if deleting || known.kubeconfig.external {
        Certificates::Ready
    } else {
        known.certificates
    };
    let both = marks(controller, &cluster, deleting).await?;
    let stores = controller.base.stores();
    let exists = |uid: &str| stores.machines.by_uid(uid).is_some();
    let (given, by) = (spec.as_ref().ok(), initialized_by.as_ref());
    let place = place(controller, &cluster, given, by);
    // at the same time: a machine that is off is waited for
    let health = async {
        if settled || known.kubeconfig.external {
            probed(controller, &cluster, &uid, &place, now).await
        } else {
            None
        }
    };
    let etcd = async {
        if settled && !known.kubeconfig.external {
            Some(etcd(controller, &cluster, &uid, now, is_awaited).await)
        } else {
            None
        }
    };
    let (health, etcd) = join(health, etcd).await;
    let standing = |spec| addons::observe(controller, &cluster, spec, now);
    let addons = spec.as_ref().map(standing).unwrap_or_default();
    let mut unlabelled = Vec::new();
    if deleting {
        unlabelled = machine::unlabelled(stores, &controller.workloads, &cluster);
        let leaves = |machine: &Arc<Machine>| machine.metadata.deletion_timestamp.is_some();
        machines.extend(unlabelled.extract_if(.., |machine| leaves(machine)));
    }
    let facts = facts(controller, &machines);
    let taken = (&facts[..], both.holder());
    let orphans = orphaned_members::observe(controller, &cluster, etcd.as_ref(), taken, now).await;
    Ok(Observed {
        unlabelled: names(&unlabelled),
        pool: pool(stores, &key),
        sets_left: sets_left(stores, &key),
        unreadable: unreadable_below(stores, &key),
        endpoint: cluster_endpoint(stores, &namespace, given, by),
        kubeconfig_ready: known.kubeconfig.external
            || known.kubeconfig.renew_at.is_some_and(|renew| now < renew),
        secrets_held: known.secrets_held,
        connected,
        external: known.kubeconfig.external,
        kubeconfig_problem: known.kubeconfig.problem,
        machines: facts,
        well,
        new_for: tatara_core::new_for(&cluster.metadata, now),
        profile: controller.workloads.known.get(&uid).profile_findings,
        certificates,
        initialized_by,
        turn: both.holder().cloned(),
        turn_waits: known
            .turn_waits
            .iter()
            .find_map(|(of, why)| (*of == uid).then(|| why.clone())),
        host_is_gone: annotation(ANNOTATION_HOST_IS_GONE)
            .is_some_and(|uid| both.has_turn_of(&uid) && !exists(&uid)),
        is_holder_gone: both.holder().is_some_and(|turn| !exists(&turn.machine)),
        is_turn_vacant: both
            .holder()
            .is_some_and(|turn| turn.action != TurnAction::Init && !exists(&turn.machine)),
        unused: annotation(ANNOTATION_HOST_IS_GONE)
            .and_then(|uid| unused(stores, &cluster, &both, &uid)),
        doubt: both.doubt(),
        unsettled: turn::settle(&both) != turn::Step::Done,
        made_with: settings::made_with(controller, &cluster),
        is_awaited,
        moves: settings::moves(controller, &cluster, both.holder()),
        addons: addons.state,
        addons_due: addons.due && health.is_some(),
        addons_next: addons.next,
        health,
        leaderless: controller.workloads.known.get(&uid).etcd_leaderless,
        etcd,
        strangers: orphans,
        spec,
        cluster,
    })
}

/// Why the annotation [`ANNOTATION_HOST_IS_GONE`] has no effect on a Cluster. `None` while its
/// Secret is not read.
fn unused(stores: &Stores, cluster: &Cluster, both: &Both, uid: &str) -> Option<String> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let remove = remedy::cluster::take_back_gone(&namespace, &name);
    let why = match stores.machines.by_uid(uid) {
        Some(machine) => format!(
            "Machine {} has that UID and exists, so nothing is done. Remove it from the Cluster: {remove}. Only if the host of that Machine is destroyed, erased or disconnected for good: {}",
            machine.name_any(),
            remedy::declare_gone(&namespace, &machine.name_any())
        ),
        None if !both.no_secret && !both.has_turn_of(uid) => {
            format!("no Machine of that UID has the turn; remove it: {remove}")
        }
        None => return None,
    };
    Some(format!(
        "annotation {ANNOTATION_HOST_IS_GONE}={uid} is not used: {why}"
    ))
}

/// The control-plane turn as recorded on the Cluster and its CA Secret. A contradiction may result
/// from reading them at different times, so both are then read live.
async fn marks(
    controller: &Clusters,
    cluster: &Cluster,
    deleting: bool,
) -> Result<Both, ReconcileError> {
    match live_turn::known(&controller.workloads, cluster) {
        Some(both) if both.doubt().is_none() || deleting => Ok(both),
        Some(_) => live_turn::now(&controller.turns, cluster).await,
        None => Ok(Both::of(None, cluster)),
    }
}

/// The Machines of a Cluster, and the number of further ones that are well and only counted. While
/// it is being deleted, all are listed: each has to go.
fn machines(stores: &Stores, key: &Key, deleting: bool) -> (Vec<Arc<Machine>>, usize) {
    let (Key::Cluster(namespace, name), false) = (key, deleting) else {
        let mut machines = stores.machines.by(key);
        machines.retain(|machine| machine.is_ours(stores));
        return (machines, 0);
    };
    let key = |of: fn(String, String) -> Key| of(namespace.clone(), name.clone());
    let mut machines = stores.machines.by(&key(Key::NotWell));
    machines.retain(|machine| machine.is_ours(stores));
    (machines, stores.machines.count(&key(Key::Well)))
}

fn facts(controller: &Clusters, machines: &[Arc<Machine>]) -> Vec<MachineFact> {
    let fact = |machine: &Arc<Machine>| MachineFact {
        addresses: addresses(controller, machine),
        ..fact(machine)
    };
    machines.iter().map(fact).collect()
}

fn fact(machine: &Machine) -> MachineFact {
    let conditions = machine
        .status
        .as_ref()
        .map(|s| s.conditions.as_slice())
        .unwrap_or_default();
    // during a deletion, Ready only repeats the condition Deleting
    let said = find(conditions, ConditionType::Deleting).filter(|said| said.status == Status::True);
    let said = said.or_else(|| find(conditions, ConditionType::Ready));
    MachineFact {
        name: machine.name_any(),
        reason: said.map_or_else(String::new, |ready| ready.reason.clone()),
        control_plane: machine.is_control_plane(),
        addresses: Vec::new(),
        ready: is_true(conditions, ConditionType::Ready),
        deleting: machine.metadata.deletion_timestamp.is_some(),
        trouble: Trouble::of(machine),
    }
}

fn addresses(controller: &Clusters, machine: &Machine) -> Vec<String> {
    if !machine.is_control_plane() {
        return Vec::new();
    }
    let server = controller.control_planes.providers.server_of(machine);
    let status = machine.status.iter();
    let said = status.flat_map(|status| &status.addresses);
    let said = said.map(|address| address.address.clone());
    said.chain(server.map(|(_, address)| address)).collect()
}

/// The message of its first MachineDeployment whose template is unusable.
fn pool(stores: &Stores, key: &Key) -> Option<String> {
    let mut deployments = stores.machine_deployments.by(key);
    deployments.retain(|deployment| deployment.is_ours(stores));
    // sorted by name, so that the message is stable
    deployments
        .iter()
        .find_map(|deployment| trouble::of_pool(deployment))
}

fn sets_left(stores: &Stores, key: &Key) -> usize {
    count(&stores.machine_sets.by(key), stores) + count(&stores.machine_deployments.by(key), stores)
}

/// The number of objects that are ours and not being deleted yet.
fn count<K: ProviderObject>(objects: &[Arc<K>], stores: &Stores) -> usize {
    let left = |object: &&Arc<K>| object.meta().deletion_timestamp.is_none();
    let left = objects.iter().filter(left);
    left.filter(|object| object.is_ours(stores)).count()
}

fn unreadable_below(stores: &Stores, key: &Key) -> Vec<String> {
    fn names<K: Resource<DynamicType = ()>>(objects: &[Arc<K>]) -> impl Iterator<Item = String> {
        let bad = objects
            .iter()
            .filter(|object| unreadable(object.as_ref()).is_some());
        bad.map(|object| format!("{} {}", K::kind(&()), object.name_any()))
    }
    fn below<K: IndexKeys + Clone>(kind: &Kind<K>, key: &Key) -> Vec<Arc<K>> {
        // usually there are none, and a Cluster may have thousands of Machines
        if kind.unreadable() == 0 {
            return Vec::new();
        }
        kind.by(key)
    }
    let deployments = below(&stores.machine_deployments, key);
    let sets = below(&stores.machine_sets, key);
    let machines = below(&stores.machines, key);
    let all = names(&deployments)
        .chain(names(&sets))
        .chain(names(&machines));
    all.collect()
}

/// The Cluster's settings; those for kubeadm are validated before a host is changed.
fn spec(cluster: &Cluster, machines: &[Arc<Machine>]) -> Result<ClusterProviderSpec, String> {
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref())?;
    let wanted = machines
        .iter()
        .find_map(|machine| machine.versions()?.control_plane.clone());
    let version = match wanted.map(|wanted| wanted.parse()) {
        None => kubeadm::KubernetesVersion::newest(),
        Some(Ok(version)) => version,
        Some(Err(_)) => return Ok(spec),
    };
    let input = settings::input(cluster, &spec, version);
    kubeadm::check(&input, &spec).map_err(|error| error.to_string())?;
    Ok(spec)
}

/// Whether the manager is connected with the kubeconfig that the Cluster has, and by a way that
/// leads there.
async fn is_connected(
    controller: &Clusters,
    cluster: &Cluster,
    known: &ClusterMemory,
    deleting: bool,
) -> bool {
    let has_it =
        known.kubeconfig.digest.is_none() || known.kubeconfig.digest == known.connected_with;
    controller.workloads.get(cluster).is_some()
        && has_it
        && (deleting || !route::refresh(controller, cluster, known.jump.as_ref()).await)
}

/// Where its control plane is, if known.
fn place(
    controller: &Clusters,
    cluster: &Cluster,
    spec: Option<&ClusterProviderSpec>,
    by: Option<&String>,
) -> Place {
    let stores = controller.base.stores();
    let namespace = cluster.namespace().unwrap_or_default();
    let endpoint = cluster_endpoint(stores, &namespace, spec, by);
    let written = spec.and_then(|spec| spec.control_plane_endpoint.as_ref());
    let hosts = route::control_plane(controller, cluster);
    let known = controller
        .workloads
        .known
        .get(&cluster.uid().unwrap_or_default());
    Place {
        remedy: address_remedy(cluster, spec, known.kubeconfig.external),
        cluster: cluster.name_any(),
        namespace,
        endpoint: endpoint.map(|endpoint| endpoint.to_string()),
        is_virtual: written.is_some_and(|written| written.held_by == EndpointHolder::VirtualIp),
        hosts: hosts.iter().map(|host| host.name_any()).collect(),
    }
}

fn names(machines: &[Arc<Machine>]) -> Vec<String> {
    machines.iter().map(|machine| machine.name_any()).collect()
}
