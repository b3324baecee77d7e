//! Gathers the facts for a pass over a Machine: from the stores, and from the host if nothing else
//! provides them.

mod belongs;
mod endpoint;
mod etcd;

pub use etcd::{look, runs};
mod node;
mod peers;

pub use endpoint::{address_remedy, claimed_host, cluster_endpoint};

use std::sync::Arc;
use tatara_core::Why;
use tatara_core::api::conditions::{ConditionType, Reason, Status, find, is_true, reason_of};

use kube::ResourceExt;

use super::{Machines, record, turn};
use crate::controllers::ownership::ProviderObject;
use crate::controllers::paused;
use crate::controllers::workloads::Workloads;
use crate::engine::ReconcileError;
use crate::providers::ssh::claims;
use crate::store::Stores;
use tatara_core::Key;
use tatara_core::api::cluster::Turn;
use tatara_core::api::names::{self, ANNOTATION_INITIALIZED, LABEL_CLUSTER};
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine, MachineProviderSpec};
use tatara_core::control_plane::turn::{Both, Doubt, Holder};
use tatara_core::machine::own_node;
use tatara_core::machine::{Contact, Lookup, Observed, ObservedCluster, Peers, Placement};
use tatara_core::node::{JobKind, Marker};
use tatara_core::settings::OfCluster;

/// Gathers the facts for a pass over a Machine.
///
/// # Errors
/// None at present.
pub async fn observe(
    controller: &Machines,
    machine: Arc<Machine>,
) -> Result<Observed, ReconcileError> {
    let namespace = machine.namespace().unwrap_or_default();
    let label = machine
        .labels()
        .get(LABEL_CLUSTER)
        .cloned()
        .unwrap_or_default();
    let uid = machine.uid().unwrap_or_default();
    let known = |cluster: &Cluster| turn::known(&controller.workloads, cluster);
    let has_node = |cluster: &Cluster| has_node(&controller.workloads, cluster, &uid);
    let cluster = belongs::cluster(controller.base.stores(), &machine, known, has_node);
    let whose = belongs::doubt(controller.base.stores(), &machine, known, has_node);
    let marker = Marker {
        management: controller.base.management.clone(),
        namespace: namespace.clone(),
        cluster: cluster.as_ref().map_or(label, |cluster| cluster.name_any()),
        machine: machine.name_any(),
        uid,
    };
    let (spec, resolved) = resolve(controller.base.stores(), &namespace, &machine);
    let follow = controller.follows.current(&marker.uid);
    let known = (controller.base.stores(), &*controller.workloads);
    let node = node::find(known, cluster.as_deref(), &machine);
    let mut seen = cluster
        .as_deref()
        .map(|cluster| observed_cluster(known, machine.as_ref(), cluster));
    let acts_as_control_plane = seen.as_ref().is_some_and(|(_, acts)| *acts);
    if let (Some((seen, true)), Some(cluster)) = (&mut seen, cluster.as_deref()) {
        seen.etcd = etcd::last(&controller.workloads, cluster);
        let waits = controller.workloads.known.get(&seen.uid).turn_waits;
        let own = waits.into_iter().find(|(uid, _)| *uid == marker.uid);
        seen.turn_waits = own.map(|(_, why)| why);
        seen.components = etcd::components(&controller.workloads, cluster, &marker.uid);
        seen.other_control_planes = etcd::others(controller, cluster, &marker.uid);
    }
    if let (Some((seen, acts)), Some(cluster)) = (&mut seen, cluster.as_deref()) {
        seen.peers = peers::of(controller, cluster, &machine, seen, *acts);
    }
    let mut observed = Observed {
        cluster: seen.map(|(seen, _)| seen),
        own_address: if acts_as_control_plane {
            let server = controller.providers.server_of(&machine);
            server.map(|(_, address)| address)
        } else {
            None
        },
        applied_address: controller.addresses.get(&marker.uid),
        last_look: controller.looks.get(&marker.uid).unwrap_or_default(),
        attempts: JobKind::ALL
            .map(|kind| (kind, controller.follows.attempts(&marker.job(kind))))
            .into(),
        identities: controller.identities.clone(),
        placement: Placement::None(Err(Why::new(Reason::Starting, String::new()))),
        virtual_machine: None,
        whose,
        claiming: None,
        claims: claimed(controller.base.stores(), &marker),
        chosen: None,
        has_token: controller.tokens.contains(&marker.uid),
        started_at: controller.base.started_at,
        paused_by: paused::paused_by(controller.base.stores(), machine.as_ref()),
        machine,
        marker,
        spec,
        resolved,
        namesake: None,
        contested: Vec::new(),
        node: Lookup::Known(None),
        follow,
    };
    node.store(&mut observed);
    let place = controller.providers.observe(&observed).await;
    observed.placement = place.placement;
    observed.virtual_machine = place.virtual_machine;
    observed.chosen = place.chosen;
    observed.claiming = place.claiming;
    if matches!(&observed.placement, Placement::Held(held) if matches!(held.contact, Contact::Seen(_)))
    {
        // a look takes time, in which what is waited for may have happened
        node::find(known, cluster.as_deref(), &observed.machine).store(&mut observed);
        read_turn_again(controller, &mut observed);
    }
    own_node::check_name(&mut observed);
    etcd::note_address(controller, &mut observed);
    etcd::note_look(controller, &mut observed);
    observed.namesake = node::namesake(controller, cluster.as_deref(), &observed);
    Ok(observed)
}

