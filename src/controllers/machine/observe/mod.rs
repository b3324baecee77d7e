//! Gathers what a pass over a Machine needs: from the stores, and from the host where nothing else
//! can tell.

mod belongs;

use crate::api::conditions::{ConditionType, Reason};
use std::sync::{Arc, PoisonError};

use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;

use super::turn;
use crate::api::cluster::Turn;
use crate::api::names::{self, ANNOTATION_INITIALIZED, LABEL_CLUSTER};
use crate::api::readable::unreadable;
use crate::api::{Cluster, ClusterProviderSpec, Host, Machine, MachineProviderSpec};
use crate::controllers::paused;
use crate::controllers::whose::Shared;
use crate::core::kubeadm::Endpoint;
use crate::core::machine::plan::turn::{Both, Holder};
use crate::core::machine::units::node_name;
use crate::core::machine::{
    Namesake, Observed, ObservedCluster, Placement, Refusal, Seen, SpecProblem,
};
use crate::core::node::{JobKind, Marker};
use crate::core::{Key, NodeView};
use crate::engine::ReconcileError;
use crate::manager::Context;
use crate::providers::ssh::target::node_address;
use crate::providers::ssh::{claims, marked};
use crate::workload::Connectivity;

/// A restart of ours is no news: how long after it a cluster that was connected may take to be connected again.
const CONNECTS_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// Gathers what a pass over a Machine needs.
pub async fn observe(context: &Context, machine: Arc<Machine>) -> Result<Observed, ReconcileError> {
    let namespace = machine.namespace().unwrap_or_default();
    let label = machine
        .labels()
        .get(LABEL_CLUSTER)
        .cloned()
        .unwrap_or_default();
    let uid = machine.uid().unwrap_or_default();
    let known = |cluster: &Cluster| turn::known(context, cluster);
    let has_node = |cluster: &Cluster| has_node(context, cluster, &uid);
    let cluster = belongs::cluster(&context.stores, &machine, known, has_node);
    let whose = belongs::doubt(&context.stores, &machine, known, has_node);
    let marker = Marker {
        management: context.management.clone(),
        namespace: namespace.clone(),
        cluster: cluster.as_ref().map_or(label, |cluster| cluster.name_any()),
        machine: machine.name_any(),
        uid,
    };
    let (spec, resolved) = resolve(context, &namespace, &machine);
    let follow = context.follows.current(&marker.uid);
    let node = node(context, cluster.as_deref(), &machine);
    let mut observed = Observed {
        cluster: cluster
            .as_deref()
            .map(|cluster| observed_cluster(context, machine.as_ref(), cluster)),
        attempts: JobKind::ALL
            .map(|kind| (kind, context.follows.attempts(&marker.job(kind))))
            .into(),
        placement: Placement::None(Err(Refusal {
            reason: Reason::Starting,
            message: String::new(),
        })),
        virtual_machine: None,
        whose,
        claiming: None,
        claims: claimed(context, &marker),
        chosen: None,
        has_token: context
            .tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(&marker.uid),
        paused_by: paused::paused_by(&context.stores, machine.as_ref()),
        machine,
        marker,
        spec,
        resolved,
        namesake: None,
        node,
        follow,
    };
    let place = context.providers.observe(&observed).await;
    observed.placement = place.placement;
    observed.virtual_machine = place.virtual_machine;
    observed.chosen = place.chosen;
    observed.claiming = place.claiming;
    observed.namesake = namesake(context, cluster.as_deref(), &observed);
    Ok(observed)
}

/// The provider spec: the user's own, or a copy of the class's.
fn resolve(
    context: &Context,
    namespace: &str,
    machine: &Machine,
) -> (
    Result<MachineProviderSpec, SpecProblem>,
    Option<serde_json::Value>,
) {
    let resolved = crate::controllers::machine_class::resolve(
        &context.stores,
        namespace,
        &machine.spec.provider_spec,
    );
    match resolved {
        Err(problem) => (Err(problem), None),
        Ok(value) => {
            let spec = MachineProviderSpec::decode(&value).map_err(|error| SpecProblem {
                reason: Reason::InvalidConfiguration,
                message: error.to_string(),
            });
            (spec, Some(value))
        }
    }
}

/// The Hosts that bear the claim of a Machine.
fn claimed(context: &Context, marker: &Marker) -> Vec<String> {
    let found = claims::of(&context.stores.hosts, marker);
    found.iter().map(|host| host.name_any()).collect()
}

/// The Cluster whose control plane the Machine made, or is about to make, by what is recorded there.
pub fn recorded_cluster(context: &Context, machine: &Machine) -> Option<Arc<Cluster>> {
    let known = |cluster: &Cluster| turn::known(context, cluster);
    belongs::recorded(&context.stores, machine, known)
}