/// The turn as it is known after a look at a host, once the control plane exists.
fn read_turn_again(controller: &Machines, observed: &mut Observed) {
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let cluster = controller.base.stores().clusters.get(namespace, name);
    let seen = observed.cluster.as_mut();
    let seen = seen.filter(|seen| seen.initialized_by.is_some());
    if let (Some(seen), Some(cluster)) = (seen, cluster) {
        (seen.turn, seen.other_turn) = turns(&controller.workloads, &cluster);
    }
}

/// The provider spec: the Machine's own, or a copy of the class's.
fn resolve(
    stores: &Stores,
    namespace: &str,
    machine: &Machine,
) -> (Result<MachineProviderSpec, Why>, Option<serde_json::Value>) {
    let resolved =
        crate::controllers::machine_class::resolve(stores, namespace, &machine.spec.provider_spec);
    match resolved {
        Err(problem) => (Err(problem), None),
        Ok(value) => {
            let spec = MachineProviderSpec::decode(&value)
                .map_err(|error| Why::new(Reason::InvalidConfiguration, error.to_string()));
            (spec, Some(value))
        }
    }
}

/// Names of the Hosts that the Machine claims.
fn claimed(stores: &Stores, marker: &Marker) -> Vec<String> {
    let found = claims::of(&stores.hosts, marker);
    found.iter().map(|host| host.name_any()).collect()
}

/// The Cluster that records the Machine as the creator (or next creator) of its control plane.
pub fn recorded_cluster(
    stores: &Stores,
    workloads: &Workloads,
    machine: &Machine,
) -> Option<Arc<Cluster>> {
    let known = |cluster: &Cluster| turn::known(workloads, cluster);
    belongs::recorded(stores, machine, known)
}

/// The Machines that belong to this Cluster although their label names another, or none: because of
/// a record, their claim, or their Node.
pub fn unlabelled(stores: &Stores, workloads: &Workloads, cluster: &Cluster) -> Vec<Arc<Machine>> {
    let has_node = |cluster: &Cluster, machine: &Machine| {
        has_node(workloads, cluster, &machine.uid().unwrap_or_default())
    };
    let known = |cluster: &Cluster| turn::known(workloads, cluster);
    let mut found = belongs::unlabelled(stores, cluster, known, has_node);
    found.retain(|machine| machine.is_ours(stores));
    found
}

/// The control-plane turn and record on a Cluster and its CA Secret, as cached.
fn both(workloads: &Workloads, cluster: &Cluster) -> Both {
    turn::known(workloads, cluster).unwrap_or_else(|| Both::unread(cluster))
}

/// Whether a Cluster has the Node of this Machine, once its Nodes have been listed.
fn has_node(workloads: &Workloads, cluster: &Cluster, uid: &str) -> Option<bool> {
    let ids = names::provider_ids(uid);
    workloads.get(cluster)?.has_provider_id(&ids)
}

fn observed_cluster(
    (stores, workloads): (&Stores, &Workloads),
    machine: &Machine,
    cluster: &Cluster,
) -> (ObservedCluster, bool) {
    let namespace = &cluster.namespace().unwrap_or_default();
    let annotation = |key: &str| cluster.annotations().get(key).cloned();
    let name = cluster.name_any();
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let (turn, other_turn) = turns(workloads, cluster);
    let initialized_by = annotation(ANNOTATION_INITIALIZED);
    let conditions = cluster
        .status
        .as_ref()
        .map(|s| s.conditions.as_slice())
        .unwrap_or_default();
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let initialized_by_secret =
        turn::known(workloads, cluster).and_then(|both| both.secret.initialized);
    let first = initialized_by
        .as_ref()
        .or(turn.as_ref().map(|turn| &turn.machine));
    let uid = machine.uid();
    let is_named = |other: &Option<String>| other.is_some() && *other == uid;
    let has_turn = [&turn, &other_turn]
        .into_iter()
        .flatten()
        .any(|turn| Some(&turn.machine) == uid.as_ref());
    let acts_as_control_plane = machine.is_control_plane()
        || has_turn
        || is_named(&initialized_by)
        || is_named(&initialized_by_secret);
    let valid = find(conditions, ConditionType::ConfigurationValid);
    let is_invalid = valid.is_some_and(|valid| valid.status == Status::False);
    let seen = ObservedCluster {
        etcd: Lookup::NotYet(String::new()),
        components: None,
        other_control_planes: Vec::new(),
        peers: Peers::default(),
        settings: spec
            .as_ref()
            .map_or_else(
                |_| OfCluster::default(),
                |spec| OfCluster::of(cluster, spec),
            )
            .waiting_if(is_invalid),
        endpoint: cluster_endpoint(stores, namespace, spec.as_ref().ok(), first),
        workers_left: if deleting && acts_as_control_plane {
            workers_left((stores, workloads), cluster, first)
        } else {
            0
        },
        uid: cluster.uid().unwrap_or_default(),
        network: cluster.spec.cluster_network.clone(),
        deleting,
        published: cluster
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == names::FINALIZER_PROFILE),
        certificates_ready: is_true(conditions, ConditionType::CertificatesReady),
        // what is cached of the two may be of different times: the Cluster's controller has read
        // both live
        in_doubt: reason_of(conditions, ConditionType::ControlPlaneInitialized)
            .filter(|reason| reason.is_doubt())
            .map(|reason| {
                let seen = both(workloads, cluster).doubt();
                Box::new(seen.unwrap_or(Doubt::Reported(reason)))
            }),
        external: cluster.was_external(),
        version: cluster
            .status
            .as_ref()
            .and_then(|status| status.version.clone())
            .or_else(|| version_of_machines(stores, cluster)),
        recorded: record::known(workloads, cluster),
        initialized_by,
        initialized_by_secret,
        turn,
        other_turn,
        turn_waits: None,
        spec,
        name,
    };
    (seen, acts_as_control_plane)
}

/// Machines of a Cluster that are no control plane, and not the `first` one.
fn workers_left(
    (stores, workloads): (&Stores, &Workloads),
    cluster: &Cluster,
    first: Option<&String>,
) -> usize {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let mut machines = stores.machines.by(&Key::Cluster(namespace, name));
    machines.retain(|machine| machine.is_ours(stores));
    machines.extend(unlabelled(stores, workloads, cluster));
    let is_worker =
        |machine: &Machine| !machine.is_control_plane() && machine.uid().as_ref() != first;
    machines.iter().filter(|machine| is_worker(machine)).count()
}

/// The version that a control-plane Machine of a Cluster asks for.
fn version_of_machines(stores: &Stores, cluster: &Cluster) -> Option<String> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let key = Key::ControlPlane(namespace, name);
    let mut machines = stores.machines.by(&key);
    machines.retain(|machine| machine.is_ours(stores));
    machines
        .iter()
        .find_map(|machine| machine.versions()?.control_plane.clone())
}

/// The holder of the control-plane turn, and another one that only the Cluster names, as cached.
fn turns(workloads: &Workloads, cluster: &Cluster) -> (Option<Turn>, Option<Turn>) {
    let both = both(workloads, cluster);
    let first = both.holder().cloned();
    let other = match both.cluster.turn {
        Holder::Of(turn) if first.as_ref().is_some_and(|f| f.machine != turn.machine) => Some(turn),
        _ => None,
    };
    (first, other)
}