/// The Machines that are this Cluster's although their label names another, or none: by what is recorded, by their claim,
/// or by their Node.
pub fn unlabelled(context: &Context, cluster: &Cluster) -> Vec<Arc<Machine>> {
    let has_node = |cluster: &Cluster, machine: &Machine| {
        has_node(context, cluster, &machine.uid().unwrap_or_default())
    };
    let known = |cluster: &Cluster| turn::known(context, cluster);
    let mut found = belongs::unlabelled(&context.stores, cluster, known, has_node);
    found.retain(|machine| machine.is_ours(&context.stores));
    found
}

/// What a Cluster and its CA Secret say of turn and record, as far as it is known without asking.
fn both(context: &Context, cluster: &Cluster) -> Both {
    turn::known(context, cluster).unwrap_or_else(|| Both::unread(cluster))
}

/// Whether a Cluster has the Node of this Machine, once its Nodes have been listed.
fn has_node(context: &Context, cluster: &Cluster, uid: &str) -> Option<bool> {
    let ids = names::provider_ids(uid);
    let member = context.member(cluster)?;
    let is_there = |id: &String| member.node_by_provider_id(id).is_some();
    member.is_synced().then(|| ids.iter().any(is_there))
}

fn observed_cluster(context: &Context, machine: &Machine, cluster: &Cluster) -> ObservedCluster {
    let namespace = &cluster.namespace().unwrap_or_default();
    let annotation = |key: &str| cluster.annotations().get(key).cloned();
    let name = cluster.name_any();
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let (turn, other_turn) = turns(context, cluster);
    let initialized_by = annotation(ANNOTATION_INITIALIZED);
    let conditions = cluster
        .status
        .as_ref()
        .map(|s| s.conditions.as_slice())
        .unwrap_or_default();
    let initialized =
        crate::api::conditions::find(conditions, ConditionType::ControlPlaneInitialized);
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let initialized_by_secret =
        turn::known(context, cluster).and_then(|both| both.secret.initialized);
    let first = initialized_by
        .as_ref()
        .or(turn.as_ref().map(|turn| &turn.machine));
    let uid = machine.uid();
    let is_named = |other: &Option<String>| other.is_some() && *other == uid;
    let has_turn = [&turn, &other_turn]
        .into_iter()
        .flatten()
        .any(|turn| Some(&turn.machine) == uid.as_ref());
    let counts_workers = machine.is_control_plane()
        || has_turn
        || is_named(&initialized_by)
        || is_named(&initialized_by_secret);
    ObservedCluster {
        endpoint: cluster_endpoint(context, namespace, spec.as_ref().ok(), first),
        workers_left: if deleting && counts_workers {
            workers_left(context, cluster, first)
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
        certificates_ready: crate::api::conditions::is_true(
            conditions,
            ConditionType::CertificatesReady,
        ),
        in_doubt: initialized.and_then(|condition| {
            let reason = Reason::parse(&condition.reason)?;
            reason
                .is_doubt()
                .then(|| (reason, condition.message.clone()))
        }),
        external: initialized
            .is_some_and(|condition| condition.reason == Reason::ExternalControlPlane),
        version: cluster
            .status
            .as_ref()
            .and_then(|status| status.version.clone())
            .or_else(|| version_of_machines(context, cluster)),
        initialized_by,
        initialized_by_secret,
        turn,
        other_turn,
        spec,
        name,
    }
}

/// Machines of a Cluster that are no control plane, and not the `first` one.
fn workers_left(context: &Context, cluster: &Cluster, first: Option<&String>) -> usize {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let mut machines = context.stores.machines.by(&Key::Cluster(namespace, name));
    machines.retain(|machine| machine.is_ours(&context.stores));
    machines.extend(unlabelled(context, cluster));
    let is_worker =
        |machine: &Machine| !machine.is_control_plane() && machine.uid().as_ref() != first;
    machines.iter().filter(|machine| is_worker(machine)).count()
}

/// The version that a control-plane Machine of a Cluster asks for.
fn version_of_machines(context: &Context, cluster: &Cluster) -> Option<String> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let key = Key::ControlPlane(namespace, name);
    let mut machines = context.stores.machines.by(&key);
    machines.retain(|machine| machine.is_ours(&context.stores));
    machines
        .iter()
        .find_map(|machine| machine.versions()?.control_plane.clone())
}

/// Who has the control-plane turn, and whom only the Cluster names, as far as it is known without asking.
fn turns(context: &Context, cluster: &Cluster) -> (Option<Turn>, Option<Turn>) {
    let both = both(context, cluster);
    let first = both.holder().cloned();
    let other = match both.cluster.turn {
        Holder::Of(turn) if first.as_ref().is_some_and(|f| f.machine != turn.machine) => Some(turn),
        _ => None,
    };
    (first, other)
}

/// The endpoint that the Cluster names; without one, the address of its first control-plane machine.
pub fn cluster_endpoint(
    context: &Context,
    namespace: &str,
    spec: Option<&ClusterProviderSpec>,
    first: Option<&String>,
) -> Option<Endpoint> {
    if let Some(endpoint) = spec.and_then(|spec| spec.control_plane_endpoint.as_ref()) {
        return Some(Endpoint {
            host: endpoint.host.clone(),
            port: endpoint.port,
        });
    }
    let host = first_host(context, namespace, first?);
    let host = host.filter(|host| unreadable(host.as_ref()).is_none());
    let address = match host {
        Some(host) => node_address(&host),
        None => machine_address(context.stores.machines.by_uid(first?)?.as_ref())?,
    };
    Some(Endpoint {
        host: address,
        port: 6443,
    })
}

/// The Host of the Machine that made a control plane, if one Host of that namespace bears its claim.
pub fn first_host(context: &Context, namespace: &str, uid: &str) -> Option<Arc<Host>> {
    let mut found = context.stores.hosts.by(&Key::Claim(uid.to_owned()));
    found.retain(|host| host.namespace().as_deref() == Some(namespace));
    found.pop().filter(|_| found.is_empty())
}

/// The address of a virtual machine, as its Machine was last told.
fn machine_address(machine: &Machine) -> Option<String> {
    let addresses = &machine.status.as_ref()?.addresses;
    addresses.first().map(|address| address.address.clone())
}

fn node(
    context: &Context,
    cluster: Option<&Cluster>,
    machine: &Machine,
) -> Seen<Option<Arc<NodeView>>> {
    let Some(cluster) = cluster else {
        return Seen::Known(None);
    };
    let status = machine.status.as_ref();
    let was_seen = status.is_some_and(|status| status.node_ref.is_some());
    let Some(member) = context.member(cluster) else {
        let problem = context.known.get(&cluster.uid().unwrap_or_default());
        let problem = problem.kubeconfig.problem.map(|why| format!(": {why}"));
        let not_connected = format!(
            "not connected to the API of Cluster {} yet{}",
            cluster.name_any(),
            problem.unwrap_or_default()
        );
        let initialized = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
        let is_young = crate::clock::now().duration_since(context.started) < CONNECTS_WITHIN;
        return match (was_seen, initialized) {
            (true, _) if is_young => Seen::NotYet(not_connected),
            (true, _) | (false, true) => Seen::Unknown(not_connected),
            (false, false) => Seen::Known(None),
        };
    };
    // what its spec says can be written by a user, and be another's
    let ids = names::provider_ids(&machine.uid().unwrap_or_default());
    let found = ids.iter().find_map(|id| member.node_by_provider_id(id));
    match (found, member.connectivity()) {
        (Some(node), Connectivity::Connected { .. }) => Seen::Known(Some(node)),
        (None, Connectivity::Connected { .. }) => Seen::Known(None),
        (_, Connectivity::Connecting) if was_seen => Seen::NotYet(format!(
            "the API of Cluster {} has not answered yet",
            cluster.name_any()
        )),
        (_, state) => Seen::Unknown(format!(
            "the API of Cluster {0} does not answer{1}; condition ControlPlaneHealthy of Cluster {0} says where it is asked",
            cluster.name_any(),
            why(&state)
        )),
    }
}

/// A Node that a host's last Machine left behind, as when that Machine was lost with the management
/// cluster's state: a kubelet of the same name would take it over, provider ID and all.
fn namesake(context: &Context, cluster: Option<&Cluster>, observed: &Observed) -> Option<Namesake> {
    let (Placement::Held(held), Seen::Known(None)) = (&observed.placement, &observed.node) else {
        return None;
    };
    let node = context.member(cluster?)?.node(node_name(observed, held))?;
    let owner = node.provider_id.as_deref().and_then(names::machine_uid);
    let is_left_over = owner.is_some_and(|uid| context.stores.machines.by_uid(uid).is_none());
    let namespace = &observed.marker.namespace;
    let marked = owner.and_then(|uid| marked(&context.stores.hosts, namespace, uid));
    Some(Namesake {
        node,
        is_left_over,
        marked,
    })
}

fn why(state: &Connectivity) -> String {
    match state {
        Connectivity::Disconnected { why, since } => format!(" since {since:.0}: {why}"),
        _ => " yet".into(),
    }
}
